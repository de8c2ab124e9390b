//! Reads a slice as a merge of partitions.
//!
//! A partition is one bucket of a reason, or one facet of it, and its rows are ordered. It is opened when the merge
//! reaches the newest time that it can have. Then its rows are read in growing portions. Partitions that the merge
//! needs next are opened concurrently.

use super::super::CqlStore;
use super::partitions::{PartitionReader, select_partitions};
use super::row::later;
use crate::feeds::merge_entries;
use crate::{Result, Slice};
use futures::future::try_join_all;
use model::{Entry, EntryReason, SortKey};
use std::collections::BinaryHeap;

/// Rows read at the beginning per requested row, for all partitions together.
const READ_AHEAD: usize = 4;
/// The minimum first portion.
const MIN_PORTION: usize = 4;

/// Reads a slice.
pub(super) async fn slice(store: &CqlStore, slice: &Slice<'_>) -> Result<Vec<Entry>> {
    if slice.limit == 0 {
        return Ok(Vec::new());
    }
    let mut waiting = select_partitions(store, slice).await?;
    waiting.sort_by_key(|partition| partition.newest);
    let (open, heads) = (Vec::new(), BinaryHeap::new());
    let mut merge = Merge { store, slice, waiting, open, heads };
    let mut entries = Vec::with_capacity(slice.limit.min(256));
    while entries.len() < slice.limit {
        let Some(entry) = merge.next(slice.limit - entries.len()).await? else { break };
        entries.push(entry);
    }
    Ok(entries)
}

struct Merge<'a> {
    store: &'a CqlStore,
    slice: &'a Slice<'a>,
    /// Partitions that are not open yet, the newest last.
    waiting: Vec<PartitionReader>,
    open: Vec<PartitionReader>,
    /// The sort key of the next row of each open partition, with its index.
    heads: BinaryHeap<(SortKey, usize)>,
}

impl Merge<'_> {
    /// The next entry. `remaining` counts it too.
    async fn next(&mut self, remaining: usize) -> Result<Option<Entry>> {
        self.open_due(remaining).await?;
        let Some(&(sort_key, _)) = self.heads.peek() else { return Ok(None) };
        // Every partition that could have the same sort key is open now.
        let mut rows: Vec<(EntryReason, Entry)> = Vec::with_capacity(EntryReason::ALL.len());
        while let Some(&(_, number)) = self.heads.peek().filter(|(same, _)| *same == sort_key) {
            self.heads.pop();
            let Some(partition) = self.open.get_mut(number) else { continue };
            if let Some((reason, row)) = partition.take(self.slice.order)? {
                match rows.iter_mut().find(|(other, _)| *other == reason) {
                    Some((_, other)) => *other = later(other.clone(), row),
                    None => rows.push((reason, row)),
                }
            }
            // The entry that is returned now is not needed again.
            if remaining > 1 {
                partition.fill(self.store, self.slice, remaining - 1).await?;
            }
            self.heads.extend(partition.sort_key().map(|sort_key| (sort_key, number)));
        }
        Ok(rows.into_iter().map(|(_, row)| row).reduce(merge_entries))
    }

    /// Opens every partition that can have a row before or at the next known row.
    async fn open_due(&mut self, remaining: usize) -> Result<()> {
        while let Some(newest) = self.waiting.last().map(|partition| partition.newest) {
            if self.heads.peek().is_some_and(|(sort_key, _)| sort_key.time.0 > newest) {
                break;
            }
            // The partition that begins last has a row, so all that can have a newer one are needed.
            let begin = self.waiting.iter().map(PartitionReader::oldest).max().unwrap_or(newest);
            let first = self.waiting.partition_point(|partition| partition.newest < begin);
            let mut due = self.waiting.split_off(first);
            let portion = (remaining * READ_AHEAD).div_ceil(due.len() + self.heads.len()).max(MIN_PORTION);
            try_join_all(due.iter_mut().map(|partition| {
                partition.begin_with(portion, remaining);
                partition.fill(self.store, self.slice, remaining)
            }))
            .await?;
            for partition in due {
                let number = self.open.len();
                self.heads.extend(partition.sort_key().map(|sort_key| (sort_key, number)));
                self.open.push(partition);
            }
        }
        Ok(())
    }
}
