//! The global flags.

use crate::auth::SecretKeys;
use crate::config::{ConfigError, RawConfig, Storage};
use std::path::PathBuf;
use std::sync::Arc;
use store::Store;

/// Flags that every command accepts, anywhere on the line.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Data folder; a store is created in it if it is empty. serve needs more settings
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Settings file [default: tofrom.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

impl Global {
    /// The settings from file, environment and flags.
    pub fn settings(&self) -> Result<RawConfig, ConfigError> {
        // Other programs' variables need not be UTF-8. Invalid ones of ours are rejected as unknown or wrong.
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let environment = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
        let mut raw = RawConfig::gather(self.config.as_deref(), environment)?;
        if let Some(data) = &self.data {
            raw.data_dir = Some(data.clone());
            raw.store = Some("sqlite".to_owned());
        }
        Ok(raw)
    }

    /// The storage settings.
    pub fn storage(&self) -> Result<Storage, ConfigError> {
        self.settings()?.storage()
    }

    /// Opens an existing store. A server may be running on it.
    pub async fn open_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(self.storage()?.open_existing().await?.store())
    }

    /// Opens the store, creating it if needed.
    pub async fn open_or_create_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(self.storage()?.open_or_create().await?.store())
    }

    /// The keys that encrypt stored secrets.
    pub fn secret_keys(&self) -> anyhow::Result<SecretKeys> {
        let storage = self.storage()?;
        let storage = storage.or_with_keys_of_the_demo();
        storage.demand_shared_keys()?;
        storage.secret_keys()
    }
}
