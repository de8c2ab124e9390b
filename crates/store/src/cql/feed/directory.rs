//! The directory: which buckets an account has, which facets are in each, and which of them are divided.
//!
//! All of that only grows, so what was once read of it stays true, and a process remembers it: a delivery into a
//! bucket that it knows writes nothing here. That a bucket was divided may come to its knowledge late. What it puts
//! into the wide one until then is found all the same.

use super::super::{CqlStore, Query, together};
use super::buckets::Bucket;
use super::many::TOGETHER;
use super::row::{order_number, reason_number, reason_of};
use super::tables::table;
use crate::Result;
use model::{ActivityId, EntryReason, Millis, Order, Uid};
use moka::sync::Cache;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// How many buckets are remembered, and segments of the log.
const REMEMBERED: u64 = 200_000;
/// How long: so long at most a bucket is filled on after another process divided it.
const FOR: Duration = Duration::from_hours(1);

/// A bucket with so many rows is divided. They are counted at one write in so many. Every process counts for itself, so
/// it may come to have twice as many; and every page reads the whole directory, so there should not be very many buckets.
const FULL: i64 = 24_000;
const COUNTED: u64 = 1_024;

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
const OF_MANY: Query = Query::read(
    "SELECT uid, bucket FROM feed.directory WHERE uid IN ? AND ord = ? AND reason = ? PER PARTITION LIMIT ?",
);
const BUCKETS: Query = Query::read("SELECT reason, bucket FROM feed.directory WHERE uid = ? AND ord = ?");

/// Who has more buckets than this is not asked for them together with others.
const MAX_BUCKETS: usize = 50;

/// What lies in one order: a reason of an account, by one of its times.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Line {
    pub(super) owner: Uid,
    pub(super) order: Order,
    pub(super) one: EntryReason,
}

/// What this process knows of the directory.
pub(in crate::cql) struct Directory {
    buckets: Cache<(Line, Bucket), Arc<Listed>>,
    /// See [`super::arrivals`].
    pub(super) segments: Cache<(Uid, i64, i64), ()>,
}

impl Default for Directory {
    fn default() -> Directory {
        Directory {
            buckets: Cache::builder().max_capacity(REMEMBERED).time_to_live(FOR).build(),
            segments: Cache::builder().max_capacity(REMEMBERED).time_to_live(FOR).build(),
        }
    }
}

/// What is known of a bucket.
#[derive(Default)]
struct Listed {
    facets: RwLock<HashSet<String>>,
    /// The level that it is divided into; 0 if it is not.
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
    /// The bucket that a row goes into. It has to be listed with the row's facet before the row is put.
    pub(super) async fn bucket_for(&self, line: Line, time: Millis) -> Result<Bucket> {
        let mut bucket = Bucket::widest(time);
        let mut listed = self.listed(line, bucket).await?;
        loop {
            let level = listed.divided.load(Ordering::Relaxed);
            if !bucket.is_wider_than(level) {
                break;
            }
            bucket = Bucket::of(time, level);
            listed = self.listed(line, bucket).await?;
        }
        Ok(bucket)
    }

    /// Lists a bucket with these facets.
    pub(super) async fn list(
        &self,
        line: Line,
        bucket: Bucket,
        facets: impl Iterator<Item = &str>,
    ) -> Result<()> {
        let listed = self.listed(line, bucket).await?;
        let missing: HashSet<&str> = facets.filter(|facet| !listed.has(facet)).collect();
        if !missing.is_empty() {
            let Line { owner, order, one } = line;
            let key = (&missing, owner.0, order_number(order), reason_number(one), bucket.number());
            self.db.write(&LIST, key).await?;
            missing.into_iter().for_each(|facet| listed.add(facet));
        }
        Ok(())
    }

