//! A k-way merge of a collection's own entries with those of its pulled actors.
//!
//! Every input yields its newest entries first. All inputs are opened with a small batch in one request; an input whose
//! batch is used up is refilled when the merge needs its next entry.

use super::pulled_actors::PulledActors;
use super::{Feed, ReadError};
use model::{
    Entry, EntryReason, EntryReasons, FeedQuery, Filter, Order, Position, Range, SortKey, Uid, Visibility,
};
use moka::sync::Cache;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use store::{Result as StoreResult, Slice, Store};

/// Entries read at the start from all pulled actors together, per entry needed; also the growth of later batches.
const READ_AHEAD: usize = 4;
/// Bounds of a batch.
const MIN_BATCH: usize = 4;
const MAX_BATCH: usize = 500;
/// Maximum number of cached heads.
const MAX_HEADS: u64 = 10_000;

/// The merged entries of a collection.
pub(super) struct Merge<'a> {
    store: &'a dyn Store,
    query: &'a FeedQuery,
    filter: &'a Filter,
    /// The pulled actors, each with the position of the edge.
    pulled: &'a HashMap<Uid, Position>,
    /// The owner's entries first, then those of the other actors.
    inputs: Vec<Input>,
    /// The next sort key of every input that has rows, with the input's index.
    heads: BinaryHeap<(SortKey, usize)>,
    /// All arrivals up to this position are in the merge.
    pub(super) floor: Position,
}

/// The entries of one account.
struct Input {
    owner: Uid,
    reasons: EntryReasons,
    rows: VecDeque<Entry>,
    after: Option<SortKey>,
    batch: usize,
    ended: bool,
}

impl Input {
    fn refill(&mut self, rows: Vec<Entry>, order: Order, limit: usize) {
        self.ended = rows.len() < limit;
        self.after = rows.last().map(|row| row.sort_key(order)).or(self.after);
        self.rows = rows.into();
    }

    fn needs_refill(&self) -> bool {
        self.rows.is_empty() && !self.ended
    }
}

impl Feed {
    /// Merges the collection's entries after that sort key. The caller must have read `floor` before.
    pub(super) async fn merge<'a>(
        &'a self,
        query: &'a FeedQuery,
        filter: &'a Filter,
        actors: &'a PulledActors,
        after: Option<SortKey>,
        limit: usize,
        floor: Position,
    ) -> Result<Merge<'a>, ReadError> {
        let input = |owner, reasons, batch| Input {
            owner,
            reasons,
            rows: VecDeque::new(),
            after,
            batch,
            ended: false,
        };
        let own = input(query.owner, query.collection.reasons(), limit);
        let batch =
            (limit * READ_AHEAD).div_ceil(actors.merged.len().max(1)).clamp(MIN_BATCH, limit.max(MIN_BATCH));
        let authored = EntryReasons::default().with(EntryReason::Authored);
        let rest = actors.merged.iter().map(|uid| input(*uid, authored, batch));
        let mut merge = Merge {
            store: self.store.as_ref(),
            query,
            filter,
            pulled: &actors.pulled,
            inputs: [own].into_iter().chain(rest).collect(),
            heads: BinaryHeap::new(),
            floor,
        };
        // Cached heads are unfiltered. Entries that are too old are dropped later, with those that do not belong.
        let received = Range { since: None, ..filter.received };
        if after.is_none() && (Filter { received, ..filter.clone() }) == Filter::default() {
            merge.load_cached_heads(&self.head_cache).await?;
        }
        Ok(merge)
    }
}

