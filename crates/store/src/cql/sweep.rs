//! The sweep: finds intents that are neither done nor in the log, and publishes them. Even if the log loses all its
//! messages, deliveries are only late.
//!
//! One process sweeps at a time. Publishing needs no protection, because every message may be in the log twice. Only
//! the progress is written under the fence of the lease.
//!
//! The nodes select the intents that are not done, and the sweep remembers minutes without any. So what it reads grows with
//! what is unfinished, not with what was written.

use super::db::uuid;
use super::log::{SHARDS, TIMESTAMP_MARGIN};
use super::{CqlStore, Db, Outcome, Query, concurrently};
use crate::jetstream::{FIRST, JetStream, wall_clock};
use crate::message::{Intent, IntentKey};
use crate::{Result, StoreError, telemetry};
use model::{Millis, Position};
use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};
use uuid::Uuid;

/// The duration of the lease, in milliseconds.
const LEASE: i64 = 30_000;
/// An intent with more recent progress is left alone.
const GRACE_PERIOD: i64 = 10_000;
/// An intent is not in the log if it is older than the oldest message by this much.
const LOG_MARGIN: i64 = 60_000;
/// Minutes that are swept again, because clocks differ and a writer may be slow.
const MINUTES_BACK: i64 = 15;
const MINUTES_AHEAD: i64 = 2;
/// A minute without unfinished intents this long after its end is not swept again before it is [passed](MINUTES_BACK).
const SETTLED_AFTER: i64 = 60_000;
/// Intents per statement.
const PAGE: i32 = 500;
/// The maximum number of minutes per sweep.
const MAX_MINUTES: i64 = 600;
/// The number of hours for which arrivals are certainly stored.
const LOG_HOURS: i64 = 7 * 24 + 1;

const LEASED: Query =
    Query::serial("SELECT holder, fence, until_ms, next_minute FROM ident.lease WHERE name = 'sweep'");
const PREPARE: Query = Query::conditional(
    "INSERT INTO ident.lease (name, holder, fence, until_ms, next_minute) VALUES ('sweep', '', 0, 0, ?) IF NOT EXISTS",
);
const ACQUIRE: Query = Query::conditional(
    "UPDATE ident.lease SET holder = ?, fence = ?, until_ms = ? WHERE name = 'sweep' IF fence = ?",
);
const ADVANCE: Query =
    Query::conditional("UPDATE ident.lease SET next_minute = ? WHERE name = 'sweep' IF fence = ?");
/// One partition: filtering reads no other.
const UNFINISHED: Query = Query::read(
    "SELECT id, progress_ms, WRITETIME(message) FROM feed.intent
     WHERE minute = ? AND shard = ? AND id > ? AND done = false LIMIT ? ALLOW FILTERING",
);
const CLAIMED: Query =
    Query::serial("SELECT aid, ver FROM ident.claim WHERE actor = ? AND service = ? AND source_id = ?");
const PUT_HOUR: Query =
    Query::write("INSERT INTO feed.log_hour (era, hour, position) VALUES (0, ?, ?) USING TIMESTAMP 1");
const PUT_FLOOR: Query =
    Query::write("INSERT INTO feed.log_floor (stream, position) VALUES (?, ?) USING TIMESTAMP 1");
const PUT_START: Query = Query::write(
    "INSERT INTO feed.log_hour (era, hour, position) VALUES (0, 0, ?) USING TIMESTAMP 1 AND TTL 0",
);
const HOUR: Query = Query::read("SELECT position FROM feed.log_hour WHERE era = 0 AND hour <= ? LIMIT 1");

/// The columns identifier, time of progress, and time at which the content was written; a cleared one has none.
type IntentRow = (String, Option<i64>, Option<i64>);

/// Minutes in which this process found no unfinished intent.
#[derive(Default)]
pub(super) struct SettledMinutes {
    /// The epoch of the log. If the log is lost, intents that were done may have to be finished again.
    epoch: u64,
    /// Nothing is remembered before, because the loss of a log is noticed late.
    from: i64,
    minutes: BTreeSet<i64>,
}

impl SettledMinutes {
    fn begin(&mut self, epoch: u64, current: i64, now: Millis) {
        if self.epoch != epoch {
            *self = SettledMinutes { epoch, from: now.0 + SETTLED_AFTER, minutes: BTreeSet::new() };
        }
        // Swept again before they are passed.
        self.minutes = self.minutes.split_off(&(current - MINUTES_BACK));
    }

    fn contains(&self, minute: i64) -> bool {
        self.minutes.contains(&minute)
    }

    fn insert(&mut self, minute: i64, now: Millis) {
        if now.0 >= self.from && now.0 >= (minute + 1) * 60_000 + SETTLED_AFTER {
            self.minutes.insert(minute);
        }
    }
}

/// Records once the first minute that can have intents.
pub(super) async fn prepare(db: &Db) -> Result<()> {
    let minute = wall_clock().0.div_euclid(60_000);
    db.conditional(&PREPARE, (minute - MINUTES_BACK,)).await.map(drop)
}

/// The result of sweeping a minute.
struct SweptMinute {
    republished: usize,
    settled: bool,
}

impl CqlStore {
    /// Acquires the lease. Returns its fence and the first minute to sweep. `None`: another process holds it.
    async fn lease_sweep(&self, now: Millis) -> Result<Option<(i64, i64)>> {
        let row = self.db.row::<(String, i64, i64, i64)>(&LEASED, ()).await?;
        let Some((holder, fence, until, next_minute)) = row else { return Ok(None) };
        if until > now.0 && holder != self.name {
            return Ok(None);
        }
        let taken = self.db.conditional(&ACQUIRE, (&self.name, fence + 1, now.0 + LEASE, fence)).await?;
        Ok((taken == Outcome::Applied).then_some((fence + 1, next_minute)))
    }

