//! What arrived among what many accounts did. Who polls asks for it again and again, and mostly there is nothing: that is
//! found out together, and only of whom something arrived more is asked.

use super::super::{CqlStore, Query, together};
use super::arrivals::{Group, Stretch, Walk};
use super::buckets::Bucket;
use super::many::TOGETHER;
use super::row::reason_number;
use crate::{Arrival, Result};
use model::{ArrivalOffset, Entry, EntryReason, EntryReasons, Order, Position, Uid};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// How many rows of each account are read together; who has more is read alone.
const PORTION: usize = 50;

const READ: Query = Query::read(
    "SELECT uid, position, aid, reason, received_ms FROM feed.arrival WHERE uid IN ? AND segment = ?
     AND (position, aid, reason) > (?, ?, ?) AND (position, aid, reason) <= (?, ?, ?) PER PARTITION LIMIT ?",
);

type Row = (i64, i64, Uuid, i8, i64);

/// Reads arrivals among what these did.
pub(super) async fn read(
    store: &CqlStore,
    owners: &[Uid],
    after: ArrivalOffset,
    floor: Position,
    limit: usize,
) -> Result<Vec<Vec<Entry>>> {
    let Some(stretch) = Stretch::new(after, floor).filter(|_| limit > 0) else {
        return Ok(vec![Vec::new(); owners.len()]);
    };
    let arrived = if stretch.is_short() { in_short(store, owners, stretch).await? } else { HashMap::new() };
    let active = arrived.iter().filter(|(_, groups)| !groups.is_empty()).map(|(owner, _)| *owner);
    let active: Vec<Uid> = active.collect();
    // After what arrived was read: then all its buckets are listed.
    let buckets = store.buckets_of_many(&active, Order::Received, EntryReason::Authored).await?;
    together(owners.iter().map(|owner| {
        let walk = Walk::new(store, *owner, stretch, limit).only(EntryReason::Authored);
        one(walk, arrived.get(owner), buckets.get(owner))
    }))
    .await
}

/// What arrived in a short stretch. Those of whom that is too much are missing.
async fn in_short(store: &CqlStore, owners: &[Uid], stretch: Stretch) -> Result<HashMap<Uid, Vec<Group>>> {
    let mut numbers: Vec<i64> = owners.iter().map(|owner| owner.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut parts = Vec::new();
    for segment in stretch.segments() {
        let each = numbers.chunks(TOGETHER);
        parts.extend(each.map(|owners| read_segment(store, segment, owners, stretch)));
    }
    let parts = together(parts).await?;
    let mut arrived: HashMap<Uid, Vec<Group>> =
        numbers.iter().map(|owner| (Uid(*owner), Vec::new())).collect();
    let mut too_many = HashSet::new();
    for rows in parts {
        let mut counts: HashMap<i64, usize> = HashMap::new();
        for (owner, position, id, number, received) in rows {
            let count = counts.entry(owner).or_default();
            *count += 1;
            if *count == PORTION {
                too_many.insert(Uid(owner));
            }
            if number == reason_number(EntryReason::Authored) {
                let group = Group {
                    position,
                    id,
                    reasons: EntryReasons::default().with(EntryReason::Authored),
                    received,
                };
                arrived.entry(Uid(owner)).or_default().push(group);
            }
        }
    }
    arrived.retain(|owner, _| !too_many.contains(owner));
    Ok(arrived)
}

async fn read_segment(store: &CqlStore, segment: i64, owners: &[i64], stretch: Stretch) -> Result<Vec<Row>> {
    let (mark, end) = (stretch.mark, stretch.end());
    let limit = i32::try_from(PORTION).unwrap_or(i32::MAX);
    let values = (owners, segment, mark.0, mark.1, mark.2, end.0, end.1, end.2, limit);
    store.db.rows(&READ, values).await
}

/// What arrived of one account, if that is known, or else what a walk of its own finds.
async fn one(
    mut walk: Walk<'_>,
    arrived: Option<&Vec<Group>>,
    buckets: Option<&Vec<Bucket>>,
) -> Result<Vec<Entry>> {
    let found = match (arrived, buckets) {
        (Some(groups), _) if groups.is_empty() => Vec::new(),
        (Some(groups), Some(buckets)) => {
            let buckets: Vec<(EntryReason, Bucket)> =
                buckets.iter().map(|bucket| (EntryReason::Authored, *bucket)).collect();
            walk.present(groups, &buckets).await?
        }
        _ => {
            walk.whole().await?;
            walk.found
        }
    };
    let entries = found.into_iter().filter_map(|arrival| match arrival {
        Arrival::Entry(entry) => Some(entry),
        Arrival::Change(_) => None,
    });
    Ok(entries.take(walk.limit).collect())
}
