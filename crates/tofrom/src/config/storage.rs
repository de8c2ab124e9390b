//! Opens the store and the keys that seal its secrets.

use super::{Cluster, ConfigError};
use anyhow::{Context, bail};
use seal::SecretKeys;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::cql::CqlStore;
use store::jetstream::{MessageKeys, Servers};
use store::sqlite::{Options, SqliteStore};
use store::{Copying, Store};

/// The data folder or the cluster, and the keys to its secrets: all settings that commands besides `serve` need.
#[derive(Clone)]
pub struct Storage {
    /// The data folder. On a cluster only the demo needs one.
    pub data_dir: PathBuf,
    /// Whether `data_dir` was set. A command does not create the default folder.
    pub named: bool,
    /// The keys that seal secrets, the first one for new secrets. Empty: the key in a file in the folder.
    pub secret_keys: Vec<String>,
    /// The cluster. `None`: the store is a file in the folder.
    pub cluster: Option<Cluster>,
    /// How long activities are kept, by the time of receipt. `None`: for ever.
    pub retention: Option<Duration>,
}

/// The keys that authenticate messages between the processes of a cluster.
pub fn message_keys(keys: &SecretKeys) -> MessageKeys {
    MessageKeys::new(keys.derive("log message"))
}

impl Storage {
    /// The store in that folder, with the secret key in the same folder.
    pub fn in_folder(data_dir: impl Into<PathBuf>) -> Storage {
        Storage {
            data_dir: data_dir.into(),
            named: true,
            secret_keys: Vec::new(),
            cluster: None,
            retention: None,
        }
    }

    /// The store's file, on one machine.
    pub fn store_file(&self) -> PathBuf {
        self.data_dir.join("tofrom.db")
    }

    /// The file with the secret key, used if the settings have no keys.
    pub fn secret_key_file(&self) -> PathBuf {
        self.data_dir.join("secret.key")
    }

    /// Creates the folder if it does not exist, accessible to the owner only.
    pub fn create_folder(&self) -> anyhow::Result<()> {
        let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.data_dir);
        created.with_context(|| format!("cannot create the data folder {}", self.data_dir.display()))
    }

    /// Locks the folder against a second server, until the returned file is dropped. Other commands do not take the
    /// lock. A cluster has no folder and no lock.
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

    /// Whether every user of this machine may access the folder.
    pub fn is_open_to_others(&self) -> bool {
        std::fs::metadata(&self.data_dir).is_ok_and(|found| found.permissions().mode() & 0o007 != 0)
    }

    /// Opens the store, and upgrades the schema of a SQLite file. The caller holds the lock.
    pub async fn open(&self) -> anyhow::Result<Engine> {
        let Some(Cluster { nodes, servers, vouched }) = &self.cluster else {
            return Ok(Engine::Sqlite(self.open_file()?));
        };
        let keyed = self.clone().or_with_keys_of_the_demo();
        keyed.demand_shared_keys()?;
        let servers = Servers { keys: message_keys(&keyed.secret_keys()?), ..servers.clone() };
        let opened = CqlStore::open(nodes, &servers).await.with_context(|| {
            let nodes = nodes.nodes.join(", ");
            format!("cannot open the cluster at {nodes}")
        });
        Ok(Engine::Cql(Arc::new(opened?.with_retention(self.retention)), *vouched))
    }

    /// Opens the SQLite store, and creates it if the folder is empty or absent.
    pub fn open_file(&self) -> anyhow::Result<Arc<SqliteStore>> {
        self.create_folder()?;
        let file = self.store_file();
        let options = Options { retention: self.retention, ..Options::default() };
        let opened = SqliteStore::open(&file, options);
        Ok(Arc::new(opened.with_context(|| format!("cannot open {}", file.display()))?))
    }

    /// Opens the store for a command, beside a server that may be running.
    pub async fn open_beside_server(&self) -> anyhow::Result<Engine> {
        let _lock = self.lock_for_upgrade()?;
        self.open().await
    }

    /// Locks the folder if opening the store would upgrade it: a running server of the older version must not lose its
    /// schema.
    fn lock_for_upgrade(&self) -> anyhow::Result<Option<File>> {
        if !self.needs_upgrade() {
            return Ok(None);
        }
        self.lock().context(
            "this version of tofrom upgrades the store, and the server that is running is of an older version: restart it",
        )
    }

    /// Whether the store has the schema of an older version.
    pub fn needs_upgrade(&self) -> bool {
        self.cluster.is_none() && SqliteStore::needs_upgrade(&self.store_file())
    }

    /// Opens the store for a command that needs an existing one. Creates nothing.
    pub async fn open_existing(&self) -> anyhow::Result<Engine> {
        self.demand_store()?;
        self.open_beside_server().await
    }

    /// Fails unless the folder has a store or the store is a cluster.
    pub fn demand_store(&self) -> anyhow::Result<()> {
        if self.cluster.is_some() || self.store_file().exists() {
            return Ok(());
        }
        let folder = if self.named { self.data_dir.clone() } else { Path::new(".").join(&self.data_dir) };
        bail!(
            "there is no store in {}. Name its folder with --data DIR, or the settings file with --config FILE",
            folder.display()
        );
    }

    /// Opens the store for a command that may create one. The default folder is not created: the command was probably
    /// started in the wrong working folder.
    pub async fn open_or_create(&self) -> anyhow::Result<Engine> {
        if self.named { self.open_beside_server().await } else { self.open_existing().await }
    }

    /// The keys that seal secrets. Creates the key file on first use.
    pub fn secret_keys(&self) -> anyhow::Result<SecretKeys> {
        if self.secret_keys.is_empty() {
            self.create_folder()?;
            return Ok(SecretKeys::load_or_create(&self.secret_key_file())?);
        }
        SecretKeys::parse(&self.secret_keys).context("secret_keys")
    }

    /// Adds the demo's keys, if the settings have no keys and a demo has run on the cluster.
    #[must_use]
    pub fn or_with_keys_of_the_demo(self) -> Storage {
        let demo =
            self.cluster.as_ref().filter(|_| self.secret_keys.is_empty()).and_then(Cluster::demo_folder);
        let key_file =
            demo.map(Storage::in_folder).map(|demo| demo.secret_key_file()).filter(|file| file.exists());
        let Some(key) = key_file.and_then(|file| std::fs::read_to_string(file).ok()) else { return self };
        Storage { secret_keys: vec![key.trim().to_owned()], ..self }
    }

    /// Fails if a cluster has no keys in the settings: other servers could not open secrets sealed with a key file of
    /// this machine.
    pub fn demand_shared_keys(&self) -> Result<(), ConfigError> {
        if self.cluster.is_some() && self.secret_keys.is_empty() {
            let expected = "all servers of a cluster need the same keys: expected 32 random bytes in Base64. Make a \
                            key with openssl rand -base64 32";
            return Err(ConfigError::missing("secret_keys", expected));
        }
        Ok(())
    }
}

