//! Entries: what an account's collection is made of in the store.
//!
//! An entry is a hint. It carries what filters, orders and skips need, and nothing that is shown; the activity's
//! [`State`] is the truth, and what is shown is checked against it once more.

use crate::{ActivityId, Facet, Millis, Position, State, Uid, Version, Visibility};

/// Why an entry is in a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Box {
    /// The account did it.
    From,
    /// It addresses the account.
    Addressed,
    /// The account follows who did it.
    Followed,
}

impl Box {
    /// All of them.
    pub const ALL: [Box; 3] = [Box::From, Box::Addressed, Box::Followed];

    /// Its number in the store.
    pub fn number(self) -> u8 {
        match self {
            Box::From => 0,
            Box::Addressed => 1,
            Box::Followed => 2,
        }
    }
}

/// A set of boxes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Boxes(u8);

impl Boxes {
    /// Every box.
    pub const ALL: Boxes = Boxes(0b111);

    /// Whether the box is among them.
    pub fn contains(self, one: Box) -> bool {
        self.0 & (1 << one.number()) != 0
    }

    /// With this box too.
    #[must_use]
    pub fn with(self, one: Box) -> Boxes {
        Boxes(self.0 | 1 << one.number())
    }

    /// With all of these too.
    #[must_use]
    pub fn union(self, other: Boxes) -> Boxes {
        Boxes(self.0 | other.0)
    }

    /// The boxes in it.
    pub fn iter(self) -> impl Iterator<Item = Box> {
        Box::ALL.into_iter().filter(move |one| self.contains(*one))
    }
}

impl FromIterator<Box> for Boxes {
    fn from_iter<T: IntoIterator<Item = Box>>(boxes: T) -> Boxes {
        boxes.into_iter().fold(Boxes::default(), Boxes::with)
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

/// A spot in an ordered collection: time in that order, then identifier. The order is total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
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
    /// In which boxes of the account it is.
    pub boxes: Boxes,
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
    pub gone: bool,
    /// Who could see a version that was here before it, taken widely; `None` if none was.
    pub formerly: Option<Visibility>,
    /// Where in the delivery log it arrived; `None` while that is not known.
    pub arrived: Option<Position>,
    /// Followers find it here. Only an entry among what an account did says so.
    pub pulled: bool,
}

impl Entry {
    /// What a collection is told of an activity in that state, in a box of its own.
    pub fn of(state: &State, into: Box, gone: bool) -> Entry {
        Entry {
            id: state.id,
            boxes: Boxes::default().with(into),
            facet: state.facet.clone(),
            received: state.received,
            published: state.published,
            actor: state.actor,
            version: state.version,
            visibility: state.visibility,
            gone,
            formerly: None,
            arrived: None,
            pulled: state.pulled && into == Box::From,
        }
    }

    /// Where it stands in that order.
    pub fn spot(&self, order: Order) -> Spot {
        let time = match order {
            Order::Received => self.received,
            Order::Published => self.published,
        };
        Spot { time, id: self.id }
    }
}
