//! Who finds which activity where. Belonging is a function of the present state, never of the history of deliveries,
//! so it is the same on every engine and can be computed anew at any time.

use crate::{Account, Entry, EntryReason, EntryReasons, Millis, SortKey, State, Uid, Version, Visibility};

/// The three collections of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collection {
    /// What reaches the account.
    To,
    /// What the account did.
    From,
    /// Both, each activity once.
    ToFrom,
}

impl Collection {
    /// The last segment of its address.
    pub fn as_str(self) -> &'static str {
        match self {
            Collection::To => "to",
            Collection::From => "from",
            Collection::ToFrom => "tofrom",
        }
    }

    /// Reads that segment.
    pub fn parse(text: &str) -> Option<Collection> {
        [Collection::To, Collection::From, Collection::ToFrom].into_iter().find(|one| one.as_str() == text)
    }

    /// The reasons that it is made of.
    pub fn reasons(self) -> EntryReasons {
        match self {
            Collection::From => EntryReasons::default().with(EntryReason::Authored),
            Collection::To => {
                EntryReasons::default().with(EntryReason::Addressed).with(EntryReason::Followed)
            }
            Collection::ToFrom => EntryReasons::ALL,
        }
    }
}

/// One account follows another. An edge is a state with a version: unfollowing is a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Whether it follows now.
    pub following: bool,
    /// The version of this state.
    pub version: Version,
    /// When the edge was made.
    pub since: Millis,
    /// The oldest activity that following brought along: the followed account's 50th newest public one at that
    /// time, in the order of receipt. `None` if there were fewer: then all of them.
    pub from: Option<SortKey>,
}

impl Edge {
    /// Whether an activity of the followed account comes over this edge.
    fn brings(&self, received: SortKey, visibility: Visibility) -> bool {
        let after = received.time >= self.since;
        let brought_along = self.from.is_none_or(|oldest| received >= oldest);
        self.following
            && match visibility {
                Visibility::Public => after || brought_along,
                Visibility::Followers => after,
                Visibility::Direct => false,
            }
    }
}

/// In which of an account's collections an activity is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// The account did it.
    pub from: bool,
    /// It reaches the account.
    pub to: bool,
}

impl Membership {
    /// Whether that collection has it.
    pub fn is_in(self, collection: Collection) -> bool {
        match collection {
            Collection::To => self.to,
            Collection::From => self.from,
            Collection::ToFrom => self.to || self.from,
        }
    }
}

/// Where an activity belongs in the collections of `owner`. `edge` is the owner's to the actor, `removed` whether the
/// owner took the activity out of what reaches them.
pub fn belongs(state: &State, owner: Uid, edge: Option<&Edge>, removed: bool) -> Membership {
    if state.deleted {
        return Membership::default();
    }
    let received = SortKey { time: state.received, id: state.id };
    let reaches =
        state.addressed.contains(&owner) || edge.is_some_and(|e| e.brings(received, state.visibility));
    Membership { from: state.actor == owner, to: reaches && !removed }
}

/// The same by what an entry knows: for skipping over entries without reading the state of each. It says what
/// [`belongs`] says once every delivery is done.
pub fn entry_belongs(entry: &Entry, owner: Uid, edge: Option<&Edge>, removed: bool) -> Membership {
    if entry.retracted {
        return Membership::default();
    }
    let received = SortKey { time: entry.received, id: entry.id };
    let reaches = entry.reasons.contains(EntryReason::Addressed)
        || entry.reasons.contains(EntryReason::Followed)
            && edge.is_some_and(|e| e.brings(received, entry.visibility));
    Membership {
        from: entry.reasons.contains(EntryReason::Authored) && entry.actor == owner,
        to: reaches && !removed,
    }
}

/// Who reads a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The account itself, or an operator on its behalf.
    Owner,
    /// Somebody else, in the collection of a public account.
    Other {
        /// Who.
        uid: Uid,
        /// Whether they follow the account whose collection it is.
        follows_owner: bool,
    },
}

/// Whether `reader` may see an activity that is in a collection of `owner`.
pub fn may_see(reader: Reader, owner: Uid, state: &State, actor: &Account) -> bool {
    if actor.removed {
        return false;
    }
    match reader {
        Reader::Owner => true,
        Reader::Other { uid, follows_owner } => {
            let public = state.visibility == Visibility::Public && actor.public;
            let follower = state.visibility == Visibility::Followers && state.actor == owner && follows_owner;
            public || follower || state.actor == uid || state.addressed.contains(&uid)
        }
    }
}
