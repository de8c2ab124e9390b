//! SQLite: the conformance suite, and tests of this engine.

mod cost;
mod expiry;
mod failures;
mod files;
mod processes;
mod search;
mod slice_cache;

use super::conformance::{Engine, fresh};
use super::scratch::Scratch;
use std::path::Path;
use std::sync::Arc;
use store::Log;
use store::sqlite::{Options, SqliteStore};

mod conformance {
    conformance_tests!(crate::main::sqlite::used_store);
}

/// Options for tests, which do not wait for the disk.
fn quick() -> Options {
    Options { synchronous_off: true, ..Options::default() }
}

fn open(scratch: &Scratch) -> SqliteStore {
    open_file(&scratch.file("store.db"))
}

pub(super) fn open_file(file: &Path) -> SqliteStore {
    SqliteStore::open(file, quick()).unwrap()
}

/// A store that was used before.
async fn used_store() -> Option<(Engine, Scratch)> {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    let position = fresh::accept(&store, &fresh::acceptance(actor, "1", fresh::NOON)).await;
    store.acknowledge(&[position], &[]).await.unwrap();
    Some((Arc::new(store), scratch))
}
