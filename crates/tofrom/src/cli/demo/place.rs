//! Where a demo lives: in a folder of its own, or on the cluster that a file names, with a folder for its secrets.

use crate::cli::Global;
use crate::cli::usage::Misused;
use crate::config::Storage;
use anyhow::{Context, bail};
use std::path::PathBuf;

const DEFAULT_FOLDER: &str = "./tofrom-demo";

/// The storage; its folder is the demo's.
pub(super) fn storage(global: &Global) -> anyhow::Result<Storage> {
    match (&global.data, &global.config) {
        (Some(_), Some(_)) => Err(Misused(
            "the demo takes --data DIR or --config FILE, not both: it is in a folder or on the cluster of the file",
        )
        .into()),
        (None, Some(_)) => on_cluster(global.storage()?),
        (folder, None) => {
            Ok(Storage::in_folder(folder.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER))))
        }
    }
}

fn on_cluster(storage: Storage) -> anyhow::Result<Storage> {
    let Some(cluster) = &storage.cluster else {
        bail!(
            "the demo takes --config FILE for a cluster (store = \"cql\"); on one machine name a folder with --data DIR"
        );
    };
    let data_dir = cluster
        .demo_folder()
        .context("there is no folder for the demo's secrets; set XDG_STATE_HOME or HOME")?;
    Ok(Storage { data_dir, named: true, ..storage })
}
