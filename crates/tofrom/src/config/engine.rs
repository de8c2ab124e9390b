//! The store that is in use.

use std::sync::Arc;
use store::Store;
use store::cql::CqlStore;
use store::sqlite::SqliteStore;

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
