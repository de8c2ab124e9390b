//! Arrivals: what came in, by position.
//!
//! A row here says only that something arrived in a box, and when it was received: by that its entry is found,
//! which says whether that is where it last arrived. Partitions are segments of the log. Which segments brought
//! anything to an account is listed by era, which is many segments, and which eras did as if they were the segments
//! of one: whoever was away for long finds what there is without asking for every segment of the time.

use super::super::db::uuid;
use super::super::{AT_ONCE, CqlStore, Query};
use super::buckets::Bucket;
use super::row::{Columns, box_number, entry, later};
use super::tables::table;
use crate::entries::joined;
use crate::{Arrival, Result};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Box, Entry, Millis, Order, Place, Position, Uid};
use std::collections::HashMap;
use uuid::Uuid;

/// So many binary digits of a position tell places in a segment, and so many of a segment segments in an era.
const SEGMENT: u32 = 15;
const ERA: u32 = 15;
/// The era whose segments are the eras.
const ERAS: i64 = -1;

/// What a change has for an identifier: after that of every activity.
const CHANGE: Uuid = Uuid::from_u128(0xffff_ffff_ffff_7fff_bfff_ffff_ffff_ffff);
/// What it has for a box.
const NO_BOX: i8 = 3;

/// The largest number of rows that a statement gives, and the smallest: more than an activity has at a position.
const LARGEST_PORTION: usize = 500;
const SMALLEST_PORTION: usize = 4;
/// How many entries are looked up by one statement.
const TOGETHER: usize = 100;

const PUT: Query = Query::write(
    "INSERT INTO feed.arrival (uid, segment, position, aid, box, received_ms) VALUES (?, ?, ?, ?, ?, ?)",
);
const READ: Query = Query::read(
    "SELECT position, aid, box, received_ms FROM feed.arrival WHERE uid = ? AND segment = ?
     AND (position, aid, box) > (?, ?, ?) AND (position, aid, box) <= (?, ?, ?) LIMIT ?",
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
        stream::iter(all).buffer_unordered(AT_ONCE).try_collect().await
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
    after: Place,
    floor: Position,
    limit: usize,
) -> Result<Vec<Arrival>> {
    let (from, to) = (stored(after.position), stored(floor));
    let inside = after.inside.map_or(CHANGE, uuid);
    let mut walk = Walk { store, owner, mark: (from, inside, i8::MAX), floor: to, limit, found: Vec::new() };
    if from > to || after == Place::whole(floor) {
        return Ok(Vec::new());
    }
    let (first, last) = (from >> SEGMENT, to >> SEGMENT);
    // Most are polled again before the log has come much further.
    if last - first <= 1 {
        walk.segments(first..=last).await?;
        return Ok(walk.found);
    }
    let eras = match (first >> ERA, last >> ERA) {
        (one, other) if other - one <= 1 => (one..=other).collect(),
        (one, other) => store.listed_segments(owner, ERAS, one, other).await?,
    };
    for era in eras {
        if walk.wanted() > 0 {
            let segments = store.listed_segments(owner, era, first, last).await?;
            walk.segments(segments).await?;
        }
    }
    Ok(walk.found)
}

/// Position, identifier and number of the box.
type Mark = (i64, Uuid, i8);

/// What arrived at one position under one identifier, with the time of receipt.
struct Group {
    position: i64,
    id: Uuid,
    boxes: Vec<i8>,
    received: i64,
}

/// A walk through segments.
struct Walk<'a> {
    store: &'a CqlStore,
    owner: Uid,
    mark: Mark,
    floor: i64,
    limit: usize,
    found: Vec<Arrival>,
}

