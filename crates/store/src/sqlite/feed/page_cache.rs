//! A cache of first pages, valid until something arrives.
//!
//! Most reads are polls that find nothing new. Nothing enters a collection without a position in the delivery log, so
//! the account's latest arrival shows whether a cached page is still valid, even if another process wrote. This holds
//! only if deliveries are settled: nothing is written below the floor. So if the latest arrival was below the floor
//! when the page was cached, a later write is a later arrival.

use super::super::log;
use crate::{Result, Slice};
use model::{Entry, EntryReasons, Filter, Order, Range, Uid};
use moka::sync::Cache;
use rusqlite::{Connection, OptionalExtension};
use std::sync::Arc;

/// The maximum number of cached entries, about 300 bytes each.
const MAX_ENTRIES: u64 = 100_000;

pub(super) const LATEST: &str =
    "SELECT seq FROM entry INDEXED BY entry_arrival WHERE uid = ?1 ORDER BY seq DESC LIMIT 1";

/// The cache key: the parameters of a slice.
#[derive(PartialEq, Eq, Hash)]
struct PageKey {
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

/// The cache of first pages.
pub(in crate::sqlite) struct PageCache(Cache<PageKey, Arc<Page>>);

impl Default for PageCache {
    fn default() -> PageCache {
        let weight =
            |_: &PageKey, page: &Arc<Page>| u32::try_from(page.entries.len() + 1).unwrap_or(u32::MAX);
        PageCache(Cache::builder().max_capacity(MAX_ENTRIES).weigher(weight).build())
    }
}

impl PageCache {
    /// The cached slice, or else the result of `read` in the same snapshot.
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
        let key = PageKey {
            owner: slice.owner,
            reasons: slice.reasons,
            order: slice.order,
            filter: slice.filter.clone(),
            limit: slice.limit,
        };
        let latest: Option<i64> =
            connection.prepare_cached(LATEST)?.query_row([slice.owner.0], |row| row.get(0)).optional()?;
        let latest = latest.unwrap_or(0);
        if let Some(page) = self.0.get(&key).filter(|page| page.latest == latest) {
            return Ok(page.entries.clone());
        }
        let entries = read()?;
        if latest <= log::floor(connection)? {
            self.0.insert(key, Arc::new(Page { latest, entries: entries.clone() }));
        }
        Ok(entries)
    }
}
