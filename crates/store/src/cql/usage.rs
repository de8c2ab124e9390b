//! Usage: each process counts in memory and adds its counts to the table every now and then, by compare-and-set. So a
//! count may lag behind by [`FLUSH_INTERVAL`] and [`CACHE_TTL`], and a process that crashes loses its last counts.

use super::db::Db;
use super::lwt::Lwt;
use super::{CqlStore, Query};
use crate::usage::day_of;
use crate::{Acceptance, Result, StoreError, Usage, Usages};
use async_trait::async_trait;
use model::{Millis, Uid, Version};
use moka::sync::Cache;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use uuid::Uuid;

/// The interval at which a process writes its counts.
const FLUSH_INTERVAL: Duration = Duration::from_secs(30);
/// TTL of the counts that were read.
const CACHE_TTL: Duration = Duration::from_secs(15);
/// The maximum number of cached accounts.
const CACHE_SIZE: u64 = 100_000;
/// Counts are written at once from this many activities or bytes on.
const MAX_PENDING: Usage = Usage { activities: 2_000, bytes: 4 << 20 };
/// Attempts to add a count.
const MAX_ATTEMPTS: usize = 20;

const DAYS: Query = Query::read("SELECT day, activities, bytes FROM ident.usage WHERE uid = ?");
const DAY: Query = Query::read("SELECT activities, bytes, ver FROM ident.usage WHERE uid = ? AND day = ?");
const WRITE: Lwt = Lwt::new(
    "UPDATE ident.usage SET activities = ?, bytes = ?, ver = ?, op = ? WHERE uid = ? AND day = ? IF ver = ?",
    "SELECT ver, op FROM ident.usage WHERE uid = ? AND day = ?",
);
const COPY: Query = Query::write(
    "INSERT INTO ident.usage (uid, day, activities, bytes, ver, op) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP 1",
);

/// The counts of this process.
pub(super) struct UsageMeter {
    db: Arc<Db>,
    /// Counted and not written, by account and day.
    pending: Mutex<HashMap<(Uid, i64), Usage>>,
    /// The table's rows of an account.
    read: Cache<Uid, Arc<Vec<(i64, Usage)>>>,
}

impl UsageMeter {
    /// A meter that writes its counts until it is dropped.
    pub(super) fn start(db: Arc<Db>) -> Arc<UsageMeter> {
        let read = Cache::builder().max_capacity(CACHE_SIZE).time_to_live(CACHE_TTL).build();
        let meter = Arc::new(UsageMeter { db, pending: Mutex::default(), read });
        let weak = Arc::downgrade(&meter);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(FLUSH_INTERVAL).await;
                let Some(meter) = weak.upgrade() else { break };
                if let Err(error) = meter.flush(|_| true).await {
                    tracing::warn!(%error, "usage not written");
                }
            }
        });
        meter
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<(Uid, i64), Usage>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts accepted versions.
    pub(super) async fn count<'a>(&self, items: impl Iterator<Item = &'a Acceptance>) -> Result<()> {
        {
            let mut pending = self.pending();
            for item in items.filter(|item| item.usage != Usage::default()) {
                let key = (item.source.actor, day_of(item.activity.state.received));
                let counted = pending.entry(key).or_default();
                *counted = counted.plus(item.usage);
            }
        }
        let is_large = |usage: &Usage| {
            usage.activities.abs() >= MAX_PENDING.activities || usage.bytes.abs() >= MAX_PENDING.bytes
        };
        self.flush(is_large).await
    }

    /// Adds pending counts to the table. A count that cannot be added stays pending.
    async fn flush(&self, due: impl Fn(&Usage) -> bool) -> Result<()> {
        let taken: Vec<_> = self.pending().extract_if(|_, usage| due(usage)).collect();
        let mut outcome = Ok(());
        for ((uid, day), usage) in taken {
            if let Err(error) = self.add(uid, day, usage).await {
                let mut pending = self.pending();
                let counted = pending.entry((uid, day)).or_default();
                *counted = counted.plus(usage);
                outcome = Err(error);
            }
            self.read.invalidate(&uid);
        }
        outcome
    }

    async fn add(&self, uid: Uid, day: i64, usage: Usage) -> Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            let row: Option<(Option<i64>, Option<i64>, Option<i64>)> =
                self.db.row(&DAY, (uid.0, day)).await?;
            let (activities, bytes, version) = row.unwrap_or_default();
            let before = Usage { activities: activities.unwrap_or(0), bytes: bytes.unwrap_or(0) };
            let (sum, op) = (before.plus(usage), Uuid::new_v4());
            let next = version.unwrap_or(0) + 1;
            let values = (sum.activities, sum.bytes, next, op, uid.0, day, version);
            if self.db.replace(&WRITE, version.map(Version), op, values, (uid.0, day)).await? {
                return Ok(());
            }
        }
        Err(StoreError::Unavailable("too many concurrent changes of the usage of one account".to_owned()))
    }

    async fn days(&self, uid: Uid) -> Result<Arc<Vec<(i64, Usage)>>> {
        if let Some(known) = self.read.get(&uid) {
            return Ok(known);
        }
        let rows: Vec<(i64, Option<i64>, Option<i64>)> = self.db.rows(&DAYS, (uid.0,)).await?;
        let usage = |activities: Option<i64>, bytes: Option<i64>| Usage {
            activities: activities.unwrap_or(0),
            bytes: bytes.unwrap_or(0),
        };
        let days = rows.into_iter().map(|(day, activities, bytes)| (day, usage(activities, bytes)));
        let days = Arc::new(days.collect::<Vec<_>>());
        self.read.insert(uid, Arc::clone(&days));
        Ok(days)
    }
}

impl CqlStore {
    /// The usage by day, as far as it is written.
    pub(super) async fn usage_days(&self, uid: Uid) -> Result<Vec<(i64, Usage)>> {
        Ok(self.usage.days(uid).await?.to_vec())
    }

    /// Writes the usage of an account of another store, before any other process writes there.
    pub(super) async fn put_usage(&self, uid: Uid, days: &[(i64, Usage)]) -> Result<()> {
        for (day, usage) in days {
            let values = (uid.0, *day, usage.activities, usage.bytes, 1_i64, Uuid::nil());
            self.db.write(&COPY, values).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Usages for CqlStore {
    async fn usage(&self, uid: Uid, since: Option<Millis>) -> Result<Usage> {
        let first = since.map_or(i64::MIN, day_of);
        let written = self.usage.days(uid).await?;
        let written = written.iter().filter(|(day, _)| *day >= first).map(|(_, usage)| *usage);
        let written = written.fold(Usage::default(), Usage::plus);
        let pending = self.usage.pending();
        let pending = pending.iter().filter(|((of, day), _)| *of == uid && *day >= first);
        Ok(pending.map(|(_, usage)| *usage).fold(written, Usage::plus))
    }

    async fn flush_usage(&self) -> Result<()> {
        self.usage.flush(|_| true).await
    }
}