impl Merge<'_> {
    /// The next entries, at most `limit`. Fewer than `limit` mean that the merge has ended.
    pub(super) async fn next(&mut self, limit: usize) -> Result<Vec<Entry>, ReadError> {
        if let [own] = self.inputs.as_mut_slice() {
            let slice = slice_of(own, self.query.order, self.filter, limit);
            let entries = self.store.slice(&slice).await?;
            own.after = entries.last().map(|entry| entry.sort_key(self.query.order)).or(own.after);
            return Ok(entries);
        }
        let mut entries = Vec::new();
        while entries.len() < limit {
            self.refill(limit - entries.len()).await?;
            let Some(entry) = self.pop() else { break };
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Fills the inputs of pulled actors from the cache, which reads the missing ones.
    async fn load_cached_heads(&mut self, head_cache: &HeadCache) -> Result<(), ReadError> {
        let (order, pulled) = (self.query.order, self.pulled);
        let owners = self.inputs.iter().skip(1).map(|input| input.owner);
        let actors: Vec<Uid> = owners.filter(|uid| pulled.contains_key(uid)).collect();
        let found = head_cache.of(self.store, &actors, order, self.floor).await?;
        for input in self.inputs.iter_mut().skip(1) {
            if let Some(head) = found.get(&input.owner) {
                input.refill(head.rows.clone(), order, HeadCache::ROWS);
                self.floor = self.floor.min(head.floor);
            }
        }
        let sort_keys = self
            .inputs
            .iter()
            .enumerate()
            .filter_map(|(index, input)| Some((input.rows.front()?.sort_key(order), index)));
        self.heads = sort_keys.collect();
        Ok(())
    }

    /// Refills the head of every input that is not exhausted.
    async fn refill(&mut self, needed: usize) -> Result<(), ReadError> {
        let order = self.query.order;
        let empty: Vec<usize> = (0..)
            .zip(&self.inputs)
            .filter(|(_, input)| input.needs_refill())
            .map(|(index, _)| index)
            .collect();
        if empty.is_empty() {
            return Ok(());
        }
        let mut slices = Vec::with_capacity(empty.len());
        for index in &empty {
            let Some(input) = self.inputs.get_mut(*index) else { continue };
            // Most items of a page come from the owner's own entries.
            let batch = if *index == 0 { needed.max(MIN_BATCH) } else { input.batch };
            input.batch = (batch * READ_AHEAD).min(MAX_BATCH);
            slices.push(slice_of(input, order, self.filter, batch.min(MAX_BATCH)));
        }
        let found = self.store.slices(&slices).await?;
        let limits: Vec<usize> = slices.iter().map(|slice| slice.limit).collect();
        for ((index, rows), limit) in empty.into_iter().zip(found).zip(limits) {
            let Some(input) = self.inputs.get_mut(index) else { continue };
            input.refill(rows, order, limit);
            self.heads.extend(input.rows.front().map(|row| (row.sort_key(order), index)));
        }
        Ok(())
    }

    /// The next entry: the owner's entry, overlaid with the actor's.
    fn pop(&mut self) -> Option<Entry> {
        let order = self.query.order;
        let (sort_key, _) = *self.heads.peek()?;
        let (mut mine, mut theirs) = (None, None);
        while let Some((_, index)) = self.heads.peek().copied().filter(|(same, _)| *same == sort_key) {
            self.heads.pop();
            let Some(input) = self.inputs.get_mut(index) else { continue };
            let row = input.rows.pop_front();
            self.heads.extend(input.rows.front().map(|row| (row.sort_key(order), index)));
            match index {
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

fn slice_of<'a>(input: &Input, order: Order, filter: &'a Filter, limit: usize) -> Slice<'a> {
    Slice { owner: input.owner, reasons: input.reasons, order, filter, after: input.after, limit }
}

/// A follower's view of an actor's own entry. A pulled entry arrives at the position of its acceptance. Any other entry
/// has not arrived yet: it will be pushed. Retractions are always pushed.
pub(super) fn pulled(own: Entry, pulled: &HashMap<Uid, Position>) -> Entry {
    let is_pulled = own.pulled && !own.retracted && own.visibility != Visibility::Direct;
    let since = pulled.get(&own.actor).filter(|_| is_pulled);
    let arrived = own.arrived.filter(|at| since.is_some_and(|since| at > since));
    Entry { arrived, ..own.followed() }
}

/// The newest entries of pulled actors, cached for a short time because many followers read them concurrently. `None`
/// inside: caching is off.
///
/// A cached head has a floor: it contains all arrivals up to there. A page that shows it carries a sync token with that
/// floor, so that the next poll reports later arrivals.
pub struct HeadCache(Option<Cache<(Uid, Order), Arc<Head>>>);

/// The newest entries of one actor.
struct Head {
    /// All arrivals up to this position are in `rows`.
    floor: Position,
    rows: Vec<Entry>,
}

impl HeadCache {
    /// Entries cached per actor.
    const ROWS: usize = 21;

    /// A cache with that TTL; zero turns caching off.
    pub(super) fn new(ttl: Duration) -> HeadCache {
        let cache = || Cache::builder().max_capacity(MAX_HEADS).time_to_live(ttl).build();
        HeadCache((!ttl.is_zero()).then(cache))
    }

    /// Invalidates the heads of these actors, after an arrival.
    pub fn forget(&self, uids: &[Uid]) {
        let Some(cache) = &self.0 else { return };
        for uid in uids {
            for order in [Order::Received, Order::Published] {
                cache.invalidate(&(*uid, order));
            }
        }
    }

    /// The heads of these actors. The caller must have read `floor` before.
    async fn of(
        &self,
        store: &dyn Store,
        uids: &[Uid],
        order: Order,
        floor: Position,
    ) -> StoreResult<HashMap<Uid, Arc<Head>>> {
        let cached = |uid: &Uid| Some((*uid, self.0.as_ref()?.get(&(*uid, order))?));
        let mut found: HashMap<Uid, Arc<Head>> = uids.iter().filter_map(cached).collect();
        let missing: Vec<Uid> = uids.iter().copied().filter(|uid| !found.contains_key(uid)).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        let filter = Filter::default();
        let slice = |owner: &Uid| Slice::own(*owner, order, &filter, None, HeadCache::ROWS);
        let slices: Vec<_> = missing.iter().map(slice).collect();
        for (uid, rows) in missing.into_iter().zip(store.slices(&slices).await?) {
            let head = Arc::new(Head { floor, rows });
            if let Some(cache) = &self.0 {
                cache.insert((uid, order), Arc::clone(&head));
            }
            found.insert(uid, head);
        }
        Ok(found)
    }
}
