//! First pages, remembered until something arrives.
//!
//! Most reads are polls that find what the last one found. Nothing comes into a collection without a position in the
//! delivery log, so one look at the account's latest arrival tells whether a page is still what it was, whichever
//! process wrote. It does only where deliveries are settled: below the floor nothing is written any more, so as long as
//! the latest arrival of then lies there, a later write is a later arrival.

use super::super::log;
use crate::{Result, Slice};
use model::{Entry, EntryReasons, Filter, Order, Range, Uid};
use moka::sync::Cache;
use rusqlite::{Connection, OptionalExtension};
use std::sync::Arc;

/// How many entries are remembered, about 300 bytes each.
const ENTRIES: u64 = 100_000;

pub(super) const LATEST: &str =
    "SELECT seq FROM entry INDEXED BY entry_arrival WHERE uid = ?1 ORDER BY seq DESC LIMIT 1";

/// What was asked.
#[derive(PartialEq, Eq, Hash)]
struct Question {
    owner: Uid,
    reasons: EntryReasons,
    order: Order,
    filter: Filter,
    limit: usize,
}

struct Page {
    latest: i64,
    entries: Vec<Entry>,
}

/// First pages by what was asked.
pub(in crate::sqlite) struct Recent(Cache<Question, Arc<Page>>);

impl Default for Recent {
    fn default() -> Recent {
        let weigh =
            |_: &Question, page: &Arc<Page>| u32::try_from(page.entries.len() + 1).unwrap_or(u32::MAX);
        Recent(Cache::builder().max_capacity(ENTRIES).weigher(weigh).build())
    }
}

impl Recent {
    /// The slice as it is remembered, or else as `read` reads it, in one moment.
    pub(super) fn slice(
        &self,
        connection: &Connection,
        slice: &Slice<'_>,
        read: impl FnOnce() -> Result<Vec<Entry>>,
    ) -> Result<Vec<Entry>> {
        let any_time = Range::default();
        if slice.after.is_some() || slice.filter.received != any_time || slice.filter.published != any_time {
            return read();
        }
        let question = Question {
            owner: slice.owner,
            reasons: slice.reasons,
            order: slice.order,
            filter: slice.filter.clone(),
            limit: slice.limit,
        };
        let latest: Option<i64> =
            connection.prepare_cached(LATEST)?.query_row([slice.owner.0], |row| row.get(0)).optional()?;
        let latest = latest.unwrap_or(0);
        if let Some(page) = self.0.get(&question).filter(|page| page.latest == latest) {
            return Ok(page.entries.clone());
        }
        let entries = read()?;
        if latest <= log::floor(connection)? {
            self.0.insert(question, Arc::new(Page { latest, entries: entries.clone() }));
        }
        Ok(entries)
    }
}
