//! A slice is a merge of partitions.
//!
//! A partition is one bucket of a reason, or one facet of it: its rows lie in order. It is opened when the merge comes
//! to the newest time that it can have; then it is asked for rows in growing portions while they are taken. Those
//! that the merge will come to next are opened all at once.

use super::super::CqlStore;
use super::row::later;
use super::sources::{Source, pick};
use crate::entries::joined;
use crate::{Result, Slice};
use futures::future::try_join_all;
use model::{Entry, EntryReason, SortKey};
use std::collections::BinaryHeap;

/// How many rows for each that is wanted are read at the beginning, all sources together.
const OPENING: usize = 4;
/// The smallest portion to begin with.
const SMALLEST: usize = 4;

/// Reads a slice.
pub(super) async fn slice(store: &CqlStore, slice: &Slice<'_>) -> Result<Vec<Entry>> {
    if slice.limit == 0 {
        return Ok(Vec::new());
    }
    let mut waiting = pick(store, slice).await?;
    waiting.sort_by_key(|source| source.newest);
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
    /// What is not opened yet, the newest last.
    waiting: Vec<Source>,
    open: Vec<Source>,
    /// Where the next row of each open source stands that has one, and the source's number.
    heads: BinaryHeap<(SortKey, usize)>,
}

impl Merge<'_> {
    /// The next entry; so many are wanted, this one too.
    async fn next(&mut self, wanted: usize) -> Result<Option<Entry>> {
        self.open_due(wanted).await?;
        let Some(&(sort_key, _)) = self.heads.peek() else { return Ok(None) };
        // Every source that could have the same sort_key is open by now.
        let mut rows: Vec<(EntryReason, Entry)> = Vec::with_capacity(EntryReason::ALL.len());
        while let Some(&(_, number)) = self.heads.peek().filter(|(same, _)| *same == sort_key) {
            self.heads.pop();
            let Some(source) = self.open.get_mut(number) else { continue };
            if let Some((one, row)) = source.take() {
                match rows.iter_mut().find(|(other, _)| *other == one) {
                    Some((_, other)) => *other = later(other.clone(), row),
                    None => rows.push((one, row)),
                }
            }
            // The one that is given now is not wanted any more.
            if wanted > 1 {
                source.fill(self.store, self.slice, wanted - 1).await?;
            }
            self.heads.extend(source.sort_key(self.slice.order).map(|sort_key| (sort_key, number)));
        }
        Ok(rows.into_iter().map(|(_, row)| row).reduce(joined))
    }

    /// Opens every source that can have something before, or at, the next row that is known.
    async fn open_due(&mut self, wanted: usize) -> Result<()> {
        while let Some(newest) = self.waiting.last().map(|source| source.newest) {
            if self.heads.peek().is_some_and(|(sort_key, _)| sort_key.time.0 > newest) {
                break;
            }
            // The one that begins last has a row: those that can have a newer one are needed before it.
            let begin = self.waiting.iter().map(Source::oldest).max().unwrap_or(newest);
            let first = self.waiting.partition_point(|source| source.newest < begin);
            let mut due = self.waiting.split_off(first);
            let portion = (wanted * OPENING).div_ceil(due.len() + self.heads.len()).max(SMALLEST);
            try_join_all(due.iter_mut().map(|source| {
                source.begin_with(portion, wanted);
                source.fill(self.store, self.slice, wanted)
            }))
            .await?;
            for source in due {
                let number = self.open.len();
                self.heads.extend(source.sort_key(self.slice.order).map(|sort_key| (sort_key, number)));
                self.open.push(source);
            }
        }
        Ok(())
    }
}
