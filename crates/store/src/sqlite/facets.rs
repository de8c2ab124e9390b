//! The dictionary of facets, cached in memory.
//!
//! Rows are never changed or deleted, so a cached row stays valid, even if other processes write to the file. Only
//! committed rows are cached: a row that is rolled back must not leave its number behind.

use super::values::{corrupt, kind, verb};
use crate::Result;
use model::Facet;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Default)]
pub(super) struct Facets {
    known: RwLock<Known>,
    /// The writer used a facet that is not cached.
    is_stale: AtomicBool,
}

#[derive(Default)]
struct Known {
    last: i64,
    /// By number: numbers are assigned consecutively.
    facets: Arc<Vec<Option<Arc<Facet>>>>,
    numbers: HashMap<Arc<Facet>, i64>,
}

impl Facets {
    /// The current cache, for many look-ups at the cost of one lock.
    pub(super) fn view(&self) -> View<'_> {
        View { facets: self, known: self.snapshot() }
    }

    fn snapshot(&self) -> Arc<Vec<Option<Arc<Facet>>>> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner).facets)
    }

    fn known_number(&self, facet: &Facet) -> Option<i64> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).numbers.get(facet).copied()
    }

    /// The number of a facet, for readers. `None`: it is not in the dictionary.
    pub(super) fn find(&self, connection: &Connection, facet: &Facet) -> Result<Option<i64>> {
        let known = self.known_number(facet);
        if known.is_some() {
            return Ok(known);
        }
        self.load(connection)?;
        Ok(self.known_number(facet))
    }

    /// The number of a facet, for the writer. A new one is assigned within the current transaction.
    pub(super) fn number(&self, connection: &Connection, facet: &Facet) -> Result<i64> {
        if let Some(number) = self.known_number(facet) {
            return Ok(number);
        }
        self.is_stale.store(true, Ordering::Relaxed);
        let words = params![facet.service, facet.kind.as_str(), facet.verb.as_str()];
        let found = connection
            .prepare_cached("SELECT id FROM facet WHERE service = ?1 AND kind = ?2 AND verb = ?3")?
            .query_row(words, |row| row.get(0))
            .optional()?;
        match found {
            Some(number) => Ok(number),
            None => Ok(connection
                .prepare_cached("INSERT INTO facet (service, kind, verb) VALUES (?1, ?2, ?3)")?
                .insert(words)?),
        }
    }

    /// Caches the facets that the writer used, after the commit.
    pub(super) fn catch_up(&self, connection: &Connection) -> Result<()> {
        if self.is_stale.swap(false, Ordering::Relaxed) { self.load(connection) } else { Ok(()) }
    }

    fn load(&self, connection: &Connection) -> Result<()> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection
            .prepare_cached("SELECT id, service, kind, verb FROM facet WHERE id > ?1 ORDER BY id")?;
        let mut rows = statement.query([known.last])?;
        while let Some(row) = rows.next()? {
            let number = row.get(0)?;
            let facet = Arc::new(Facet { service: row.get(1)?, kind: kind(row, 2)?, verb: verb(row, 3)? });
            known.last = number;
            let at = usize::try_from(number).map_err(|_| corrupt("negative facet number"))?;
            let facets = Arc::make_mut(&mut known.facets);
            facets.resize(facets.len().max(at + 1), None);
            if let Some(slot) = facets.get_mut(at) {
                *slot = Some(Arc::clone(&facet));
            }
            known.numbers.insert(facet, number);
        }
        Ok(())
    }
}

/// A snapshot of the cache, refreshed if a number is missing.
pub(super) struct View<'a> {
    facets: &'a Facets,
    known: Arc<Vec<Option<Arc<Facet>>>>,
}

impl View<'_> {
    /// The facet with this number, which comes from a row that this connection can see.
    pub(super) fn get(&mut self, connection: &Connection, number: i64) -> Result<&Arc<Facet>> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        if self.known.get(at).is_none_or(Option::is_none) {
            self.facets.load(connection)?;
            self.known = self.facets.snapshot();
        }
        let found = self.known.get(at).and_then(Option::as_ref);
        found.ok_or_else(|| corrupt("facet number not in the dictionary"))
    }
}
