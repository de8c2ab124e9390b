//! A collection's entries in order: its own, and those that are pulled from others.
//!
//! Every source gives its newest first. All of them are asked for a few at once; one whose are used up is asked for more
//! when the merge comes to it.

use super::head_cache::HeadCache;
use super::pulled_actors::PulledActors;
use super::{Feed, ReadError};
use model::{
    Entry, EntryReason, EntryReasons, FeedQuery, Filter, Order, Position, Range, SortKey, Uid, Visibility,
};
use std::collections::{BinaryHeap, HashMap, VecDeque};
use store::{Slice, Store};

/// How many entries for each that is wanted are read at the beginning, all others together, and of each at least.
const OPENING: usize = 4;
const SMALLEST: usize = 4;
/// The most that are asked for at once.
const LARGEST: usize = 500;

/// A walk through everything that a collection is read from.
pub(super) struct Merge<'a> {
    store: &'a dyn Store,
    query: &'a FeedQuery,
    filter: &'a Filter,
    /// From whom it pulls, each with where in the log the edge was made.
    pulled: &'a HashMap<Uid, Position>,
    /// What the owner's entries are, and then what those of the others are.
    sources: Vec<Source>,
    head_cache: BinaryHeap<(SortKey, usize)>,
    /// Everything that has arrived up to there is in it.
    pub(super) floor: Position,
}

/// The entries of one account that a collection is made of.
struct Source {
    owner: Uid,
    reasons: EntryReasons,
    rows: VecDeque<Entry>,
    after: Option<SortKey>,
    portion: usize,
    ended: bool,
}

impl Source {
    fn takes(&mut self, rows: Vec<Entry>, order: Order, asked: usize) {
        self.ended = rows.len() < asked;
        self.after = rows.last().map(|row| row.sort_key(order)).or(self.after);
        self.rows = rows.into();
    }

    fn is_dry(&self) -> bool {
        self.rows.is_empty() && !self.ended
    }
}

impl Feed {
    /// A walk through a collection's entries after that sort_key. `floor` was taken before.
    pub(super) async fn merge<'a>(
        &'a self,
        query: &'a FeedQuery,
        filter: &'a Filter,
        others: &'a PulledActors,
        after: Option<SortKey>,
        wanted: usize,
        floor: Position,
    ) -> Result<Merge<'a>, ReadError> {
        let source = |owner, reasons, portion| Source {
            owner,
            reasons,
            rows: VecDeque::new(),
            after,
            portion,
            ended: false,
        };
        let own = source(query.owner, query.collection.reasons(), wanted);
        let portion =
            (wanted * OPENING).div_ceil(others.merged.len().max(1)).clamp(SMALLEST, wanted.max(SMALLEST));
        let from = EntryReasons::default().with(EntryReason::Authored);
        let rest = others.merged.iter().map(|uid| source(*uid, from, portion));
        let mut merge = Merge {
            store: self.store.as_ref(),
            query,
            filter,
            pulled: &others.pulled,
            sources: [own].into_iter().chain(rest).collect(),
            head_cache: BinaryHeap::new(),
            floor,
        };
        // What is remembered is of everything; what is too old in it is left out like whatever else does not belong.
        let received = Range { since: None, ..filter.received };
        if after.is_none() && (Filter { received, ..filter.clone() }) == Filter::default() {
            merge.begin_with(&self.head_cache).await?;
        }
        Ok(merge)
    }
}

