//! The open store.

use std::sync::Arc;
use store::cql::CqlStore;
use store::sqlite::SqliteStore;
use store::{Copying, Store};

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

    /// The interface for copying the whole store.
    pub fn copying(&self) -> Arc<dyn Copying> {
        match self {
            Engine::Sqlite(store) => Arc::clone(store) as Arc<dyn Copying>,
            Engine::Cql(store, _) => Arc::clone(store) as Arc<dyn Copying>,
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
