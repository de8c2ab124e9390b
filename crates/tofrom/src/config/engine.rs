//! The store that is in use.

use std::sync::Arc;
use store::cql::CqlStore;
use store::sqlite::SqliteStore;
use store::{Copying, Store};

/// A store that is open: what all engines offer, and what each says of itself.
#[derive(Clone)]
pub enum Engine {
    /// One machine.
    Sqlite(Arc<SqliteStore>),
    /// A cluster, and whether its operator vouches for its durability.
    Cql(Arc<CqlStore>, bool),
}

impl Engine {
    /// What all engines offer.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Engine::Sqlite(store) => Arc::clone(store) as Arc<dyn Store>,
            Engine::Cql(store, _) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// The same with what it takes to copy all of it.
    pub fn copying(&self) -> Arc<dyn Copying> {
        match self {
            Engine::Sqlite(store) => Arc::clone(store) as Arc<dyn Copying>,
            Engine::Cql(store, _) => Arc::clone(store) as Arc<dyn Copying>,
        }
    }

    /// How many rows were read since it was opened.
    pub fn rows_read(&self) -> u64 {
        match self {
            Engine::Sqlite(store) => store.rows_stepped(),
            Engine::Cql(store, _) => store.counted().1,
        }
    }

    /// Whether nobody needs to ask how its engines are set up.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Engine::Sqlite(_) | Engine::Cql(_, true))
    }
}