impl Walk<'_> {
    fn wanted(&self) -> usize {
        self.limit - self.found.len()
    }

    /// Goes through these segments until enough is found.
    async fn segments(&mut self, segments: impl IntoIterator<Item = i64>) -> Result<()> {
        for segment in segments {
            while self.wanted() > 0 {
                let (groups, more) = self.groups(segment).await?;
                let present = self.present(&groups).await?;
                self.found.extend(present);
                if !more {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What comes next in a segment, no more than is wanted, and whether there may be more in it.
    async fn groups(&mut self, segment: i64) -> Result<(Vec<Group>, bool)> {
        // Most activities arrive in one box.
        let portion = self.wanted().saturating_add(SMALLEST_PORTION).min(LARGEST_PORTION);
        let (mark, limit) = (self.mark, i32::try_from(portion).unwrap_or(i32::MAX));
        let end = (self.floor, CHANGE, i8::MAX);
        let values = (self.owner.0, segment, mark.0, mark.1, mark.2, end.0, end.1, end.2, limit);
        let rows: Vec<(i64, Uuid, i8, i64)> = self.store.db.rows(&READ, values).await?;
        let mut more = rows.len() == portion;
        let mut groups: Vec<Group> = Vec::new();
        for (position, id, number, received) in rows {
            match groups.last_mut() {
                Some(last) if (last.position, last.id) == (position, id) => last.boxes.push(number),
                _ => groups.push(Group { position, id, boxes: vec![number], received }),
            }
        }
        if more {
            // The rest of the last one may be still to come.
            groups.pop();
        }
        if groups.len() > self.wanted() {
            groups.truncate(self.wanted());
            more = true;
        }
        if let Some(last) = groups.last() {
            self.mark = (last.position, last.id, i8::MAX);
        }
        Ok((groups, more))
    }

    /// Those of them that last arrived there.
    async fn present(&self, groups: &[Group]) -> Result<Vec<Arrival>> {
        let entries = self.entries(groups).await?;
        let arrival = |group: &Group| {
            let position = Position(group.position.cast_unsigned());
            if group.id == CHANGE {
                return Some(Arrival::Change(position));
            }
            let in_boxes = group.boxes.iter().filter_map(|number| entries.get(&(*number, group.id)));
            let there = in_boxes.filter(|entry| entry.arrived == Some(position));
            there.cloned().reduce(joined).map(Arrival::Entry)
        };
        Ok(groups.iter().filter_map(arrival).collect())
    }

    /// The present entries of these, by box and identifier.
    async fn entries(&self, groups: &[Group]) -> Result<HashMap<(i8, Uuid), Entry>> {
        let mut keys: HashMap<(Box, Bucket), Vec<(i64, Uuid)>> = HashMap::new();
        if groups.iter().any(|group| group.id != CHANGE) {
            // After what arrived was read: then all its buckets are listed.
            let buckets = self.store.buckets(self.owner, Order::Received).await?;
            for group in groups {
                let holds = |(one, bucket): &&(Box, Bucket)| {
                    group.boxes.contains(&box_number(*one)) && bucket.contains(group.received)
                };
                for at in buckets.iter().filter(holds) {
                    keys.entry(*at).or_default().push((group.received, group.id));
                }
            }
        }
        for keys in keys.values_mut() {
            keys.sort_unstable();
            keys.dedup();
        }
        let parts = keys.iter().flat_map(|(at, keys)| keys.chunks(TOGETHER).map(|keys| (*at, keys)));
        let look_ups: Vec<_> = parts.map(|((one, bucket), keys)| self.look_up(one, bucket, keys)).collect();
        let found: Vec<Vec<(Box, Entry)>> =
            stream::iter(look_ups).buffer_unordered(AT_ONCE).try_collect().await?;
        let mut entries = HashMap::new();
        for (one, row) in found.into_iter().flatten() {
            let key = (box_number(one), uuid(row.id));
            let row = match entries.remove(&key) {
                Some(other) => later(other, row),
                None => row,
            };
            entries.insert(key, row);
        }
        Ok(entries)
    }

    async fn look_up(&self, one: Box, bucket: Bucket, keys: &[(i64, Uuid)]) -> Result<Vec<(Box, Entry)>> {
        let values = (self.owner.0, box_number(one), bucket.number(), keys);
        let rows: Vec<Columns> = self.store.db.rows(&table(one, Order::Received).look_up, values).await?;
        rows.into_iter().map(|columns| Ok((one, entry(columns, one, Order::Received)?))).collect()
    }
}

/// A position as it is stored: those of the log are all below half of the numbers.
fn stored(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}
