//! The storage of a demo: a folder, or a cluster with a folder for the secrets.

use crate::cli::Global;
use crate::cli::usage::UsageError;
use crate::config::Storage;
use anyhow::{Context, bail};
use std::path::PathBuf;

const DEFAULT_FOLDER: &str = "./tofrom-demo";

/// The storage settings of the demo.
pub(super) fn storage(global: &Global) -> anyhow::Result<Storage> {
    match (&global.data, &global.config) {
        (Some(_), Some(_)) => {
            Err(UsageError("use either --data DIR (a folder) or --config FILE (a cluster), not both").into())
        }
        (None, Some(_)) => on_cluster(global.storage()?),
        (folder, None) => {
            Ok(Storage::in_folder(folder.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER))))
        }
    }
}

fn on_cluster(storage: Storage) -> anyhow::Result<Storage> {
    let Some(cluster) = &storage.cluster else {
        bail!("--config FILE is for a cluster (store = \"cql\"); for a demo on one machine use --data DIR");
    };
    let data_dir =
        cluster.demo_folder().context("no folder for the demo's secrets; set XDG_STATE_HOME or HOME")?;
    Ok(Storage { data_dir, named: true, ..storage })
}
