//! Entries: what an account's collection is made of in the store.
//!
//! An entry is a hint. It carries what filters, orders and skips need, and nothing that is shown; the activity's
//! [`State`] is the truth, and what is shown is checked against it once more.

use crate::{ActivityId, Facet, Millis, Position, State, Uid, Version, Visibility};

/// Why an entry is in a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryReason {
    /// The account did it.
    Authored,
    /// It addresses the account.
    Addressed,
    /// The account follows who did it.
    Followed,
}

impl EntryReason {
    /// All of them.
    pub const ALL: [EntryReason; 3] = [EntryReason::Authored, EntryReason::Addressed, EntryReason::Followed];

    /// Its number in the store.
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
    /// Every box.
    pub const ALL: EntryReasons = EntryReasons(0b111);

    /// Whether the box is among them.
    pub fn contains(self, one: EntryReason) -> bool {
        self.0 & (1 << one.number()) != 0
    }

    /// With this box too.
    #[must_use]
    pub fn with(self, one: EntryReason) -> EntryReasons {
        EntryReasons(self.0 | 1 << one.number())
    }

    /// With all of these too.
    #[must_use]
    pub fn union(self, other: EntryReasons) -> EntryReasons {
        EntryReasons(self.0 | other.0)
    }

    /// The reasons in it.
    pub fn iter(self) -> impl Iterator<Item = EntryReason> {
        EntryReason::ALL.into_iter().filter(move |one| self.contains(*one))
    }
}

impl FromIterator<EntryReason> for EntryReasons {
    fn from_iter<T: IntoIterator<Item = EntryReason>>(reasons: T) -> EntryReasons {
        reasons.into_iter().fold(EntryReasons::default(), EntryReasons::with)
    }
}

/// By which time a collection is ordered; always newest first, ties by identifier, descending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By the time of receipt.
    #[default]
    Received,
    /// By the time of publication.
    Published,
}

/// A sort_key in an ordered collection: time in that order, then identifier. The order is total.
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
    /// In which reasons of the account it is.
    pub reasons: EntryReasons,
    /// Service, type and verb.
    pub facet: Facet,
    /// When it was received.
    pub received: Millis,
    /// When it was published.
    pub published: Millis,
    /// Who did it.
    pub actor: Uid,
    /// The version that was delivered.
    pub version: Version,
    /// Who may see that version.
    pub visibility: Visibility,
    /// That version is one that does not belong here any more (deleted, or no longer addressed).
    pub retracted: bool,
    /// Who could see a version that was here before it, taken widely; `None` if none was.
    pub prior: Option<Visibility>,
    /// Where in the delivery log it arrived; `None` while that is not known.
    pub arrived: Option<Position>,
    /// Followers find it here. Only an entry among what an account did says so.
    pub pulled: bool,
}

impl Entry {
    /// What a collection is told of an activity in that state, in a box of its own.
    pub fn of(state: &State, into: EntryReason, retracted: bool) -> Entry {
        Entry {
            id: state.id,
            reasons: EntryReasons::default().with(into),
            facet: state.facet.clone(),
            received: state.received,
            published: state.published,
            actor: state.actor,
            version: state.version,
            visibility: state.visibility,
            retracted,
            prior: None,
            arrived: None,
            pulled: state.pulled && into == EntryReason::Authored,
        }
    }

    /// Where it stands in that order.
    pub fn sort_key(&self, order: Order) -> SortKey {
        let time = match order {
            Order::Received => self.received,
            Order::Published => self.published,
        };
        SortKey { time, id: self.id }
    }
}
