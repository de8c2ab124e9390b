//! The sweep: finds intents that are neither done nor in the log, and publishes them. Even if the log loses all its
//! messages, deliveries are only late.
//!
//! One process sweeps at a time. Publishing needs no protection, because every message may be in the log twice. Only
//! the progress is written under the fence of the lease.

use super::db::uuid;
use super::log::SHARDS;
use super::{CqlStore, Db, Outcome, Query, concurrently};
use crate::Result;
use crate::codec::Encoded;
use crate::jetstream::{FIRST, wall_clock};
use crate::message::{Intent, IntentKey};
use model::{Millis, Position};
use std::sync::PoisonError;
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
const INTENTS: Query = Query::read(
    "SELECT id, message, progress_ms, done, WRITETIME(message) FROM feed.intent WHERE minute = ? AND shard = ?",
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

type IntentRow = (String, Option<Vec<u8>>, Option<i64>, Option<bool>, Option<i64>);

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
        let end = (current + MINUTES_AHEAD).min(next_minute + MAX_MINUTES);
        let (mut republished, mut settled_to) = (0, None);
        for minute in next_minute..=end {
            let shards = (0..SHARDS).map(|shard| self.sweep_shard(minute, shard, now, oldest));
            let shards = concurrently(shards).await?;
            republished += shards.iter().map(|shard| shard.republished).sum::<usize>();
            let settled = shards.iter().all(|shard| shard.settled) && minute < current - MINUTES_BACK;
            if settled && settled_to.is_none_or(|last| last == minute - 1) {
                settled_to = Some(minute);
            }
        }
        if let Some(last) = settled_to {
            self.db.conditional(&ADVANCE, (last + 1, fence)).await?;
        }
        Ok(republished)
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
        for (id, bytes, progress, done, written) in
            self.db.rows::<IntentRow>(&INTENTS, (minute, shard)).await?
        {
            let (Some(bytes), false) = (bytes, done.unwrap_or(false)) else { continue };
            swept.settled = false;
            let last = progress.unwrap_or(0).max(written.unwrap_or(0) / 1_000);
            let is_in_log = oldest.is_some_and(|oldest| last + LOG_MARGIN >= oldest.0);
            if last + GRACE_PERIOD > now.0 || is_in_log {
                continue;
            }
            let key = IntentKey { minute, id };
            // From a node with a later version: left to nodes that know it.
            let Ok(intent) = Intent::decoded(&bytes) else { continue };
            if self.must_finish(&intent).await? {
                tracing::info!(id = key.id, "unfinished intent republished");
                // Another identifier than that of the first message, which is not in the log: a forged message may
                // have taken it, and NATS would discard this one as a duplicate.
                self.finish_intent(&key, &format!("{}@{}", key.id, now.0)).await?;
                self.record_progress(&key, now).await?;
                swept.republished += 1;
            } else {
                self.mark_done(&key).await?;
            }
        }
        Ok(swept)
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