    /// Sweeps once, if this process gets the lease.
    pub(super) async fn sweep_once(&self, now: Millis) -> Result<usize> {
        let Some((fence, next_minute)) = self.lease_sweep(now).await? else { return Ok(0) };
        self.record_floor(now).await?;
        let oldest = self.log.backlog().await?.oldest;
        let current = now.0.div_euclid(60_000);
        let epoch = JetStream::epoch_of(self.log.first().await?);
        self.settled().begin(epoch, current, now);
        let end = (current + MINUTES_AHEAD).min(next_minute + MAX_MINUTES);
        let (mut republished, mut passed) = (0, None);
        for minute in next_minute..=end {
            if self.settled().contains(minute) {
                continue;
            }
            let shards = (0..SHARDS).map(|shard| self.sweep_shard(minute, shard, now, oldest));
            let shards = concurrently(shards).await?;
            republished += shards.iter().map(|shard| shard.republished).sum::<usize>();
            if !shards.iter().all(|shard| shard.settled) {
                continue;
            }
            self.settled().insert(minute, now);
            if minute < current - MINUTES_BACK && minute == passed.map_or(next_minute, |last| last + 1) {
                passed = Some(minute);
            }
        }
        if let Some(last) = passed {
            self.db.conditional(&ADVANCE, (last + 1, fence)).await?;
        }
        Ok(republished)
    }

    fn settled(&self) -> MutexGuard<'_, SettledMinutes> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sweep_shard(
        &self,
        minute: i64,
        shard: u64,
        now: Millis,
        oldest: Option<Millis>,
    ) -> Result<SweptMinute> {
        let shard = i16::try_from(shard).unwrap_or(0);
        let mut swept = SweptMinute { republished: 0, settled: true };
        let mut after = String::new();
        loop {
            let rows: Vec<IntentRow> = self.db.rows(&UNFINISHED, (minute, shard, &after, PAGE)).await?;
            let Some((last, ..)) = rows.last() else { return Ok(swept) };
            after.clone_from(last);
            telemetry::swept(rows.len());
            let mut due = Vec::new();
            for (id, progress, written) in rows {
                let Some(written) = written else { continue };
                swept.settled = false;
                let last = progress.unwrap_or(0).max(written / 1_000 + TIMESTAMP_MARGIN);
                let is_in_log = oldest.is_some_and(|oldest| last + LOG_MARGIN >= oldest.0);
                if last + GRACE_PERIOD <= now.0 && !is_in_log {
                    due.push(IntentKey { minute, id });
                }
            }
            let republished = concurrently(due.iter().map(|key| self.republish(key, now))).await?;
            swept.republished += republished.into_iter().filter(|republished| *republished).count();
        }
    }

    /// Finishes an intent that is not in the log. `false`: there is nothing to finish.
    async fn republish(&self, key: &IntentKey, now: Millis) -> Result<bool> {
        let intent = match self.intent(key).await {
            Ok(Some(intent)) => intent,
            // From a node with a later version: left to nodes that know it.
            Ok(None) | Err(StoreError::Corrupt(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        if !self.must_finish(&intent).await? {
            self.mark_done(key).await?;
            return Ok(false);
        }
        tracing::info!(id = key.id, "unfinished intent republished");
        // Another identifier than that of the first message, which is not in the log: a forged message may have taken it,
        // and NATS would discard this one as a duplicate.
        self.finish_intent(key, &format!("{}@{}", key.id, now.0)).await?;
        self.record_progress(key, now).await?;
        Ok(true)
    }

    /// Whether the intent must be finished: that of a version only if it won its claim.
    async fn must_finish(&self, intent: &Intent) -> Result<bool> {
        let Intent::Version(accepted) = intent else { return Ok(true) };
        let key = (accepted.key.actor.0, &accepted.key.service, &accepted.key.id);
        let claim = self.db.row::<(Uuid, i64)>(&CLAIMED, key).await?;
        let state = &accepted.activity.state;
        Ok(claim == Some((uuid(state.id), state.version.0)))
    }

    /// Records the position of the log, also for this hour.
    async fn record_floor(&self, now: Millis) -> Result<()> {
        let floor = self.log.floor().await.0.cast_signed();
        self.db.write(&PUT_FLOOR, (self.log.stream(), floor)).await?;
        self.db.write(&PUT_HOUR, (now.0.div_euclid(3_600_000), floor)).await
    }

    /// Records the start of the log permanently, before every hour.
    pub(super) async fn record_log_start(&self, first: Position) -> Result<()> {
        self.db.write(&PUT_START, (first.0.cast_signed(),)).await
    }

    /// The first position whose arrivals are certainly stored.
    pub(super) async fn oldest_arrival(&self, now: Millis) -> Result<Position> {
        let hour = now.0.div_euclid(3_600_000) - LOG_HOURS;
        // Past hours do not change, and every poll needs this.
        let known = *self.oldest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, position)) = known.filter(|(of, _)| *of == hour) {
            return Ok(position);
        }
        let found = self.db.row::<(i64,)>(&HOUR, (hour,)).await?;
        let position = found.map_or(FIRST, |(position,)| Position(position.unsigned_abs()));
        *self.oldest.lock().unwrap_or_else(PoisonError::into_inner) = Some((hour, position));
        Ok(position)
    }
}
