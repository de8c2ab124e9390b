//! A place for a service: a folder or a keyspace, with a settings file.

use super::super::cluster::{Engines, engines, make_tables};
use super::super::support::folder::Folder;
use super::super::support::secure;
use seal::SecretKeys;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use store::Copying;
use store::cql::Nodes;
use store::jetstream::Servers;
use tofrom::config::RawConfig;

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
pub(super) const OTHER_KEY: &str = "ISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0A=";

/// A secret sealed with the key that all locations share.
pub(super) fn sealed(context: &str) -> Vec<u8> {
    SecretKeys::parse([KEY]).unwrap().seal(b"secret", context).unwrap()
}

pub(super) struct ServiceLocation {
    folder: Folder,
}

impl ServiceLocation {
    /// A folder for a store, with the secret key in it.
    pub(super) fn folder() -> ServiceLocation {
        let folder = Folder::new();
        std::fs::write(folder.path().join("settings.toml"), "data_dir = \".\"\n").unwrap();
        let key = folder.path().join("secret.key");
        std::fs::write(&key, KEY).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        ServiceLocation { folder }
    }

    /// A new keyspace with its tables; `None` without a cluster.
    pub(super) async fn cluster() -> Option<ServiceLocation> {
        let Engines { nodes: Nodes { nodes, replication, keyspace, .. }, servers: Servers { servers, .. } } =
            engines()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let text = format!(
            "store = \"cql\"\nsecret_keys = [{KEY:?}]\n\
             cql.nodes = {nodes:?}\ncql.replication = {replication}\ncql.keyspace = \"{keyspace}_copy_{now}\"\nnats.servers = {servers:?}\n{}",
            secure::settings()
        );
        let place = ServiceLocation { folder: Folder::new() };
        std::fs::write(place.settings(), text).unwrap();
        let cluster = place.storage().cluster.unwrap();
        make_tables(&cluster.nodes).await;
        Some(place)
    }

    pub(super) fn folder_path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn settings(&self) -> PathBuf {
        self.folder.path().join("settings.toml")
    }

    fn storage(&self) -> tofrom::config::Storage {
        RawConfig::gather(Some(&self.settings()), std::iter::empty()).unwrap().storage().unwrap()
    }

    pub(super) async fn open(&self) -> Arc<dyn Copying> {
        self.storage().open().await.unwrap().copying()
    }
}
