//! Finds sources whose time has come. Each has a row in the slot of its minute and shard, and each shard a mark: the first
//! minute in which there may be rows.
//!
//! Whoever asks walks over the minutes from the mark up to the present one. The mark moves on over minutes that are empty
//! and a while past, for clocks differ and whoever files a source may be slow. What of that is known is remembered, so
//! that a call that finds nothing costs two statements, and once a minute one for each of the minutes that are kept in
//! view, sixteen mostly. One that finds something costs one more for each minute in which something is left.
//!
//! A row is a hint: the source's state says where it is filed. While a minute is young its rows are given as they are. In
//! one that the mark waits for each is compared with its state, and what was left there by somebody who crashed is taken out.
//! Rows have versions for timestamps: none is ever taken out by somebody who knows an older state.

use super::log::wall_clock;
use super::sources::{Filed, source_id};
use super::{CqlStore, Db, LATEST, Query, corrupt, together};
use crate::Result;
use model::{Millis, SourceId, Version};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

const MINUTE: i64 = 60_000;
/// Minutes that the mark stays behind.
const BACK: i64 = 15;
/// Minutes that are walked over in one call, and that are looked at together.
const AT_MOST: i64 = 600;
const CONCURRENCY: usize = 16;
/// For how long a row whose state never came is kept, because that may be under way.
const UNFINISHED: i64 = 60 * MINUTE;

/// The shard whose mark is that of all that nobody has walked through yet.
const BEGINNING: i16 = -1;

const FILE: Query = Query::write(
    "INSERT INTO feed.poll_slot (minute, shard, at_ms, id, ver) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
);
const UNFILE: Query = Query::write(
    "DELETE FROM feed.poll_slot USING TIMESTAMP ? WHERE minute = ? AND shard = ? AND at_ms = ? AND id = ?",
);
const FILED: Query = Query::read(
    "SELECT at_ms, id, ver FROM feed.poll_slot
     WHERE minute = ? AND shard = ? AND at_ms >= ? AND at_ms <= ? LIMIT ?",
);
const MARK: Query = Query::read("SELECT minute FROM feed.poll_progress WHERE shard = ?");
const PUT_MARK: Query =
    Query::write("INSERT INTO feed.poll_progress (shard, minute) VALUES (?, ?) USING TIMESTAMP ?");

/// Notes from when on there can be anything to find; the first to do so stays.
pub(super) async fn prepare(db: &Db) -> Result<()> {
    let first = minute(wall_clock()) - BACK;
    db.write(&PUT_MARK, (BEGINNING, first, LATEST - first)).await
}

/// Where a source is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) shard: u16,
    pub(super) at: Millis,
}

impl Slot {
    /// The slot of a time. Nobody looks before the mark any more: what is due since then is found as soon as whoever
    /// moved it there looks again.
    pub(super) fn of(shard: u16, due: Millis, mark: i64) -> Slot {
        let at = if minute(due) < mark { Millis((mark + BACK) * MINUTE) } else { due };
        Slot { shard, at }
    }
}

fn minute(time: Millis) -> i64 {
    time.0.div_euclid(MINUTE)
}

fn number(shard: u16) -> i16 {
    i16::try_from(shard).unwrap_or(i16::MAX)
}

/// A row of a slot.
struct Row {
    slot: Slot,
    id: SourceId,
    version: Version,
}

/// What this process knows of the shards that it walks through.
#[derive(Default)]
pub(super) struct Walks(Mutex<HashMap<u16, Walk>>);

impl Walks {
    /// Takes what is known of a shard. Whoever fails does not put it back: then everything is looked at again.
    fn take(&self, shard: u16) -> Option<Walk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&shard)
    }

    fn put(&self, shard: u16, walk: Walk) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(shard, walk);
    }
}

/// How far the walk through a shard has come.
struct Walk {
    mark: i64,
    /// The minute in which all that there were from the mark on were last looked at.
    looked: Option<i64>,
    /// Those that had rows at the last look, and the time of the first one.
    open: BTreeMap<i64, i64>,
}

impl Walk {
    fn new(mark: i64) -> Walk {
        Walk { mark, looked: None, open: BTreeMap::new() }
    }

    /// What is looked at now, the oldest first: each minute, and from which time on. Once in a minute that is every
    /// minute, otherwise those in which something was left or is likely to come.
    fn minutes(&self, present: i64) -> Vec<(i64, i64)> {
        let whole = |minute: i64| (minute, minute.saturating_mul(MINUTE));
        if self.looked != Some(present) {
            return (self.mark..=present.min(self.mark + AT_MOST)).map(whole).collect();
        }
        let young = (present - 1).max(self.mark);
        let left = self.open.range(..young).map(|(minute, first)| (*minute, *first));
        left.chain((young..=present).map(whole)).collect()
    }

