//! Clients: pollers walk a collection and then request updates; streams walk it and then receive events. Each records
//! the items it was shown, and beside them the items that the naive model expects.

use super::learning::Change;
use super::naive::Naive;
use super::sequence::{Broken, Looker};
use model::{Account, ActivityId, FeedQuery, Reader, Start, Uid, Version, may_see};
use std::collections::{BTreeMap, HashMap, HashSet};
use tofrom::feed::Item;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Poller,
    Stream,
}

/// A version of an activity.
pub(crate) type Seen = (ActivityId, Version);

/// How an activity became visible to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// It arrived: the client must be shown it.
    ByArrival,
    /// Its visibility changed, which causes no arrival: a stream is told to resync, a poller is not.
    Silently,
}

pub(crate) struct Client {
    pub(crate) sort: Sort,
    pub(crate) uid: Uid,
    pub(crate) query: FeedQuery,
    /// Versions that the client may see now.
    pub(crate) visible: HashMap<Seen, Came>,
    /// How often each version became visible.
    pub(crate) came: HashMap<Seen, usize>,
    /// Activities that have ever been in the collection.
    was_there: HashSet<ActivityId>,
    /// Activities that the reader could ever have read if all actors had been public and the reader had followed the
    /// owner.
    was_open: HashSet<ActivityId>,
    /// How often each version was shown.
    pub(crate) shown: HashMap<Seen, usize>,
    /// The collection as the client knows it.
    pub(crate) view: BTreeMap<ActivityId, Version>,
    /// Where the client continues; `None` before its first read.
    pub(crate) start: Option<Start>,
    /// The reader's relation to the owner at the last read.
    pub(crate) reader: Option<Reader>,
}

impl Client {
    pub(crate) fn new(looker: &Looker, naive: &Naive) -> Client {
        let query = FeedQuery {
            owner: naive.account(looker.owner).uid,
            collection: looker.collection,
            filter: looker.filter.clone(),
            order: looker.order,
            start: Start::Skip(0),
            count: 1,
            format: None,
        };
        Client {
            sort: looker.sort,
            uid: naive.account(looker.reader).uid,
            query,
            visible: HashMap::new(),
            came: HashMap::new(),
            was_there: HashSet::new(),
            was_open: HashSet::new(),
            shown: HashMap::new(),
            view: BTreeMap::new(),
            start: None,
            reader: None,
        }
    }

    /// Updates the expectation after a change.
    pub(crate) fn notice(&mut self, naive: &Naive, change: Change) {
        let owner = self.query.owner;
        let came = match change {
            Change::Activity => Came::ByArrival,
            Change::Edge(follower) if follower == owner => Came::ByArrival,
            Change::Edge(_) | Change::Account => Came::Silently,
        };
        let reader = naive.reader(self.uid, owner);
        // The same reader, as if they followed the owner.
        let friend = match reader {
            Reader::Owner => Reader::Owner,
            Reader::Other { uid, .. } => Reader::Other { uid, follows_owner: true },
        };
        for state in naive.states.values() {
            let (seen, actor) = ((state.id, state.version), naive.actor(state));
            let there = naive.has(&self.query, state);
            if there {
                self.was_there.insert(state.id);
            }
            if !state.deleted && may_see(friend, owner, state, &Account { public: true, ..actor.clone() }) {
                self.was_open.insert(state.id);
            }
            let visible = there && may_see(reader, owner, state, actor);
            // Older versions are no longer visible, and perhaps this one is not either.
            self.visible.retain(|(id, version), _| *id != state.id || visible && *version == state.version);
            if visible && !self.visible.contains_key(&seen) {
                self.visible.insert(seen, came);
                *self.came.entry(seen).or_default() += 1;
            }
        }
    }

    /// Handles a retraction: the activity must have been in the collection and readable at some time, but not
    /// necessarily at the same time. A stream may skip versions between two reads, and no history of them is kept.
    pub(crate) fn lose(&mut self, id: ActivityId) -> Result<(), Broken> {
        if !self.was_there.contains(&id) || !self.was_open.contains(&id) {
            return Err(format!("{self} is told of the end of {id}, which it never could see"));
        }
        self.view.remove(&id);
        Ok(())
    }

    pub(crate) fn see(&mut self, item: &Item) -> Result<(), Broken> {
        let seen = (item.state.id, item.state.version);
        if !self.visible.contains_key(&seen) {
            return Err(format!("{self} is shown {:?}, which is not there for it", item.state));
        }
        *self.shown.entry(seen).or_default() += 1;
        self.view.insert(seen.0, seen.1);
        Ok(())
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Client { sort, uid, query, .. } = self;
        let (owner, collection) = (query.owner.0, query.collection.as_str());
        write!(f, "the {sort:?} of account {} in {collection} of {owner}", uid.0)
    }
}
