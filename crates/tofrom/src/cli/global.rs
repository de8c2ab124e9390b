//! The flags that every command has.

use crate::auth::SecretKeys;
use crate::config::{ConfigError, RawConfig, Storage};
use std::path::PathBuf;
use std::sync::Arc;
use store::Store;

/// They stand anywhere on the line.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// The folder with the data: enough for every command but serve; an empty one becomes a store
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The file with the settings [default: tofrom.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Answers in JSON on standard output, for programs
    #[arg(long, global = true)]
    pub json: bool,
}

impl Global {
    /// The settings, from all places.
    pub fn settings(&self) -> Result<RawConfig, ConfigError> {
        // Other people's variables need not be text; ours that are none are found out as unknown or wrong.
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let environment = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
        let mut raw = RawConfig::gather(self.config.as_deref(), environment)?;
        if let Some(data) = &self.data {
            raw.data_dir = Some(data.clone());
            raw.store = Some("sqlite".to_owned());
        }
        Ok(raw)
    }

    /// Where everything is kept.
    pub fn storage(&self) -> Result<Storage, ConfigError> {
        self.settings()?.storage()
    }

    /// Opens the store beside a service that may be running on it; it must be there.
    pub async fn open_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(self.storage()?.open_existing().await?.store())
    }

    /// The same for commands that may begin a store.
    pub async fn open_or_create_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(self.storage()?.open_or_create().await?.store())
    }

    /// The keys that seal secrets.
    pub fn secret_keys(&self) -> anyhow::Result<SecretKeys> {
        let storage = self.storage()?;
        let storage = storage.or_with_keys_of_the_demo();
        storage.demand_shared_keys()?;
        storage.secret_keys()
    }
}
