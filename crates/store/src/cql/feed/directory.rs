//! The directory: the buckets of an account, the facets in each, and how each is divided.
//!
//! The directory only grows, so a cached row stays valid, and a delivery into a known bucket writes nothing here. A
//! process may learn late that a bucket was divided. Rows that it writes into the wide one until then are still
//! found.

use super::super::{CqlStore, Query, concurrently};
use super::buckets::Bucket;
use super::row::{order_number, reason_number, reason_of};
use super::slices::PARTITIONS_PER_STATEMENT;
use super::tables::table;
use crate::Result;
use model::{ActivityId, EntryReason, Millis, Order, Uid};
use moka::sync::Cache;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The maximum number of cached buckets, and of cached segments of the log.
const CACHE_SIZE: u64 = 200_000;
/// The lifetime of a cached row. For this long a process may keep filling a bucket that another one has divided.
const CACHE_TTL: Duration = Duration::from_hours(1);

/// A bucket with this many rows is divided. One write in [`COUNT_INTERVAL`] counts them. Every process counts for
/// itself, so a bucket may get twice as many. Every page reads the whole directory, so there should be few buckets.
const FULL: i64 = 24_000;
const COUNT_INTERVAL: u64 = 1_024;

const LISTED: Query = Query::read(
    "SELECT facets, divided FROM feed.directory WHERE uid = ? AND ord = ? AND reason = ? AND bucket = ?",
);
const LIST: Query = Query::write(
    "UPDATE feed.directory USING TIMESTAMP 1 SET facets = facets + ?
     WHERE uid = ? AND ord = ? AND reason = ? AND bucket = ?",
);
const DIVIDE: Query = Query::write(
    "UPDATE feed.directory USING TIMESTAMP ? SET divided = ?
     WHERE uid = ? AND ord = ? AND reason = ? AND bucket = ?",
);
const ALL: Query = Query::read("SELECT reason, bucket, facets FROM feed.directory WHERE uid = ? AND ord = ?");
const BUCKETS_OF_MANY: Query = Query::read(
    "SELECT uid, bucket FROM feed.directory WHERE uid IN ? AND ord = ? AND reason = ? PER PARTITION LIMIT ?",
);
const BUCKETS: Query = Query::read("SELECT reason, bucket FROM feed.directory WHERE uid = ? AND ord = ?");

/// Accounts with more buckets are read one by one.
const MAX_BUCKETS: usize = 50;

/// The ordered rows of an account with one reason, by one of the two times.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EntryList {
    pub(super) owner: Uid,
    pub(super) order: Order,
    pub(super) reason: EntryReason,
}

/// The cached directory.
pub(in crate::cql) struct Directory {
    buckets: Cache<(EntryList, Bucket), Arc<Listed>>,
    /// See [`super::arrivals`].
    pub(super) segments: Cache<(Uid, i64, i64), ()>,
}

impl Default for Directory {
    fn default() -> Directory {
        Directory {
            buckets: Cache::builder().max_capacity(CACHE_SIZE).time_to_live(CACHE_TTL).build(),
            segments: Cache::builder().max_capacity(CACHE_SIZE).time_to_live(CACHE_TTL).build(),
        }
    }
}

/// A cached row of the directory.
#[derive(Default)]
struct Listed {
    facets: RwLock<HashSet<String>>,
    /// The level into which it is divided; 0 if it is not.
    divided: AtomicU8,
}

impl Listed {
    fn has(&self, facet: &str) -> bool {
        self.facets.read().unwrap_or_else(PoisonError::into_inner).contains(facet)
    }

    fn add(&self, facet: &str) {
        self.facets.write().unwrap_or_else(PoisonError::into_inner).insert(facet.to_owned());
    }
}

impl CqlStore {
    /// The bucket for a row. It must be listed with the facet of the row before the row is written.
    pub(super) async fn bucket_for(&self, list: EntryList, time: Millis) -> Result<Bucket> {
        let mut bucket = Bucket::widest(time);
        let mut listed = self.listed(list, bucket).await?;
        loop {
            let level = listed.divided.load(Ordering::Relaxed);
            if !bucket.is_wider_than(level) {
                break;
            }
            bucket = Bucket::of(time, level);
            listed = self.listed(list, bucket).await?;
        }
        Ok(bucket)
    }

    /// Adds a bucket with these facets to the directory.
    pub(super) async fn list(
        &self,
        list: EntryList,
        bucket: Bucket,
        facets: impl Iterator<Item = &str>,
    ) -> Result<()> {
        let listed = self.listed(list, bucket).await?;
        let missing: HashSet<&str> = facets.filter(|facet| !listed.has(facet)).collect();
        if !missing.is_empty() {
            let EntryList { owner, order, reason } = list;
            let key = (&missing, owner.0, order_number(order), reason_number(reason), bucket.number());
            self.db.write(&LIST, key).await?;
            missing.into_iter().for_each(|facet| listed.add(facet));
        }
        Ok(())
    }

