//! Finds due sources. Each has a row in the slot of its minute and shard. Each shard has a start minute: the first
//! one that may have rows.
//!
//! A call scans the minutes from the start minute to the current one. The start minute advances over empty minutes
//! after a delay, because clocks differ and a writer may be slow. Results are cached, so a call that finds nothing
//! costs two statements, and once a minute one for each minute in view, usually sixteen. A call that finds something
//! costs one more for each minute that has rows left.
//!
//! A row is a hint: the state of the source says where it is scheduled. In recent minutes rows are returned without a
//! check. In minutes that hold back the start minute, each row is compared with its state, and rows that a crashed
//! process left behind are deleted. Rows have versions as timestamps, so a process with an older state never deletes
//! a newer row.

use super::sources::source_id;
use super::{CqlStore, Db, LATEST, Query, concurrently, corrupt};
use crate::Result;
use crate::jetstream::wall_clock;
use crate::sources::ScheduledSource;
use model::{Millis, SourceId, Version};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

const MINUTE: i64 = 60_000;
/// The distance of the start minute from the current one, at least.
const DELAY_MINUTES: i64 = 15;
/// The maximum number of minutes per call, and of concurrent statements.
const MAX_MINUTES: i64 = 600;
const CONCURRENCY: usize = 16;
/// How long a row without its state is kept, because the state may still be written.
const ORPHAN_TTL: i64 = 60 * MINUTE;

/// The row with the start minute of shards that were never scanned.
const NEVER_SCANNED: i16 = -1;

const SCHEDULE: Query = Query::write(
    "INSERT INTO feed.poll_slot (minute, shard, at_ms, id, ver) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
);
const UNSCHEDULE: Query = Query::write(
    "DELETE FROM feed.poll_slot USING TIMESTAMP ? WHERE minute = ? AND shard = ? AND at_ms = ? AND id = ?",
);
const SCHEDULED: Query = Query::read(
    "SELECT at_ms, id, ver FROM feed.poll_slot
     WHERE minute = ? AND shard = ? AND at_ms >= ? AND at_ms <= ? LIMIT ?",
);
const START_MINUTE: Query = Query::read("SELECT minute FROM feed.poll_progress WHERE shard = ?");
const PUT_START_MINUTE: Query =
    Query::write("INSERT INTO feed.poll_progress (shard, minute) VALUES (?, ?) USING TIMESTAMP ?");

/// Records the first minute that can have rows. The first call wins.
pub(super) async fn prepare(db: &Db) -> Result<()> {
    let first = minute(wall_clock()) - DELAY_MINUTES;
    db.write(&PUT_START_MINUTE, (NEVER_SCANNED, first, LATEST - first)).await
}

/// The shard and time under which a source is scheduled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) shard: u16,
    pub(super) at: Millis,
}

impl Slot {
    /// The slot of a due time. Minutes before the start minute are not scanned, so an earlier time moves to the
    /// minute from which the start minute was last advanced: the next scan finds it.
    pub(super) fn of(shard: u16, due: Millis, start_minute: i64) -> Slot {
        let at =
            if minute(due) < start_minute { Millis((start_minute + DELAY_MINUTES) * MINUTE) } else { due };
        Slot { shard, at }
    }
}

fn minute(time: Millis) -> i64 {
    time.0.div_euclid(MINUTE)
}

fn number(shard: u16) -> i16 {
    i16::try_from(shard).unwrap_or(i16::MAX)
}

/// A row of `feed.poll_slot`.
struct Row {
    slot: Slot,
    id: SourceId,
    version: Version,
}

/// The scan states of shards in this process.
#[derive(Default)]
pub(super) struct ShardScans(Mutex<HashMap<u16, ShardScan>>);

impl ShardScans {
    /// Takes the scan state of a shard. After an error it is not put back, so everything is scanned again.
    fn take(&self, shard: u16) -> Option<ShardScan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&shard)
    }

    fn put(&self, shard: u16, scan: ShardScan) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(shard, scan);
    }
}

/// The scan state of a shard.
struct ShardScan {
    start_minute: i64,
    /// The minute in which all minutes from the start minute on were last scanned.
    scanned_at: Option<i64>,
    /// Minutes that had rows at the last scan, with the time of the first row.
    with_rows: BTreeMap<i64, i64>,
}

impl ShardScan {
    fn new(start_minute: i64) -> ShardScan {
        ShardScan { start_minute, scanned_at: None, with_rows: BTreeMap::new() }
    }

    /// The minutes to scan, oldest first, each with the first time to read. Once a minute these are all minutes,
    /// otherwise those that had rows or are recent.
    fn minutes(&self, current: i64) -> Vec<(i64, i64)> {
        let from_start = |minute: i64| (minute, minute.saturating_mul(MINUTE));
        if self.scanned_at != Some(current) {
            return (self.start_minute..=current.min(self.start_minute + MAX_MINUTES))
                .map(from_start)
                .collect();
        }
        let young = (current - 1).max(self.start_minute);
        let left = self.with_rows.range(..young).map(|(minute, first)| (*minute, *first));
        left.chain((young..=current).map(from_start)).collect()
    }

