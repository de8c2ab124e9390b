//! Belonging: whether an activity is in a collection. It is a function of the current state, never of the history of
//! deliveries. So it is the same on every engine and can be computed at any time.

use crate::{
    Account, EdgeFilter, Entry, EntryReason, EntryReasons, Facet, Millis, Relation, SortKey, State, Uid,
    Version, Visibility,
};

/// The three collections of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collection {
    /// Activities that address the account, or whose actor it follows.
    To,
    /// Activities of the account.
    From,
    /// Both, without duplicates.
    ToFrom,
}

impl Collection {
    /// All collections.
    pub const ALL: [Collection; 3] = [Collection::To, Collection::From, Collection::ToFrom];

    /// The last path segment of its URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Collection::To => "to",
            Collection::From => "from",
            Collection::ToFrom => "tofrom",
        }
    }

    /// Parses the path segment.
    pub fn parse(text: &str) -> Option<Collection> {
        Collection::ALL.into_iter().find(|collection| collection.as_str() == text)
    }

    /// The reasons of its entries.
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

/// An edge: one account follows another. It is a versioned state, and unfollowing is a later version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Whether the edge is live.
    pub following: bool,
    /// The version of this state.
    pub version: Version,
    /// When the edge was created.
    pub since: Millis,
    /// The oldest activity of the backfill: at that time the followee's 50th newest public one, by time of receipt.
    /// `None` if there were fewer: then all of them are backfilled.
    pub from: Option<SortKey>,
    /// The activities that come through the edge. It is checked at read time only, so that another filter finds the
    /// entries that it needs.
    pub filter: EdgeFilter,
    /// The version of the filter. A filter is replaced without a new version of the edge.
    pub filter_version: Version,
}

impl Edge {
    /// A new edge without a filter.
    pub fn new(version: Version, since: Millis, from: Option<SortKey>) -> Edge {
        let filter = EdgeFilter::default();
        Edge { following: true, version, since, from, filter, filter_version: version }
    }

    /// Whether an activity of the followee belongs to the follower by this edge.
    fn includes(&self, received: SortKey, visibility: Visibility, facet: &Facet) -> bool {
        self.brings(received, visibility) && self.filter.selects(facet)
    }

    /// Whether the edge brings an activity of the followee, without regard to its filter.
    pub fn brings(&self, received: SortKey, visibility: Visibility) -> bool {
        let after = received.time >= self.since;
        let backfilled = self.from.is_none_or(|oldest| received >= oldest);
        self.following
            && match visibility {
                Visibility::Public => after || backfilled,
                Visibility::Followers => after,
                Visibility::Direct => false,
            }
    }
}

/// The collections of an account that contain an activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// It is in `from`: the account is the actor.
    pub from: bool,
    /// It is in `to`.
    pub to: bool,
}

impl Membership {
    /// Whether this collection contains it.
    pub fn is_in(self, collection: Collection) -> bool {
        match collection {
            Collection::To => self.to,
            Collection::From => self.from,
            Collection::ToFrom => self.to || self.from,
        }
    }
}

/// The membership of an activity in the collections of `owner`. `edge` is the owner's edge to the actor, and
/// `relation` the owner's relation to the actor. `removed`: the owner removed the activity from their `to`.
pub fn belongs(
    state: &State,
    owner: Uid,
    edge: Option<&Edge>,
    removed: bool,
    relation: Relation,
) -> Membership {
    if state.deleted {
        return Membership::default();
    }
    let received = SortKey { time: state.received, id: state.id };
    let followed = edge.is_some_and(|edge| edge.includes(received, state.visibility, &state.facet));
    let to = reaches(state.addressed.contains(&owner), followed, removed, relation);
    Membership { from: state.actor == owner, to }
}

/// The membership according to an entry, to skip entries without reading their states. Equal to [`belongs`] once
/// every delivery is done.
pub fn entry_belongs(
    entry: &Entry,
    owner: Uid,
    edge: Option<&Edge>,
    removed: bool,
    relation: Relation,
) -> Membership {
    if entry.retracted {
        return Membership::default();
    }
    let received = SortKey { time: entry.received, id: entry.id };
    let followed = entry.reasons.contains(EntryReason::Followed)
        && edge.is_some_and(|edge| edge.includes(received, entry.visibility, &entry.facet));
    let to = reaches(entry.reasons.contains(EntryReason::Addressed), followed, removed, relation);
    Membership { from: entry.reasons.contains(EntryReason::Authored) && entry.actor == owner, to }
}

/// Whether an activity is in `to`. A block between the two accounts ends their edges, also one that a concurrent
/// request has just created.
fn reaches(addressed: bool, followed: bool, removed: bool, relation: Relation) -> bool {
    let Relation { blocks, mutes, blocked_by } = relation;
    (addressed || followed && !blocked_by) && !removed && !blocks && !mutes
}

/// The reader of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reader {
    /// The account itself, or an operator acting for it.
    Owner,
    /// Another account, which reads the collection of a public account.
    Other {
        /// The reader.
        uid: Uid,
        /// Whether the reader follows the owner of the collection.
        follows_owner: bool,
        /// The version of the latest change of any block of the reader; zero if there never was one. An open stream
        /// sees by it that the reader's rights have changed.
        blocks: Version,
    },
}

/// Whether `reader` may see an activity that is in a collection of `owner`. `blocked`: the actor blocks the reader, and
/// looks private to them.
pub fn may_see(reader: Reader, owner: Uid, state: &State, actor: &Account, blocked: bool) -> bool {
    if actor.removed {
        return false;
    }
    match reader {
        Reader::Owner => true,
        Reader::Other { uid, follows_owner, .. } => {
            let public = state.visibility == Visibility::Public && actor.public && !blocked;
            let follower = state.visibility == Visibility::Followers && state.actor == owner && follows_owner;
            let follower = follower && !blocked;
            public || follower || state.actor == uid || state.addressed.contains(&uid)
        }
    }
}
