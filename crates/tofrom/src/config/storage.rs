//! Where everything is kept.

use super::{Cluster, ConfigError, Engine};
use crate::auth::SecretKeys;
use anyhow::{Context, bail};
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::cql::CqlStore;
use store::sqlite::{Options, SqliteStore};

/// The folder or the cluster with everything in it, and the keys to its secrets: all that commands beside the service
/// need to know.
#[derive(Clone)]
pub struct Storage {
    /// The folder. On a cluster nothing but a demo needs one.
    pub data_dir: PathBuf,
    /// Whether somebody named it. A default one that is not there was probably not meant.
    pub named: bool,
    /// What seals secrets, the first one new ones; none: a file in the folder.
    pub secret_keys: Vec<String>,
    /// The cluster, if the store is not a file in the folder.
    pub cluster: Option<Cluster>,
}

impl Storage {
    /// The store in that folder, with the secret key that lies there.
    pub fn in_folder(data_dir: impl Into<PathBuf>) -> Storage {
        Storage { data_dir: data_dir.into(), named: true, secret_keys: Vec::new(), cluster: None }
    }

    /// The store's file, on one machine.
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

    /// Keeps a second service off the folder, until what is given is dropped. Commands beside the service do not ask for
    /// it. A cluster has no folder.
    pub fn lock(&self) -> anyhow::Result<Option<File>> {
        if self.cluster.is_some() {
            return Ok(None);
        }
        self.create_folder()?;
        let path = self.data_dir.join("tofrom.lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => bail!(
                "the data folder {} is in use: another tofrom process holds the lock {}. Stop that process, or name \
                 another folder with --data DIR",
                self.data_dir.display(),
                path.display()
            ),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }

    /// Whether every user of this machine may look into the folder.
    pub fn is_open_to_others(&self) -> bool {
        std::fs::metadata(&self.data_dir).is_ok_and(|found| found.permissions().mode() & 0o007 != 0)
    }

    /// Opens the store, whichever it is.
    pub async fn open(&self) -> anyhow::Result<Engine> {
        let Some(Cluster { nodes, servers, vouched }) = &self.cluster else {
            return Ok(Engine::Sqlite(self.open_file()?));
        };
        let opened = CqlStore::open(nodes, servers).await.with_context(|| {
            let nodes = nodes.nodes.join(", ");
            format!("the cluster at {nodes} can't be opened; if it has no tables yet, tofrom schema apply makes them")
        });
        Ok(Engine::Cql(Arc::new(opened?), *vouched))
    }

    /// Opens the store of one machine; an empty or absent folder becomes one.
    pub fn open_file(&self) -> anyhow::Result<Arc<SqliteStore>> {
        self.create_folder()?;
        let file = self.store_file();
        let opened = SqliteStore::open(&file, Options::default());
        Ok(Arc::new(opened.with_context(|| format!("{} can't be opened", file.display()))?))
    }

    /// Opens the store for a command that needs one; nothing is made.
    pub async fn open_existing(&self) -> anyhow::Result<Engine> {
        self.demand_store()?;
        self.open().await
    }

    /// An error, unless a store is in the folder or the store is a cluster.
    pub fn demand_store(&self) -> anyhow::Result<()> {
        if self.cluster.is_some() || self.store_file().exists() {
            return Ok(());
        }
        let folder = if self.named { self.data_dir.clone() } else { Path::new(".").join(&self.data_dir) };
        bail!(
            "there is no store in {}; name its folder with --data DIR, or settings with --config FILE",
            folder.display()
        );
    }

    /// Opens the store for a command that may begin one. A folder that is only the default is not made: the command was
    /// rather started in the wrong place.
    pub async fn open_or_create(&self) -> anyhow::Result<Engine> {
        if self.named { self.open().await } else { self.open_existing().await }
    }

    /// The keys that seal secrets; their file is made on first use.
    pub fn secret_keys(&self) -> anyhow::Result<SecretKeys> {
        if self.secret_keys.is_empty() {
            self.create_folder()?;
            return Ok(SecretKeys::load_or_create(&self.secret_key_file())?);
        }
        SecretKeys::parse(&self.secret_keys).context("secret_keys")
    }

    /// Where the settings name no keys and a demo runs on the cluster, commands use those of the demo.
    #[must_use]
    pub fn or_with_keys_of_the_demo(self) -> Storage {
        let demo =
            self.cluster.as_ref().filter(|_| self.secret_keys.is_empty()).and_then(Cluster::demo_folder);
        let kept =
            demo.map(Storage::in_folder).map(|demo| demo.secret_key_file()).filter(|file| file.exists());
        let Some(key) = kept.and_then(|file| std::fs::read_to_string(file).ok()) else { return self };
        Storage { secret_keys: vec![key.trim().to_owned()], ..self }
    }

    /// On a cluster the settings must have the keys: what is sealed with a file of this machine nobody else could open.
    pub fn demand_shared_keys(&self) -> Result<(), ConfigError> {
        if self.cluster.is_some() && self.secret_keys.is_empty() {
            let why = "is not set, and the services of a cluster share it; right would be 32 random bytes, the same \
                       everywhere: openssl rand -base64 32";
            return Err(ConfigError::value("secret_keys", why));
        }
        Ok(())
    }
}

impl fmt::Debug for Storage {
    /// Without the keys: settings end up in log lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.secret_keys.len();
        match &self.cluster {
            None => write!(f, "Storage({} and {keys} keys)", self.data_dir.display()),
            Some(cluster) => write!(f, "Storage({cluster:?} and {keys} keys)"),
        }
    }
}