impl Merge<'_> {
    /// The next entries, so many at most; fewer mean that there are no more.
    pub(super) async fn next(&mut self, limit: usize) -> Result<Vec<Entry>, ReadError> {
        if let [own] = self.sources.as_mut_slice() {
            let slice = slice_of(own, self.query.order, self.filter, limit);
            let entries = self.store.slice(&slice).await?;
            own.after = entries.last().map(|entry| entry.sort_key(self.query.order)).or(own.after);
            return Ok(entries);
        }
        let mut entries = Vec::new();
        while entries.len() < limit {
            self.fill(limit - entries.len()).await?;
            let Some(entry) = self.take() else { break };
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Takes what is remembered of those who are pulled from; and what of them is read now, is.
    async fn begin_with(&mut self, head_cache: &HeadCache) -> Result<(), ReadError> {
        let (order, pulled) = (self.query.order, self.pulled);
        let wanted: Vec<Uid> =
            self.sources.iter().skip(1).map(|one| one.owner).filter(|uid| pulled.contains_key(uid)).collect();
        let found = head_cache.of(self.store, &wanted, order, self.floor).await?;
        for source in self.sources.iter_mut().skip(1) {
            if let Some(head) = found.get(&source.owner) {
                source.takes(head.rows.clone(), order, HeadCache::ROWS);
                self.floor = self.floor.min(head.floor);
            }
        }
        let sort_keys = self
            .sources
            .iter()
            .enumerate()
            .filter_map(|(number, source)| Some((source.rows.front()?.sort_key(order), number)));
        self.head_cache = sort_keys.collect();
        Ok(())
    }

    /// Sees to it that the next row of every source is there that has one.
    async fn fill(&mut self, wanted: usize) -> Result<(), ReadError> {
        let order = self.query.order;
        let dry: Vec<usize> =
            (0..).zip(&self.sources).filter(|(_, one)| one.is_dry()).map(|(number, _)| number).collect();
        if dry.is_empty() {
            return Ok(());
        }
        let mut slices = Vec::with_capacity(dry.len());
        for number in &dry {
            let Some(source) = self.sources.get_mut(*number) else { continue };
            // The owner's own entries are mostly what is wanted.
            let portion = if *number == 0 { wanted.max(SMALLEST) } else { source.portion };
            source.portion = (portion * OPENING).min(LARGEST);
            slices.push(slice_of(source, order, self.filter, portion.min(LARGEST)));
        }
        let found = self.store.slices(&slices).await?;
        let asked: Vec<usize> = slices.iter().map(|slice| slice.limit).collect();
        for ((number, rows), asked) in dry.into_iter().zip(found).zip(asked) {
            let Some(source) = self.sources.get_mut(number) else { continue };
            source.takes(rows, order, asked);
            self.head_cache.extend(source.rows.front().map(|row| (row.sort_key(order), number)));
        }
        Ok(())
    }

    /// The next entry: what the owner's entry says, brought up to what the actor's says.
    fn take(&mut self) -> Option<Entry> {
        let order = self.query.order;
        let (sort_key, _) = *self.head_cache.peek()?;
        let (mut mine, mut theirs) = (None, None);
        while let Some((_, number)) = self.head_cache.peek().copied().filter(|(same, _)| *same == sort_key) {
            self.head_cache.pop();
            let Some(source) = self.sources.get_mut(number) else { continue };
            let row = source.rows.pop_front();
            self.head_cache.extend(source.rows.front().map(|row| (row.sort_key(order), number)));
            match number {
                0 => mine = row,
                _ => theirs = row.map(|row| pulled(row, self.pulled)),
            }
        }
        match (mine, theirs) {
            (Some(mine), Some(theirs)) => Some(mine.overlaid_with(theirs)),
            (mine, theirs) => mine.or(theirs),
        }
    }
}

fn slice_of<'a>(source: &Source, order: Order, filter: &'a Filter, limit: usize) -> Slice<'a> {
    Slice { owner: source.owner, reasons: source.reasons, order, filter, after: source.after, limit }
}

/// What a follower finds of an entry among what somebody did. It arrives there where it was accepted, if it is pulled; else
/// it is still to arrive. That something ended is pushed.
pub(super) fn pulled(own: Entry, pulled: &HashMap<Uid, Position>) -> Entry {
    let is_pulled = own.pulled && !own.retracted && own.visibility != Visibility::Direct;
    let since = pulled.get(&own.actor).filter(|_| is_pulled);
    let arrived = own.arrived.filter(|at| since.is_some_and(|since| at > since));
    Entry { arrived, ..own.followed() }
}