    /// Records the first row of a minute.
    fn record(&mut self, minute: i64, first: Option<&Row>) {
        match first {
            Some(row) => self.with_rows.insert(minute, row.slot.at.0),
            None => self.with_rows.remove(&minute),
        };
    }

    /// The new start minute after all minutes up to `last` were scanned.
    fn next_start(&self, last: i64, current: i64) -> i64 {
        let first_open = self.with_rows.keys().next().copied();
        first_open.unwrap_or(last + 1).min(last + 1).min(current - DELAY_MINUTES)
    }
}

impl CqlStore {
    /// The start minute of a shard.
    pub(super) async fn start_minute(&self, shard: u16) -> Result<i64> {
        for shard in [number(shard), NEVER_SCANNED] {
            if let Some((minute,)) = self.db.row::<(i64,)>(&START_MINUTE, (shard,)).await? {
                return Ok(minute);
            }
        }
        Err(corrupt("missing start minute of polling"))
    }

    pub(super) async fn schedule(&self, id: SourceId, slot: Slot, version: Version) -> Result<()> {
        let Slot { shard, at } = slot;
        let row = (minute(at), number(shard), at.0, id.0.as_slice(), version.0, version.0);
        self.db.write(&SCHEDULE, row).await
    }

    /// Deletes a row unless it has a later version.
    pub(super) async fn unschedule(&self, id: SourceId, slot: Slot, version: Version) -> Result<()> {
        let Slot { shard, at } = slot;
        let row = (version.0, minute(at), number(shard), at.0, id.0.as_slice());
        self.db.write(&UNSCHEDULE, row).await
    }

    /// The due sources of a shard, longest overdue first.
    pub(super) async fn find_due(&self, shard: u16, now: Millis, limit: usize) -> Result<Vec<SourceId>> {
        let mut scan = match self.polling.take(shard) {
            Some(scan) => scan,
            None => ShardScan::new(self.start_minute(shard).await?),
        };
        let current = minute(now);
        let minutes = scan.minutes(current);
        let mut found = Vec::new();
        let mut last = None;
        for chunk in minutes.chunks(CONCURRENCY) {
            let room = limit.saturating_sub(found.len());
            if room == 0 {
                break;
            }
            let slots = chunk.iter().map(|(minute, from)| self.slot(shard, *minute, *from, now, room));
            let slots = concurrently(slots).await?;
            for ((minute, _), rows) in chunk.iter().zip(&slots) {
                scan.record(*minute, rows.first());
                last = Some(*minute);
            }
            let rows: Vec<Row> = slots.into_iter().flatten().take(room).collect();
            found.extend(self.select_valid(rows, now).await?);
        }
        if let Some(last) = last.filter(|_| scan.scanned_at != Some(current)) {
            let next_start = scan.next_start(last, current);
            if next_start > scan.start_minute {
                self.db.write(&PUT_START_MINUTE, (number(shard), next_start, next_start)).await?;
                scan.start_minute = next_start;
            }
            scan.scanned_at = Some(last).filter(|last| *last == current);
        }
        self.polling.put(shard, scan);
        Ok(found)
    }

    /// The first rows of a slot, from a time up to now.
    async fn slot(&self, shard: u16, minute: i64, from: i64, now: Millis, room: usize) -> Result<Vec<Row>> {
        let limit = i32::try_from(room).unwrap_or(i32::MAX);
        let key = (minute, number(shard), from, now.0, limit);
        let rows = self.db.rows::<(i64, Vec<u8>, i64)>(&SCHEDULED, key).await?;
        let row = |(at, id, version): (i64, Vec<u8>, i64)| {
            Ok(Row { slot: Slot { shard, at: Millis(at) }, id: source_id(&id)?, version: Version(version) })
        };
        rows.into_iter().map(row).collect()
    }

    /// Selects the rows that are still valid, and deletes those that are not.
    async fn select_valid(&self, rows: Vec<Row>, now: Millis) -> Result<Vec<SourceId>> {
        let young = minute(now) - DELAY_MINUTES;
        let selected = rows.into_iter().map(|row| async move {
            if minute(row.slot.at) >= young {
                return Ok(Some(row.id));
            }
            let state = self.scheduled_source(row.id).await?;
            if state.as_ref().is_some_and(|state| state.slot() == Some(row.slot)) {
                return Ok(Some(row.id));
            }
            if let Some(version) = delete_version(&row, state.as_ref(), now) {
                self.unschedule(row.id, row.slot, version).await?;
            }
            Ok(None)
        });
        Ok(concurrently(selected).await?.into_iter().flatten().collect())
    }
}

/// The version with which to delete a row that does not match its state. `None`: the state may still be written.
fn delete_version(row: &Row, state: Option<&ScheduledSource>, now: Millis) -> Option<Version> {
    let later = state.map(|state| state.source.version).filter(|version| *version >= row.version);
    later.or_else(|| (row.slot.at.0 < now.0 - ORPHAN_TTL).then_some(row.version))
}
