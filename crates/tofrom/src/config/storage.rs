//! Where everything is kept.

use super::DEFAULT_DATA_DIR;
use crate::auth::SecretKeys;
use anyhow::{Context, bail};
use std::fmt;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use store::sqlite::{Options, SqliteStore};

/// The folder with everything in it, and the keys to its secrets: all that commands beside the service need to know.
#[derive(Clone, PartialEq, Eq)]
pub struct Storage {
    /// The folder.
    pub data_dir: PathBuf,
    /// Whether somebody named it. A default one that is not there was probably not meant.
    pub named: bool,
    /// What seals secrets, the first one new ones; none: a file in the folder.
    pub secret_keys: Vec<String>,
}

impl Storage {
    /// The store in that folder, with the secret key that lies there.
    pub fn in_folder(data_dir: impl Into<PathBuf>) -> Storage {
        Storage { data_dir: data_dir.into(), named: true, secret_keys: Vec::new() }
    }

    /// The store's file.
    pub fn store_file(&self) -> PathBuf {
        self.data_dir.join("tofrom.db")
    }

    /// The file with the secret key, where the settings have none.
    pub fn secret_key_file(&self) -> PathBuf {
        self.data_dir.join("secret.key")
    }

    /// Makes the folder if it is not there, for the owner only.
    pub fn create_folder(&self) -> anyhow::Result<()> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.data_dir);
        made.with_context(|| format!("the data folder {} can't be made", self.data_dir.display()))
    }

    /// Opens the store; an empty or absent folder becomes one.
    pub fn open_store(&self) -> anyhow::Result<Arc<SqliteStore>> {
        self.create_folder()?;
        let file = self.store_file();
        let opened = SqliteStore::open(&file, Options::default());
        Ok(Arc::new(opened.with_context(|| format!("{} can't be opened", file.display()))?))
    }

    /// Opens the store for a command. A folder that nobody named is not made: the command was rather started in the
    /// wrong place.
    pub fn open_existing_or_named(&self) -> anyhow::Result<Arc<SqliteStore>> {
        if !self.named && !self.store_file().exists() {
            bail!(
                "there is no store in ./{DEFAULT_DATA_DIR}; name its folder with --data DIR, or settings with --config FILE"
            );
        }
        self.open_store()
    }

    /// The keys that seal secrets; their file is made on first use.
    pub fn secret_keys(&self) -> anyhow::Result<SecretKeys> {
        if self.secret_keys.is_empty() {
            self.create_folder()?;
            return Ok(SecretKeys::load_or_create(&self.secret_key_file())?);
        }
        SecretKeys::parse(&self.secret_keys).context("secret_keys")
    }
}

impl fmt::Debug for Storage {
    /// Without the keys: settings end up in log lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({} and {} keys)", self.data_dir.display(), self.secret_keys.len())
    }
}
