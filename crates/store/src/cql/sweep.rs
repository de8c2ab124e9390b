//! Finds what was begun and is not in the log, and puts it there: the log may lose everything, and it costs time only.
//!
//! One process does it at a time. What it does needs no guard, because everything may be put into the log twice; only
//! how far it has come is written under the lease's fence.

use super::db::uuid;
use super::log::{SHARDS, wall_clock};
use super::message::{Intent, IntentKey, Message};
use super::{CqlStore, Db, Outcome, Query, together};
use crate::Result;
use crate::jetstream::FIRST;
use model::{Millis, Position};
use std::sync::PoisonError;
use uuid::Uuid;

/// How long whoever sweeps is alone, in milliseconds.
const LEASE: i64 = 30_000;
/// What was begun or worked on so recently is let be.
const YOUNG: i64 = 10_000;
/// What is so much older than the oldest message in the log is not in it.
const SAFELY_OLDER: i64 = 60_000;
/// Minutes that are looked through again, because clocks differ and whoever began something may be slow.
const BACK: i64 = 15;
const AHEAD: i64 = 2;
/// Minutes that are looked through in one go.
const AT_MOST: i64 = 600;
/// For how many hours arrivals are kept for sure.
const LOG_HOURS: i64 = 7 * 24 + 1;

const LEASED: Query =
    Query::serial("SELECT owner, fence, until_ms, mark FROM ident.lease WHERE name = 'sweep'");
const PREPARE: Query = Query::conditional(
    "INSERT INTO ident.lease (name, owner, fence, until_ms, mark) VALUES ('sweep', '', 0, 0, ?) IF NOT EXISTS",
);
const TAKE: Query = Query::conditional(
    "UPDATE ident.lease SET owner = ?, fence = ?, until_ms = ? WHERE name = 'sweep' IF fence = ?",
);
const COME: Query = Query::conditional("UPDATE ident.lease SET mark = ? WHERE name = 'sweep' IF fence = ?");
const BEGUN: Query = Query::read(
    "SELECT id, message, progress_ms, done, WRITETIME(message) FROM feed.intent WHERE minute = ? AND shard = ?",
);
const CLAIMED: Query =
    Query::serial("SELECT aid, ver FROM ident.claim WHERE actor = ? AND service = ? AND source_id = ?");
const NOTE_HOUR: Query =
    Query::write("INSERT INTO feed.log_hour (era, hour, position) VALUES (0, ?, ?) USING TIMESTAMP 1");
const NOTE_BEGINNING: Query = Query::write(
    "INSERT INTO feed.log_hour (era, hour, position) VALUES (0, 0, ?) USING TIMESTAMP 1 AND TTL 0",
);
const HOUR: Query = Query::read("SELECT position FROM feed.log_hour WHERE era = 0 AND hour <= ? LIMIT 1");

type Begun = (String, Option<Vec<u8>>, Option<i64>, Option<bool>, Option<i64>);

/// Notes once from when on there can be anything to sweep.
pub(super) async fn prepare(db: &Db) -> Result<()> {
    let minute = wall_clock().0.div_euclid(60_000);
    db.conditional(&PREPARE, (minute - BACK,)).await.map(drop)
}

/// How far a minute has come.
struct Minute {
    put_back: usize,
    settled: bool,
}

impl CqlStore {
    /// Takes the lease; gives its fence and how far the last one came. `None`: somebody else has it.
    async fn lease_sweep(&self, now: Millis) -> Result<Option<(i64, i64)>> {
        let row = self.db.row::<(String, i64, i64, i64)>(&LEASED, ()).await?;
        let Some((owner, fence, until, mark)) = row else { return Ok(None) };
        if until > now.0 && owner != self.name {
            return Ok(None);
        }
        let taken = self.db.conditional(&TAKE, (&self.name, fence + 1, now.0 + LEASE, fence)).await?;
        Ok((taken == Outcome::Applied).then_some((fence + 1, mark)))
    }

    /// One pass, if this process is the one that does it.
    pub(super) async fn sweep_once(&self, now: Millis) -> Result<usize> {
        let Some((fence, mark)) = self.lease_sweep(now).await? else { return Ok(0) };
        self.note_hour(now).await?;
        let oldest = self.log.backlog().await?.oldest;
        let present = now.0.div_euclid(60_000);
        let end = (present + AHEAD).min(mark + AT_MOST);
        let (mut put_back, mut settled_to) = (0, None);
        for minute in mark..=end {
            let parts = (0..SHARDS).map(|part| self.sweep_part(minute, part, now, oldest));
            let parts = together(parts).await?;
            put_back += parts.iter().map(|part| part.put_back).sum::<usize>();
            let settled = parts.iter().all(|part| part.settled) && minute < present - BACK;
            if settled && settled_to.is_none_or(|last| last == minute - 1) {
                settled_to = Some(minute);
            }
        }
        if let Some(last) = settled_to {
            self.db.conditional(&COME, (last + 1, fence)).await?;
        }
        Ok(put_back)
    }

    async fn sweep_part(
        &self,
        minute: i64,
        part: u64,
        now: Millis,
        oldest: Option<Millis>,
    ) -> Result<Minute> {
        let part = i16::try_from(part).unwrap_or(0);
        let mut swept = Minute { put_back: 0, settled: true };
        for (id, bytes, progress, done, written) in self.db.rows::<Begun>(&BEGUN, (minute, part)).await? {
            let (Some(bytes), false) = (bytes, done.unwrap_or(false)) else { continue };
            swept.settled = false;
            let last = progress.unwrap_or(0).max(written.unwrap_or(0) / 1_000);
            let in_the_log = oldest.is_some_and(|oldest| last + SAFELY_OLDER >= oldest.0);
            if last + YOUNG > now.0 || in_the_log {
                continue;
            }
            let key = IntentKey { minute, id };
            // One of a later version of this service is for those who know it.
            let Ok(message) = Message::decode(&bytes) else { continue };
            if self.was_claimed(&message).await? {
                tracing::info!(id = key.id, "the log did not have what was begun; it is put there again");
                self.finish(&key).await?;
                self.note_progress(&key, now).await?;
                swept.put_back += 1;
            } else {
                self.note_done(&key).await?;
            }
        }
        Ok(swept)
    }

    /// Whether what was begun goes on: a version does only if it got its address.
    async fn was_claimed(&self, message: &Message) -> Result<bool> {
        let Some(Intent::Version(one)) = &message.intent else { return Ok(true) };
        let source = (one.source.actor.0, &one.source.service, &one.source.id);
        let claim = self.db.row::<(Uuid, i64)>(&CLAIMED, source).await?;
        let state = &one.activity.state;
        Ok(claim == Some((uuid(state.id), state.version.0)))
    }

    /// Notes where the log is in this hour.
    async fn note_hour(&self, now: Millis) -> Result<()> {
        let floor = self.log.floor().await?;
        self.db.write(&NOTE_HOUR, (now.0.div_euclid(3_600_000), floor.0.cast_signed())).await
    }

    /// Notes where the log begins, for good: before every hour in which it was.
    pub(super) async fn note_beginning(&self, first: Position) -> Result<()> {
        self.db.write(&NOTE_BEGINNING, (first.0.cast_signed(),)).await
    }

    /// Where the arrivals begin that are kept for sure.
    pub(super) async fn oldest_kept(&self, now: Millis) -> Result<Position> {
        let hour = now.0.div_euclid(3_600_000) - LOG_HOURS;
        // Hours that are past do not change, and every poll asks.
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
