//! Arrivals by position.
//!
//! A row has the reason and time of receipt of an arrival, by which its entry is found. The entry says whether this
//! was its latest arrival. Partitions are segments of the log. The segments with arrivals for an account are listed
//! by era, and the eras are listed like the segments of one special era. So a reader that was away for long need not
//! query every segment.

use super::super::db::uuid;
use super::super::{CONCURRENCY, CqlStore, Query};
use super::buckets::Bucket;
use super::look_up::EntryKey;
use super::row::reason_of;
use crate::feeds::merge_entries;
use crate::{Arrival, Result};
use futures::{StreamExt, TryStreamExt, stream};
use model::{ArrivalOffset, EntryReason, EntryReasons, Millis, Order, Position, Uid};
use std::ops::RangeInclusive;
use uuid::Uuid;

/// Bits of a position within a segment, and of a segment within an era. Most messages have few of the 64 tasks that have
/// room in them.
const SEGMENT: u32 = 19;
const ERA: u32 = 15;
/// The special era whose segments are the eras.
const ERAS: i64 = -1;

/// The identifier of a change: after every activity.
const CHANGE: Uuid = Uuid::from_u128(0xffff_ffff_ffff_7fff_bfff_ffff_ffff_ffff);
/// The reason number of a change.
const CHANGE_REASON: i8 = 3;

/// Limits of the rows per statement. The minimum is more than an activity has at one position.
const MAX_PORTION: usize = 500;
const MIN_PORTION: usize = 4;

const PUT: Query = Query::write(
    "INSERT INTO feed.arrival (uid, segment, position, aid, reason, received_ms) VALUES (?, ?, ?, ?, ?, ?)
     USING TTL ?",
);
/// The TTL of an arrival, in seconds: that of the table.
const ARRIVAL_TTL: i32 = 691_200;
const READ: Query = Query::read(
    "SELECT position, aid, reason, received_ms FROM feed.arrival WHERE uid = ? AND segment = ?
     AND (position, aid, reason) > (?, ?, ?) AND (position, aid, reason) <= (?, ?, ?) LIMIT ?",
);
const LIST: Query = Query::write("INSERT INTO feed.segment (uid, era, segment) VALUES (?, ?, ?)");
const LISTED: Query = Query::read(
    "SELECT segment FROM feed.segment WHERE uid = ? AND era = ? AND segment >= ? AND segment <= ?",
);

impl CqlStore {
    /// Writes an arrival. `entry_ttl` is the TTL of its entry, 0 for none.
    pub(super) async fn put_arrival(
        &self,
        owner: Uid,
        at: Position,
        id: Uuid,
        number: i8,
        received: Millis,
        entry_ttl: i32,
    ) -> Result<()> {
        let ttl = if entry_ttl > 0 { entry_ttl.min(ARRIVAL_TTL) } else { ARRIVAL_TTL };
        let position = stored(at);
        let segment = position >> SEGMENT;
        let era = segment >> ERA;
        self.list_segment(owner, ERAS, era).await?;
        self.list_segment(owner, era, segment).await?;
        self.db.write(&PUT, (owner.0, segment, position, id, number, received.0, ttl)).await
    }

    /// Writes a change without an entry for these accounts.
    pub(super) async fn put_changes(&self, at: Position, owners: &[Uid]) -> Result<()> {
        let each =
            owners.iter().map(|owner| self.put_arrival(*owner, at, CHANGE, CHANGE_REASON, Millis(0), 0));
        let all: Vec<_> = each.collect();
        stream::iter(all).buffer_unordered(CONCURRENCY).try_collect().await
    }

    /// Lists a segment, unless this process did so recently. The list outlives the arrivals.
    async fn list_segment(&self, owner: Uid, era: i64, segment: i64) -> Result<()> {
        let key = (owner, era, segment);
        if !self.directory.segments.contains_key(&key) {
            self.db.write(&LIST, (owner.0, era, segment)).await?;
            self.directory.segments.insert(key, ());
        }
        Ok(())
    }

    async fn listed_segments(&self, owner: Uid, era: i64, first: i64, last: i64) -> Result<Vec<i64>> {
        let rows: Vec<(i64,)> = self.db.rows(&LISTED, (owner.0, era, first, last)).await?;
        Ok(rows.into_iter().map(|(segment,)| segment).collect())
    }
}

/// Reads arrivals.
pub(super) async fn read(
    store: &CqlStore,
    owner: Uid,
    after: ArrivalOffset,
    floor: Position,
    limit: usize,
) -> Result<Vec<Arrival>> {
    let Some(range) = LogRange::new(after, floor) else { return Ok(Vec::new()) };
    let mut reader = ArrivalReader::new(store, owner, range, limit);
    reader.read_all().await?;
    Ok(reader.found)
}

/// The clustering key of a row: position, identifier, reason number.
type RowKey = (i64, Uuid, i8);

/// A range of the log: after a row, up to the floor.
#[derive(Clone, Copy)]
pub(super) struct LogRange {
    pub(super) after: RowKey,
    floor: i64,
}

impl LogRange {
    /// `None` if it is empty.
    pub(super) fn new(offset: ArrivalOffset, floor: Position) -> Option<LogRange> {
        let (from, to) = (stored(offset.position), stored(floor));
        let after = (from, offset.inside.map_or(CHANGE, uuid), i8::MAX);
        (from <= to && offset != ArrivalOffset::after(floor)).then_some(LogRange { after, floor: to })
    }

    /// The last possible row of the range.
    pub(super) fn end(&self) -> RowKey {
        (self.floor, CHANGE, i8::MAX)
    }

    pub(super) fn segments(&self) -> RangeInclusive<i64> {
        self.after.0 >> SEGMENT..=self.floor >> SEGMENT
    }