impl fmt::Debug for Storage {
    /// Omits the keys: settings may appear in log lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.secret_keys.len();
        match &self.cluster {
            None => write!(f, "Storage({} and {keys} keys)", self.data_dir.display()),
            Some(cluster) => write!(f, "Storage({cluster:?} and {keys} keys)"),
        }
    }
}

/// An open store: the common interface, and data that only one engine has.
#[derive(Clone)]
pub enum Engine {
    /// SQLite, on one machine.
    Sqlite(Arc<SqliteStore>),
    /// A CQL cluster, and whether the operator vouches for its durability.
    Cql(Arc<CqlStore>, bool),
}

impl Engine {
    /// The common interface of all engines.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Engine::Sqlite(store) => Arc::clone(store) as Arc<dyn Store>,
            Engine::Cql(store, _) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// The SQLite store, on one machine.
    pub fn sqlite(&self) -> Option<&SqliteStore> {
        match self {
            Engine::Sqlite(store) => Some(store),
            Engine::Cql(..) => None,
        }
    }

    /// The interface for copying the whole store.
    pub fn copying(&self) -> Arc<dyn Copying> {
        match self {
            Engine::Sqlite(store) => Arc::clone(store) as Arc<dyn Copying>,
            Engine::Cql(store, _) => Arc::clone(store) as Arc<dyn Copying>,
        }
    }

    /// Differences between the settings and the cluster that exists.
    pub async fn setting_warnings(&self) -> store::Result<Vec<String>> {
        match self {
            Engine::Sqlite(_) => Ok(Vec::new()),
            Engine::Cql(store, _) => store.setting_warnings().await,
        }
    }

    /// Number of rows read since the store was opened.
    pub fn rows_read(&self) -> u64 {
        match self {
            Engine::Sqlite(store) => store.rows_stepped(),
            Engine::Cql(store, _) => store.counted().1,
        }
    }

    /// Whether the durability settings of the engines need no check.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Engine::Sqlite(_) | Engine::Cql(_, true))
    }
}
