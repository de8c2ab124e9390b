//! The interface of collections, and the merging of entries, which is the same on all engines.

use crate::Result;
use async_trait::async_trait;
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReasons, Filter, Millis, Order, Position, SortKey, Uid, Version,
    Visibility,
};

/// A request for an ordered part of an account's entries, newest first.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// The account.
    pub owner: Uid,
    /// Only entries with any of these reasons.
    pub reasons: EntryReasons,
    /// The time to order by.
    pub order: Order,
    /// The filter. The range of the ordering time is applied exactly. The engine applies the rest only as far as that
    /// is cheap, and may return entries that do not match.
    pub filter: &'a Filter,
    /// Only entries after this sort key.
    pub after: Option<SortKey>,
    /// The maximum number of entries.
    pub limit: usize,
}

impl<'a> Slice<'a> {
    /// A slice of the authored entries of an account.
    pub fn own(
        owner: Uid,
        order: Order,
        filter: &'a Filter,
        after: Option<SortKey>,
        limit: usize,
    ) -> Slice<'a> {
        Slice {
            owner,
            reasons: EntryReasons::default().with(model::EntryReason::Authored),
            order,
            filter,
            after,
            limit,
        }
    }
}

/// An arrival in a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A version of an activity, or its retraction.
    Entry(Entry),
    /// A change that has no entry, of an edge or of a visibility, at this position.
    Change(Position),
}

/// Collections: delivered entries by each of two times, and by arrival.
#[async_trait]
pub trait Feeds: Send + Sync {
    /// Writes entries into collections, one row per reason of an entry. All arrive at `at`; the `arrived` of the
    /// entries is ignored. Each row is a register, so an engine need not read before it writes. Of two writes of a
    /// row the later version wins. Of equal versions the later position wins, and at the same position the wider
    /// prior visibility. After an error some entries may be written: the caller repeats all of them.
    async fn deliver(&self, at: Position, deliveries: Vec<(Uid, Entry)>) -> Result<()>;

    /// A slice of a collection, in order. An activity that has several of the requested reasons appears once, with
    /// all of them. If its rows differ, it is retracted only if all rows are; its reasons are those of the rows that
    /// are not retracted; everything else comes from the latest row. Fewer entries than the limit means that there
    /// are no more.
    async fn slice(&self, slice: &Slice<'_>) -> Result<Vec<Entry>>;

    /// Reads several slices. An engine may combine reads of adjacent data.
    async fn slices(&self, slices: &[Slice<'_>]) -> Result<Vec<Vec<Entry>>> {
        futures::future::try_join_all(slices.iter().map(|slice| self.slice(slice))).await
    }

    /// Removes the followed rows of these entries from the owner's collection, each only if the stored row has the same
    /// version and position: a later delivery of the same version stays.
    async fn remove_followed(&self, owner: Uid, entries: &[Entry]) -> Result<()>;

    /// Records a change without an entry for these accounts, at this position of the log.
    async fn note_changes(&self, at: Position, owners: &[Uid]) -> Result<()>;

    /// Arrivals after `after`, up to and including `floor`, ordered by position and identifier. An activity appears
    /// once per position, with all reasons for which it arrived there. A change is the last arrival of its position.
    /// Fewer arrivals than the limit means that there are no more.
    async fn arrivals(
        &self,
        owner: Uid,
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Arrival>>;

    /// The arrivals of authored entries only, without changes, for each of these accounts; otherwise as in
    /// [`arrivals`](Feeds::arrivals). Returns one list per account. A list with fewer entries than the limit is
    /// complete.
    async fn own_arrivals(
        &self,
        owners: &[Uid],
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Vec<Entry>>>;

    /// Records that the owner removed an activity from their `to`, and appends a task to the log. `received` is the
    /// time of receipt of the activity. Returns the position of the task. `None`: it was removed before.
    async fn remove(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
        version: Version,
    ) -> Result<Option<Position>>;

    /// Whether the owner removed each of these activities (identifier, time of receipt).
    async fn removed(&self, owner: Uid, items: &[(ActivityId, Millis)]) -> Result<Vec<bool>>;
}

/// Merges two entries of one activity in one collection that have different reasons.
///
/// The result is retracted only if both entries are. It has the reasons of the entries that are not retracted: an
/// activity that no longer addresses its reader may still be followed. Of those entries the wider visibility counts,
/// because the state is checked before the activity is shown. The wider prior visibility counts too. The result is
/// pulled if either entry is; only an authored entry can be. Everything else comes from the later entry. The order of
/// the arguments does not matter.
pub(crate) fn merge_entries(a: Entry, b: Entry) -> Entry {
    let (reasons, retracted, visibility) = match (a.retracted, b.retracted) {
        (false, true) => (a.reasons, false, a.visibility),
        (true, false) => (b.reasons, false, b.visibility),
        (retracted, _) => (a.reasons.union(b.reasons), retracted, a.visibility.min(b.visibility)),
    };
    let prior = Visibility::wider(a.prior, b.prior);
    let pulled = a.pulled || b.pulled;
    let latest = if (b.version, b.arrived) > (a.version, a.arrived) { b } else { a };
    Entry { reasons, retracted, visibility, prior, pulled, ..latest }
}