    /// Whether it has so few segments that they are read without the list. Most collections are polled again before
    /// the log has grown much.
    pub(super) fn is_short(&self) -> bool {
        self.segments().end() - self.segments().start() <= 1
    }
}

/// The arrivals of one activity at one position. A change has no reason.
pub(super) struct ArrivalGroup {
    pub(super) position: i64,
    pub(super) id: Uuid,
    pub(super) reasons: EntryReasons,
    pub(super) received: i64,
}

/// Reads the arrivals of an account.
pub(super) struct ArrivalReader<'a> {
    store: &'a CqlStore,
    owner: Uid,
    range: LogRange,
    pub(super) limit: usize,
    only: Option<EntryReason>,
    pub(super) found: Vec<Arrival>,
}

impl<'a> ArrivalReader<'a> {
    pub(super) fn new(store: &'a CqlStore, owner: Uid, range: LogRange, limit: usize) -> ArrivalReader<'a> {
        ArrivalReader { store, owner, range, limit, only: None, found: Vec::new() }
    }

    /// Skips other reasons, and changes.
    pub(super) fn only(self, reason: EntryReason) -> ArrivalReader<'a> {
        ArrivalReader { only: Some(reason), ..self }
    }

    /// Reads the whole range, until the limit is reached.
    pub(super) async fn read_all(&mut self) -> Result<()> {
        if self.range.is_short() {
            return self.segments(self.range.segments()).await;
        }
        let (first, last) = self.range.segments().into_inner();
        let eras = match (first >> ERA, last >> ERA) {
            (from, to) if to - from <= 1 => (from..=to).collect(),
            (from, to) => self.store.listed_segments(self.owner, ERAS, from, to).await?,
        };
        for era in eras {
            if self.remaining() > 0 {
                let segments = self.store.listed_segments(self.owner, era, first, last).await?;
                self.segments(segments).await?;
            }
        }
        Ok(())
    }

    fn remaining(&self) -> usize {
        self.limit - self.found.len()
    }

    /// Reads these segments, until the limit is reached.
    async fn segments(&mut self, segments: impl IntoIterator<Item = i64>) -> Result<()> {
        for segment in segments {
            while self.remaining() > 0 {
                let (groups, more) = self.groups(segment).await?;
                let buckets = match groups.iter().all(|group| group.id == CHANGE) {
                    true => Vec::new(),
                    // After the arrivals were read: then all their buckets are listed.
                    false => self.store.buckets(self.owner, Order::Received).await?,
                };
                self.found.extend(self.latest_entries(&groups, &buckets).await?);
                if !more {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The next arrivals of a segment up to the limit, and whether it may have more.
    async fn groups(&mut self, segment: i64) -> Result<(Vec<ArrivalGroup>, bool)> {
        let portion = match self.only {
            // Most activities arrive with one reason.
            None => self.remaining().saturating_add(MIN_PORTION).min(MAX_PORTION),
            Some(_) => MAX_PORTION,
        };
        let (after, end) = (self.range.after, self.range.end());
        let limit = i32::try_from(portion).unwrap_or(i32::MAX);
        let values = (self.owner.0, segment, after.0, after.1, after.2, end.0, end.1, end.2, limit);
        let rows: Vec<(i64, Uuid, i8, i64)> = self.store.db.rows(&READ, values).await?;
        let mut more = rows.len() == portion;
        let mut groups: Vec<ArrivalGroup> = Vec::new();
        for (position, id, number, received) in rows {
            let reasons: EntryReasons = reason_of(number).into_iter().collect();
            match groups.last_mut() {
                Some(last) if (last.position, last.id) == (position, id) => {
                    last.reasons = last.reasons.union(reasons)
                }
                _ => groups.push(ArrivalGroup { position, id, reasons, received }),
            }
        }
        if more {
            // More rows of the last group may follow.
            groups.pop();
        }
        let mut read_to = groups.last().map(|last| (last.position, last.id));
        if let Some(only) = self.only {
            groups.retain(|group| group.reasons.contains(only));
            groups.iter_mut().for_each(|group| group.reasons = EntryReasons::default().with(only));
        }
        if groups.len() > self.remaining() {
            groups.truncate(self.remaining());
            read_to = groups.last().map(|last| (last.position, last.id));
            more = true;
        }
        if let Some((position, id)) = read_to {
            self.range.after = (position, id, i8::MAX);
        }
        Ok((groups, more))
    }

    /// The entries whose latest arrival is in these groups. `buckets` are those of the owner by time of receipt.
    pub(super) async fn latest_entries(
        &self,
        groups: &[ArrivalGroup],
        buckets: &[(EntryReason, Bucket)],
    ) -> Result<Vec<Arrival>> {
        let keys = |group: &ArrivalGroup| {
            let (received, id) = (group.received, group.id);
            group.reasons.iter().map(move |reason| (reason, received, id))
        };
        let keys: Vec<EntryKey> = groups.iter().flat_map(keys).collect();
        let entries = self.store.entries_at(self.owner, buckets, &keys).await?;
        let arrival = |group: &ArrivalGroup| {
            let position = Position(group.position.cast_unsigned());
            if group.id == CHANGE {
                return Some(Arrival::Change(position));
            }
            let rows = group.reasons.iter().filter_map(|reason| entries.get(&(reason, group.id)));
            let arrived = rows.filter(|entry| entry.arrived == Some(position));
            arrived.cloned().reduce(merge_entries).map(Arrival::Entry)
        };
        Ok(groups.iter().filter_map(arrival).collect())
    }
}

/// A position as a column value. The positions of the log are all in the lower half.
fn stored(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}
