//! Arrivals: what came in, by position.
//!
//! A row here says only that something arrived in a reason, and when it was received: by that its entry is found,
//! which says whether that is where it last arrived. Partitions are segments of the log. Which segments brought
//! anything to an account is listed by era, which is many segments, and which eras did as if they were the segments
//! of one: whoever was away for long finds what there is without asking for every segment of the time.

use super::super::db::uuid;
use super::super::{CONCURRENCY, CqlStore, Query};
use super::buckets::Bucket;
use super::look_up::Wanted;
use super::row::reason_of;
use crate::entries::joined;
use crate::{Arrival, Result};
use futures::{StreamExt, TryStreamExt, stream};
use model::{ArrivalOffset, EntryReason, EntryReasons, Millis, Order, Position, Uid};
use std::ops::RangeInclusive;
use uuid::Uuid;

/// So many binary digits of a position tell offsets in a segment, and so many of a segment segments in an era.
const SEGMENT: u32 = 15;
const ERA: u32 = 15;
/// The era whose segments are the eras.
const ERAS: i64 = -1;

/// What a change has for an identifier: after that of every activity.
const CHANGE: Uuid = Uuid::from_u128(0xffff_ffff_ffff_7fff_bfff_ffff_ffff_ffff);
/// What it has for a reason.
const NO_BOX: i8 = 3;

/// The largest number of rows that a statement gives, and the smallest: more than an activity has at a position.
const LARGEST_PORTION: usize = 500;
const SMALLEST_PORTION: usize = 4;

const PUT: Query = Query::write(
    "INSERT INTO feed.arrival (uid, segment, position, aid, reason, received_ms) VALUES (?, ?, ?, ?, ?, ?)",
);
const READ: Query = Query::read(
    "SELECT position, aid, reason, received_ms FROM feed.arrival WHERE uid = ? AND segment = ?
     AND (position, aid, reason) > (?, ?, ?) AND (position, aid, reason) <= (?, ?, ?) LIMIT ?",
);
const LIST: Query = Query::write("INSERT INTO feed.segment (uid, era, segment) VALUES (?, ?, ?)");
const LISTED: Query = Query::read(
    "SELECT segment FROM feed.segment WHERE uid = ? AND era = ? AND segment >= ? AND segment <= ?",
);

impl CqlStore {
    /// Notes that something arrived.
    pub(super) async fn put_arrival(
        &self,
        owner: Uid,
        at: Position,
        id: Uuid,
        number: i8,
        received: Millis,
    ) -> Result<()> {
        let position = stored(at);
        let segment = position >> SEGMENT;
        let era = segment >> ERA;
        self.list_segment(owner, ERAS, era).await?;
        self.list_segment(owner, era, segment).await?;
        self.db.write(&PUT, (owner.0, segment, position, id, number, received.0)).await
    }

    /// Notes that something changed for these accounts that no entry tells of.
    pub(super) async fn put_changes(&self, at: Position, owners: &[Uid]) -> Result<()> {
        let each = owners.iter().map(|owner| self.put_arrival(*owner, at, CHANGE, NO_BOX, Millis(0)));
        let all: Vec<_> = each.collect();
        stream::iter(all).buffer_unordered(CONCURRENCY).try_collect().await
    }

    /// Lists a segment, unless this process did lately: what is listed stays longer than what arrives.
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
    let Some(stretch) = Stretch::new(after, floor) else { return Ok(Vec::new()) };
    let mut walk = Walk::new(store, owner, stretch, limit);
    walk.whole().await?;
    Ok(walk.found)
}

/// Position, identifier and number of the reason.
type Mark = (i64, Uuid, i8);

/// A stretch of the log: what comes after the mark, up to the floor.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) mark: Mark,
    floor: i64,
}

impl Stretch {
    /// `None` if nothing can be in it.
    pub(super) fn new(after: ArrivalOffset, floor: Position) -> Option<Stretch> {
        let (from, to) = (stored(after.position), stored(floor));
        let mark = (from, after.inside.map_or(CHANGE, uuid), i8::MAX);
        (from <= to && after != ArrivalOffset::after(floor)).then_some(Stretch { mark, floor: to })
    }

    /// The last mark that is in it.
    pub(super) fn end(&self) -> Mark {
        (self.floor, CHANGE, i8::MAX)
    }

    pub(super) fn segments(&self) -> RangeInclusive<i64> {
        self.mark.0 >> SEGMENT..=self.floor >> SEGMENT
    }

    /// Whether it has so few segments that they are asked without looking which brought anything. Most are polled again
    /// before the log has come much further.
    pub(super) fn is_short(&self) -> bool {
        self.segments().end() - self.segments().start() <= 1
    }
}

/// What arrived at one position under one identifier, with the time of receipt; a change is in no reason.
pub(super) struct Group {
    pub(super) position: i64,
    pub(super) id: Uuid,
    pub(super) reasons: EntryReasons,
    pub(super) received: i64,
}

