//! Entries: the rows of an account's collections.
//!
//! An entry is a hint. It has the values that filters and orders need, and no content. The activity's [`State`] is
//! the truth, and is checked before the activity is shown.

use crate::{ActivityId, Facet, Millis, Position, State, Uid, Version, Visibility};
use std::sync::Arc;

/// Why an entry is in a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryReason {
    /// The account is the actor.
    Authored,
    /// The account is a recipient.
    Addressed,
    /// The account follows the actor.
    Followed,
}

impl EntryReason {
    /// All reasons.
    pub const ALL: [EntryReason; 3] = [EntryReason::Authored, EntryReason::Addressed, EntryReason::Followed];

    /// The number in the store.
    pub fn number(self) -> u8 {
        match self {
            EntryReason::Authored => 0,
            EntryReason::Addressed => 1,
            EntryReason::Followed => 2,
        }
    }
}

/// A set of reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EntryReasons(u8);

impl EntryReasons {
    /// All reasons.
    pub const ALL: EntryReasons = EntryReasons(0b111);

    /// Whether the set contains a reason.
    pub fn contains(self, reason: EntryReason) -> bool {
        self.0 & (1 << reason.number()) != 0
    }

    /// The set with this reason added.
    #[must_use]
    pub fn with(self, reason: EntryReason) -> EntryReasons {
        EntryReasons(self.0 | 1 << reason.number())
    }

    /// The union of two sets.
    #[must_use]
    pub fn union(self, other: EntryReasons) -> EntryReasons {
        EntryReasons(self.0 | other.0)
    }

    /// The reasons in the set.
    pub fn iter(self) -> impl Iterator<Item = EntryReason> {
        EntryReason::ALL.into_iter().filter(move |reason| self.contains(*reason))
    }
}

impl FromIterator<EntryReason> for EntryReasons {
    fn from_iter<T: IntoIterator<Item = EntryReason>>(reasons: T) -> EntryReasons {
        reasons.into_iter().fold(EntryReasons::default(), EntryReasons::with)
    }
}

/// The time by which a collection is ordered: always newest first, ties by descending identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By the time of receipt.
    #[default]
    Received,
    /// By the time of publication.
    Published,
}

/// The place of an entry in an order: the time, then the identifier. The order is total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey {
    /// The ordering time.
    pub time: Millis,
    /// The identifier.
    pub id: ActivityId,
}

/// One activity in one account's collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The activity.
    pub id: ActivityId,
    /// Why it is in the collection.
    pub reasons: EntryReasons,
    /// Service, type and verb.
    pub facet: Arc<Facet>,
    /// When it was received.
    pub received: Millis,
    /// When it was published.
    pub published: Millis,
    /// The actor.
    pub actor: Uid,
    /// The version that was delivered.
    pub version: Version,
    /// The visibility of that version.
    pub visibility: Visibility,
    /// Whether that version retracts the entry: the activity was deleted, or no longer addresses the account.
    pub retracted: bool,
    /// The widest visibility of earlier versions of the entry; `None` if there was none.
    pub prior: Option<Visibility>,
    /// The position at which it arrived; `None` if it is not known yet.
    pub arrived: Option<Position>,
    /// Whether followers merge this entry at read time. Only an authored entry can be pulled.
    pub pulled: bool,
}

impl Entry {
    /// The entry of an activity in this state, for one reason.
    pub fn of(state: &State, reason: EntryReason, retracted: bool) -> Entry {
        Entry {
            id: state.id,
            reasons: EntryReasons::default().with(reason),
            facet: Arc::clone(&state.facet),
            received: state.received,
            published: state.published,
            actor: state.actor,
            version: state.version,
            visibility: state.visibility,
            retracted,
            prior: None,
            arrived: None,
            pulled: state.pulled && reason == EntryReason::Authored,
        }
    }

    /// The sort key in this order.
    pub fn sort_key(&self, order: Order) -> SortKey {
        let time = match order {
            Order::Received => self.received,
            Order::Published => self.published,
        };
        SortKey { time, id: self.id }
    }
}
