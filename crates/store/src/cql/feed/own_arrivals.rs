//! Arrivals of authored entries of many accounts. A poll usually finds none, so the accounts are checked together,
//! and only those with arrivals are read further.

use super::super::{CqlStore, Query, concurrently};
use super::arrivals::{ArrivalGroup, ArrivalReader, LogRange};
use super::buckets::Bucket;
use super::row::reason_number;
use super::slices::PARTITIONS_PER_STATEMENT;
use crate::{Arrival, Result};
use model::{ArrivalOffset, Entry, EntryReason, EntryReasons, Order, Position, Uid};
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// Rows per account that are read together. Accounts with more are read one by one.
const PORTION: usize = 50;

const READ: Query = Query::read(
    "SELECT uid, position, aid, reason, received_ms FROM feed.arrival WHERE uid IN ? AND segment = ?
     AND (position, aid, reason) > (?, ?, ?) AND (position, aid, reason) <= (?, ?, ?) PER PARTITION LIMIT ?",
);

type Row = (i64, i64, Uuid, i8, i64);

/// Reads the arrivals of the authored entries of these accounts.
pub(super) async fn read(
    store: &CqlStore,
    owners: &[Uid],
    after: ArrivalOffset,
    floor: Position,
    limit: usize,
) -> Result<Vec<Vec<Entry>>> {
    let Some(range) = LogRange::new(after, floor).filter(|_| limit > 0) else {
        return Ok(vec![Vec::new(); owners.len()]);
    };
    let arrived = if range.is_short() { read_together(store, owners, range).await? } else { HashMap::new() };
    let active = arrived.iter().filter(|(_, groups)| !groups.is_empty()).map(|(owner, _)| *owner);
    let active: Vec<Uid> = active.collect();
    // After the arrivals were read: then all their buckets are listed.
    let buckets = store.buckets_of_many(&active, Order::Received, EntryReason::Authored).await?;
    concurrently(owners.iter().map(|owner| {
        let reader = ArrivalReader::new(store, *owner, range, limit).only(EntryReason::Authored);
        read_one(reader, arrived.get(owner), buckets.get(owner))
    }))
    .await
}

/// The arrivals in a short range. Accounts with too many are missing.
async fn read_together(
    store: &CqlStore,
    owners: &[Uid],
    range: LogRange,
) -> Result<HashMap<Uid, Vec<ArrivalGroup>>> {
    let mut numbers: Vec<i64> = owners.iter().map(|owner| owner.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut parts = Vec::new();
    for segment in range.segments() {
        let each = numbers.chunks(PARTITIONS_PER_STATEMENT);
        parts.extend(each.map(|owners| read_segment(store, segment, owners, range)));
    }
    let parts = concurrently(parts).await?;
    let mut arrived: HashMap<Uid, Vec<ArrivalGroup>> =
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
                let group = ArrivalGroup {
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

async fn read_segment(store: &CqlStore, segment: i64, owners: &[i64], range: LogRange) -> Result<Vec<Row>> {
    let (after, end) = (range.after, range.end());
    let limit = i32::try_from(PORTION).unwrap_or(i32::MAX);
    let values = (owners, segment, after.0, after.1, after.2, end.0, end.1, end.2, limit);
    store.db.rows(&READ, values).await
}

/// The arrivals of one account: those read together with others, or else those of its reader.
async fn read_one(
    mut reader: ArrivalReader<'_>,
    arrived: Option<&Vec<ArrivalGroup>>,
    buckets: Option<&Vec<Bucket>>,
) -> Result<Vec<Entry>> {
    let found = match (arrived, buckets) {
        (Some(groups), _) if groups.is_empty() => Vec::new(),
        (Some(groups), Some(buckets)) => {
            let buckets: Vec<(EntryReason, Bucket)> =
                buckets.iter().map(|bucket| (EntryReason::Authored, *bucket)).collect();
            reader.latest_entries(groups, &buckets).await?
        }
        _ => {
            reader.read_all().await?;
            reader.found
        }
    };
    let entries = found.into_iter().filter_map(|arrival| match arrival {
        Arrival::Entry(entry) => Some(entry),
        Arrival::Change(_) => None,
    });
    Ok(entries.take(reader.limit).collect())
}