/// A walk through segments.
pub(super) struct Walk<'a> {
    store: &'a CqlStore,
    owner: Uid,
    stretch: Stretch,
    pub(super) limit: usize,
    only: Option<EntryReason>,
    pub(super) found: Vec<Arrival>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(store: &'a CqlStore, owner: Uid, stretch: Stretch, limit: usize) -> Walk<'a> {
        Walk { store, owner, stretch, limit, only: None, found: Vec::new() }
    }

    /// Passes over what arrived in other reasons, and changes.
    pub(super) fn only(self, one: EntryReason) -> Walk<'a> {
        Walk { only: Some(one), ..self }
    }

    /// Goes through the whole stretch until enough is found.
    pub(super) async fn whole(&mut self) -> Result<()> {
        if self.stretch.is_short() {
            return self.segments(self.stretch.segments()).await;
        }
        let (first, last) = self.stretch.segments().into_inner();
        let eras = match (first >> ERA, last >> ERA) {
            (one, other) if other - one <= 1 => (one..=other).collect(),
            (one, other) => self.store.listed_segments(self.owner, ERAS, one, other).await?,
        };
        for era in eras {
            if self.wanted() > 0 {
                let segments = self.store.listed_segments(self.owner, era, first, last).await?;
                self.segments(segments).await?;
            }
        }
        Ok(())
    }

    fn wanted(&self) -> usize {
        self.limit - self.found.len()
    }

    /// Goes through these segments until enough is found.
    async fn segments(&mut self, segments: impl IntoIterator<Item = i64>) -> Result<()> {
        for segment in segments {
            while self.wanted() > 0 {
                let (groups, more) = self.groups(segment).await?;
                let buckets = match groups.iter().all(|group| group.id == CHANGE) {
                    true => Vec::new(),
                    // After what arrived was read: then all its buckets are listed.
                    false => self.store.buckets(self.owner, Order::Received).await?,
                };
                self.found.extend(self.present(&groups, &buckets).await?);
                if !more {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What comes next in a segment, no more than is wanted, and whether there may be more in it.
    async fn groups(&mut self, segment: i64) -> Result<(Vec<Group>, bool)> {
        let portion = match self.only {
            // Most activities arrive in one reason.
            None => self.wanted().saturating_add(SMALLEST_PORTION).min(LARGEST_PORTION),
            Some(_) => LARGEST_PORTION,
        };
        let (mark, end) = (self.stretch.mark, self.stretch.end());
        let limit = i32::try_from(portion).unwrap_or(i32::MAX);
        let values = (self.owner.0, segment, mark.0, mark.1, mark.2, end.0, end.1, end.2, limit);
        let rows: Vec<(i64, Uuid, i8, i64)> = self.store.db.rows(&READ, values).await?;
        let mut more = rows.len() == portion;
        let mut groups: Vec<Group> = Vec::new();
        for (position, id, number, received) in rows {
            let reasons: EntryReasons = reason_of(number).into_iter().collect();
            match groups.last_mut() {
                Some(last) if (last.position, last.id) == (position, id) => {
                    last.reasons = last.reasons.union(reasons)
                }
                _ => groups.push(Group { position, id, reasons, received }),
            }
        }
        if more {
            // The rest of the last one may be still to come.
            groups.pop();
        }
        let mut read_to = groups.last().map(|last| (last.position, last.id));
        if let Some(only) = self.only {
            groups.retain(|group| group.reasons.contains(only));
            groups.iter_mut().for_each(|group| group.reasons = EntryReasons::default().with(only));
        }
        if groups.len() > self.wanted() {
            groups.truncate(self.wanted());
            read_to = groups.last().map(|last| (last.position, last.id));
            more = true;
        }
        if let Some((position, id)) = read_to {
            self.stretch.mark = (position, id, i8::MAX);
        }
        Ok((groups, more))
    }

    /// Those of them that last arrived there. The buckets are those of the owner in the order of receipt.
    pub(super) async fn present(
        &self,
        groups: &[Group],
        buckets: &[(EntryReason, Bucket)],
    ) -> Result<Vec<Arrival>> {
        let wanted = |group: &Group| {
            let (received, id) = (group.received, group.id);
            group.reasons.iter().map(move |one| (one, received, id))
        };
        let wanted: Vec<Wanted> = groups.iter().flat_map(wanted).collect();
        let entries = self.store.entries_at(self.owner, buckets, &wanted).await?;
        let arrival = |group: &Group| {
            let position = Position(group.position.cast_unsigned());
            if group.id == CHANGE {
                return Some(Arrival::Change(position));
            }
            let in_boxes = group.reasons.iter().filter_map(|one| entries.get(&(one, group.id)));
            let there = in_boxes.filter(|entry| entry.arrived == Some(position));
            there.cloned().reduce(joined).map(Arrival::Entry)
        };
        Ok(groups.iter().filter_map(arrival).collect())
    }
}

/// A position as it is stored: those of the log are all below half of the numbers.
fn stored(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}