    /// A row of the directory, from the cache or else from the table.
    async fn listed(&self, list: EntryList, bucket: Bucket) -> Result<Arc<Listed>> {
        if let Some(known) = self.directory.buckets.get(&(list, bucket)) {
            return Ok(known);
        }
        let EntryList { owner, order, reason } = list;
        let key = (owner.0, order_number(order), reason_number(reason), bucket.number());
        let row: Option<(Option<HashSet<String>>, Option<i8>)> = self.db.row(&LISTED, key).await?;
        let (facets, divided) = row.unwrap_or_default();
        let listed = Listed {
            facets: RwLock::new(facets.unwrap_or_default()),
            divided: AtomicU8::new(divided.map_or(0, i8::cast_unsigned)),
        };
        // Concurrent callers share one row.
        Ok(self.directory.buckets.get_with((list, bucket), || Arc::new(listed)))
    }

    /// Counts the rows of a bucket occasionally, and divides it if it is full.
    pub(super) async fn keep_bounded(&self, list: EntryList, bucket: Bucket, id: ActivityId) -> Result<()> {
        let EntryList { owner, order, reason } = list;
        if !is_counted(owner, id) {
            return Ok(());
        }
        let Some(level) = bucket.next_level() else { return Ok(()) };
        let key = (owner.0, reason_number(reason), bucket.number());
        let count: Option<(i64,)> = self.db.row(&table(reason, order).count, key).await?;
        if count.is_none_or(|(count,)| count < FULL) {
            return Ok(());
        }
        let number = level.cast_signed();
        let key = (owner.0, order_number(order), reason_number(reason), bucket.number());
        let values = (i64::from(level), number, key.0, key.1, key.2, key.3);
        self.db.write(&DIVIDE, values).await?;
        self.listed(list, bucket).await?.divided.fetch_max(level, Ordering::Relaxed);
        Ok(())
    }

    /// All buckets of an account in this order, each with its reason and the names of its facets.
    pub(super) async fn buckets_and_facets(
        &self,
        owner: Uid,
        order: Order,
    ) -> Result<Vec<(EntryReason, Bucket, Vec<String>)>> {
        let rows: Vec<(i8, i64, Option<Vec<String>>)> =
            self.db.rows(&ALL, (owner.0, order_number(order))).await?;
        let bucket = |(reason, bucket, facets): (i8, i64, Option<Vec<String>>)| {
            Some((reason_of(reason)?, Bucket::numbered(bucket), facets?))
        };
        Ok(rows.into_iter().filter_map(bucket).collect())
    }

    /// All buckets of an account in this order, each with its reason.
    pub(super) async fn buckets(&self, owner: Uid, order: Order) -> Result<Vec<(EntryReason, Bucket)>> {
        let rows: Vec<(i8, i64)> = self.db.rows(&BUCKETS, (owner.0, order_number(order))).await?;
        let bucket = |(reason, bucket)| Some((reason_of(reason)?, Bucket::numbered(bucket)));
        Ok(rows.into_iter().filter_map(bucket).collect())
    }

    /// The buckets of many accounts with one reason in this order. Accounts with too many buckets are missing.
    pub(super) async fn buckets_of_many(
        &self,
        owners: &[Uid],
        order: Order,
        reason: EntryReason,
    ) -> Result<HashMap<Uid, Vec<Bucket>>> {
        let numbers: Vec<i64> = owners.iter().map(|owner| owner.0).collect();
        let limit = i32::try_from(MAX_BUCKETS + 1).unwrap_or(i32::MAX);
        let part =
            |some| self.db.rows(&BUCKETS_OF_MANY, (some, order_number(order), reason_number(reason), limit));
        let parts: Vec<Vec<(i64, i64)>> =
            concurrently(numbers.chunks(PARTITIONS_PER_STATEMENT).map(part)).await?;
        let mut buckets: HashMap<Uid, Vec<Bucket>> =
            owners.iter().map(|owner| (*owner, Vec::new())).collect();
        for (owner, bucket) in parts.into_iter().flatten() {
            buckets.entry(Uid(owner)).or_default().push(Bucket::numbered(bucket));
        }
        buckets.retain(|_, buckets| buckets.len() <= MAX_BUCKETS);
        Ok(buckets)
    }
}

/// Whether the write of this row counts the rows: one in [`COUNT_INTERVAL`], the same for every process.
fn is_counted(owner: Uid, id: ActivityId) -> bool {
    let id = u128::from_be_bytes(*id.as_bytes());
    let mixed = (id ^ (id >> 64) ^ u128::from(owner.0.cast_unsigned())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32).is_multiple_of(u128::from(COUNT_INTERVAL))
}
