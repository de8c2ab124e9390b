//! The dictionary of facets, with a copy in memory.
//!
//! Rows are never changed or deleted, so whatever the copy has is right, whoever else writes to the file. It
//! holds committed rows only: one that is taken back must not leave its number behind.

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
    /// The writer met one that is not in the copy.
    behind: AtomicBool,
}

#[derive(Default)]
struct Known {
    last: i64,
    /// By number: numbers are given one after the other.
    facets: Arc<Vec<Option<Arc<Facet>>>>,
    numbers: HashMap<Arc<Facet>, i64>,
}

impl Facets {
    /// The copy as it is now, for many look-ups at the cost of one.
    pub(super) fn view(&self) -> View<'_> {
        View { facets: self, known: self.snapshot() }
    }

    fn snapshot(&self) -> Arc<Vec<Option<Arc<Facet>>>> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner).facets)
    }

    fn known_number(&self, facet: &Facet) -> Option<i64> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).numbers.get(facet).copied()
    }

    /// The facet's number, for readers; `None`: nothing has it.
    pub(super) fn find(&self, connection: &Connection, facet: &Facet) -> Result<Option<i64>> {
        let known = self.known_number(facet);
        if known.is_some() {
            return Ok(known);
        }
        self.load(connection)?;
        Ok(self.known_number(facet))
    }

    /// The facet's number, for the writer: a new one is given within the present transaction.
    pub(super) fn number(&self, connection: &Connection, facet: &Facet) -> Result<i64> {
        if let Some(number) = self.known_number(facet) {
            return Ok(number);
        }
        self.behind.store(true, Ordering::Relaxed);
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

    /// Takes in what the writer met, once it is committed.
    pub(super) fn catch_up(&self, connection: &Connection) -> Result<()> {
        if self.behind.swap(false, Ordering::Relaxed) { self.load(connection) } else { Ok(()) }
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
            let at = usize::try_from(number).map_err(|_| corrupt("a facet of a negative number"))?;
            let facets = Arc::make_mut(&mut known.facets);
            facets.resize(facets.len().max(at + 1), None);
            if let Some(offset) = facets.get_mut(at) {
                *offset = Some(Arc::clone(&facet));
            }
            known.numbers.insert(facet, number);
        }
        Ok(())
    }
}

/// The copy as it was, brought up to date where a number is newer.
pub(super) struct View<'a> {
    facets: &'a Facets,
    known: Arc<Vec<Option<Arc<Facet>>>>,
}

impl View<'_> {
    /// The facet of that number, which comes from a row that this connection can see.
    pub(super) fn one(&mut self, connection: &Connection, number: i64) -> Result<&Arc<Facet>> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        if self.known.get(at).is_none_or(Option::is_none) {
            self.facets.load(connection)?;
            self.known = self.facets.snapshot();
        }
        let found = self.known.get(at).and_then(Option::as_ref);
        found.ok_or_else(|| corrupt("a facet that is not in the dictionary"))
    }
}