    /// Notes what a minute has.
    fn store_intent(&mut self, minute: i64, first: Option<&Row>) {
        match first {
            Some(row) => self.open.insert(minute, row.slot.at.0),
            None => self.open.remove(&minute),
        };
    }

    /// Up to where the mark can move when everything up to and with `last` was looked at.
    fn passed(&self, last: i64, present: i64) -> i64 {
        let first_open = self.open.keys().next().copied();
        first_open.unwrap_or(last + 1).min(last + 1).min(present - BACK)
    }
}

impl CqlStore {
    /// The first minute of a shard in which there may be rows.
    pub(super) async fn mark(&self, shard: u16) -> Result<i64> {
        for shard in [number(shard), BEGINNING] {
            if let Some((minute,)) = self.db.row::<(i64,)>(&MARK, (shard,)).await? {
                return Ok(minute);
            }
        }
        Err(corrupt("nobody stored when polling began"))
    }

    pub(super) async fn file(&self, id: SourceId, slot: Slot, version: Version) -> Result<()> {
        let Slot { shard, at } = slot;
        let row = (minute(at), number(shard), at.0, id.0.as_slice(), version.0, version.0);
        self.db.write(&FILE, row).await
    }

    /// Takes a row out that is not of a later version than this.
    pub(super) async fn unfile(&self, id: SourceId, slot: Slot, version: Version) -> Result<()> {
        let Slot { shard, at } = slot;
        let row = (version.0, minute(at), number(shard), at.0, id.0.as_slice());
        self.db.write(&UNFILE, row).await
    }

    /// The sources of a shard whose time has come, the longest waiting first.
    pub(super) async fn walk(&self, shard: u16, now: Millis, limit: usize) -> Result<Vec<SourceId>> {
        let mut walk = match self.polling.take(shard) {
            Some(walk) => walk,
            None => Walk::new(self.mark(shard).await?),
        };
        let present = minute(now);
        let minutes = walk.minutes(present);
        let mut found = Vec::new();
        let mut last = None;
        for some in minutes.chunks(CONCURRENCY) {
            let room = limit.saturating_sub(found.len());
            if room == 0 {
                break;
            }
            let slots = some.iter().map(|(minute, from)| self.slot(shard, *minute, *from, now, room));
            let slots = together(slots).await?;
            for ((minute, _), rows) in some.iter().zip(&slots) {
                walk.store_intent(*minute, rows.first());
                last = Some(*minute);
            }
            let rows: Vec<Row> = slots.into_iter().flatten().take(room).collect();
            found.extend(self.sift(rows, now).await?);
        }
        if let Some(last) = last.filter(|_| walk.looked != Some(present)) {
            let passed = walk.passed(last, present);
            if passed > walk.mark {
                self.db.write(&PUT_MARK, (number(shard), passed, passed)).await?;
                walk.mark = passed;
            }
            walk.looked = Some(last).filter(|last| *last == present);
        }
        self.polling.put(shard, walk);
        Ok(found)
    }

    /// The first rows of a slot from that time on up to now.
    async fn slot(&self, shard: u16, minute: i64, from: i64, now: Millis, room: usize) -> Result<Vec<Row>> {
        let limit = i32::try_from(room).unwrap_or(i32::MAX);
        let key = (minute, number(shard), from, now.0, limit);
        let rows = self.db.rows::<(i64, Vec<u8>, i64)>(&FILED, key).await?;
        let row = |(at, id, version): (i64, Vec<u8>, i64)| {
            Ok(Row { slot: Slot { shard, at: Millis(at) }, id: source_id(&id)?, version: Version(version) })
        };
        rows.into_iter().map(row).collect()
    }

    /// Which of these are given; takes out what should have been.
    async fn sift(&self, rows: Vec<Row>, now: Millis) -> Result<Vec<SourceId>> {
        let young = minute(now) - BACK;
        let given = rows.into_iter().map(|row| async move {
            if minute(row.slot.at) >= young {
                return Ok(Some(row.id));
            }
            let state = self.filed_source(row.id).await?;
            if state.as_ref().is_some_and(|state| state.slot == Some(row.slot)) {
                return Ok(Some(row.id));
            }
            if let Some(version) = left_behind(&row, state.as_ref(), now) {
                self.unfile(row.id, row.slot, version).await?;
            }
            Ok(None)
        });
        Ok(together(given).await?.into_iter().flatten().collect())
    }
}

/// With which version a row that its source's state does not know is taken out; `None`: the state may come yet.
fn left_behind(row: &Row, state: Option<&Filed>, now: Millis) -> Option<Version> {
    let later = state.map(|state| state.source.version).filter(|version| *version >= row.version);
    later.or_else(|| (row.slot.at.0 < now.0 - UNFINISHED).then_some(row.version))
}