    /// What is known of a bucket, from memory or else from the table.
    async fn listed(&self, line: Line, bucket: Bucket) -> Result<Arc<Listed>> {
        if let Some(known) = self.directory.buckets.get(&(line, bucket)) {
            return Ok(known);
        }
        let Line { owner, order, one } = line;
        let key = (owner.0, order_number(order), reason_number(one), bucket.number());
        let row: Option<(Option<HashSet<String>>, Option<i8>)> = self.db.row(&LISTED, key).await?;
        let (facets, divided) = row.unwrap_or_default();
        let listed = Listed {
            facets: RwLock::new(facets.unwrap_or_default()),
            divided: AtomicU8::new(divided.map_or(0, i8::cast_unsigned)),
        };
        // Where several came at once, all go on with the same.
        Ok(self.directory.buckets.get_with((line, bucket), || Arc::new(listed)))
    }

    /// Counts the rows of a bucket now and then, and divides it when it is full.
    pub(super) async fn keep_bounded(&self, line: Line, bucket: Bucket, id: ActivityId) -> Result<()> {
        let Line { owner, order, one } = line;
        if !is_counted(owner, id) {
            return Ok(());
        }
        let Some(level) = bucket.next_level() else { return Ok(()) };
        let key = (owner.0, reason_number(one), bucket.number());
        let count: Option<(i64,)> = self.db.row(&table(one, order).count, key).await?;
        if count.is_none_or(|(count,)| count < FULL) {
            return Ok(());
        }
        let number = level.cast_signed();
        let key = (owner.0, order_number(order), reason_number(one), bucket.number());
        let values = (i64::from(level), number, key.0, key.1, key.2, key.3);
        self.db.write(&DIVIDE, values).await?;
        self.listed(line, bucket).await?.divided.fetch_max(level, Ordering::Relaxed);
        Ok(())
    }

    /// All buckets of an account in that order, each with its reason and the names of its facets.
    pub(super) async fn buckets_and_facets(
        &self,
        owner: Uid,
        order: Order,
    ) -> Result<Vec<(EntryReason, Bucket, Vec<String>)>> {
        let rows: Vec<(i8, i64, Option<Vec<String>>)> =
            self.db.rows(&ALL, (owner.0, order_number(order))).await?;
        let bucket = |(one, bucket, facets): (i8, i64, Option<Vec<String>>)| {
            Some((reason_of(one)?, Bucket::numbered(bucket), facets?))
        };
        Ok(rows.into_iter().filter_map(bucket).collect())
    }

    /// All buckets of an account in that order, each with its reason.
    pub(super) async fn buckets(&self, owner: Uid, order: Order) -> Result<Vec<(EntryReason, Bucket)>> {
        let rows: Vec<(i8, i64)> = self.db.rows(&BUCKETS, (owner.0, order_number(order))).await?;
        let bucket = |(one, bucket)| Some((reason_of(one)?, Bucket::numbered(bucket)));
        Ok(rows.into_iter().filter_map(bucket).collect())
    }

    /// The buckets of a reason of many accounts in that order. Those with very many are missing.
    pub(super) async fn buckets_of_many(
        &self,
        owners: &[Uid],
        order: Order,
        one: EntryReason,
    ) -> Result<HashMap<Uid, Vec<Bucket>>> {
        let numbers: Vec<i64> = owners.iter().map(|owner| owner.0).collect();
        let limit = i32::try_from(MAX_BUCKETS + 1).unwrap_or(i32::MAX);
        let part = |some| self.db.rows(&OF_MANY, (some, order_number(order), reason_number(one), limit));
        let parts: Vec<Vec<(i64, i64)>> = together(numbers.chunks(TOGETHER).map(part)).await?;
        let mut buckets: HashMap<Uid, Vec<Bucket>> =
            owners.iter().map(|owner| (*owner, Vec::new())).collect();
        for (owner, bucket) in parts.into_iter().flatten() {
            buckets.entry(Uid(owner)).or_default().push(Bucket::numbered(bucket));
        }
        buckets.retain(|_, buckets| buckets.len() <= MAX_BUCKETS);
        Ok(buckets)
    }
}

/// Whether rows are counted when this one is written: at one in so many, whoever writes it.
fn is_counted(owner: Uid, id: ActivityId) -> bool {
    let id = u128::from_be_bytes(*id.as_bytes());
    let mixed = (id ^ (id >> 64) ^ u128::from(owner.0.cast_unsigned())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32).is_multiple_of(u128::from(COUNTED))
}
