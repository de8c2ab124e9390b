//! Clients: pollers walk a collection and then request updates; streams walk it and then receive events. Each records
//! the items it was shown, and beside them the items that the naive model expects.

use super::naive_model::NaiveModel;
use super::reconcile::Change;
use super::sequence::{ClientSpec, Violation};
use domain::feed::Item;
use model::{Account, ActivityId, FeedQuery, Reader, Start, Uid, Version, may_see};
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    Poller,
    Stream,
}

/// A version of an activity.
pub(crate) type ActivityVersion = (ActivityId, Version);

/// How an activity became visible to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appearance {
    /// It arrived: the client must be shown it.
    ByArrival,
    /// Its visibility changed, which causes no arrival: a stream receives a reset, a poller does not.
    WithoutArrival,
}

pub(crate) struct FeedClient {
    pub(crate) kind: ClientKind,
    pub(crate) uid: Uid,
    pub(crate) query: FeedQuery,
    /// Versions that the client may see now.
    pub(crate) visible: HashMap<ActivityVersion, Appearance>,
    /// How often each version became visible.
    pub(crate) appeared: HashMap<ActivityVersion, usize>,
    /// Activities that have ever been in the collection, or would have been without blocks, mutes and edge filters.
    was_in_collection: HashSet<ActivityId>,
    /// Activities that the reader could ever have read if all actors had been public and the reader had followed the
    /// owner.
    was_readable: HashSet<ActivityId>,
    /// How often each version was shown.
    pub(crate) shown: HashMap<ActivityVersion, usize>,
    /// The collection as the client knows it.
    pub(crate) view: BTreeMap<ActivityId, Version>,
    /// Where the client continues; `None` before its first read.
    pub(crate) start: Option<Start>,
    /// The reader's relation to the owner at the last read.
    pub(crate) reader: Option<Reader>,
}

impl FeedClient {
    pub(crate) fn new(spec: &ClientSpec, naive: &NaiveModel) -> FeedClient {
        let query = FeedQuery {
            owner: naive.account(spec.owner).uid,
            collection: spec.collection,
            filter: spec.filter.clone(),
            order: spec.order,
            start: Start::Skip(0),
            count: 1,
            format: None,
        };
        FeedClient {
            kind: spec.kind,
            uid: naive.account(spec.reader).uid,
            query,
            visible: HashMap::new(),
            appeared: HashMap::new(),
            was_in_collection: HashSet::new(),
            was_readable: HashSet::new(),
            shown: HashMap::new(),
            view: BTreeMap::new(),
            start: None,
            reader: None,
        }
    }

    /// Updates the expectation after a change.
    pub(crate) fn update_expectations(&mut self, naive: &NaiveModel, change: Change) {
        let owner = self.query.owner;
        let appeared = match change {
            Change::Activity => Appearance::ByArrival,
            Change::Edge(follower) if follower == owner => Appearance::ByArrival,
            Change::Edge(_) | Change::Account => Appearance::WithoutArrival,
        };
        let reader = naive.reader(self.uid, owner);
        // The same reader, as if they followed the owner.
        let as_follower = match reader {
            Reader::Owner => Reader::Owner,
            Reader::Other { uid, blocks, .. } => Reader::Other { uid, follows_owner: true, blocks },
        };
        for state in naive.states.values() {
            let (seen, actor) = ((state.id, state.version), naive.actor(state));
            let there = naive.has(&self.query, state);
            if naive.could_have(&self.query, state) {
                self.was_in_collection.insert(state.id);
            }
            if !state.deleted
                && may_see(as_follower, owner, state, &Account { public: true, ..actor.clone() }, false)
            {
                self.was_readable.insert(state.id);
            }
            let visible = there && naive.may_see(reader, owner, state);
            // Older versions are no longer visible, and perhaps this one is not either.
            self.visible.retain(|(id, version), _| *id != state.id || visible && *version == state.version);
            if visible && !self.visible.contains_key(&seen) {
                self.visible.insert(seen, appeared);
                *self.appeared.entry(seen).or_default() += 1;
            }
        }
    }

    /// Handles a retraction: the activity must have been in the collection and readable at some time, but not
    /// necessarily at the same time. A stream may skip versions between two reads, and no history of them is kept, nor of
    /// blocks, mutes and edge filters.
    pub(crate) fn retract(&mut self, id: ActivityId) -> Result<(), Violation> {
        if !self.was_in_collection.contains(&id) || !self.was_readable.contains(&id) {
            return Err(format!("{self} received a retraction of {id}, which it could never see"));
        }
        self.view.remove(&id);
        Ok(())
    }

    pub(crate) fn show(&mut self, item: &Item) -> Result<(), Violation> {
        let seen = (item.state.id, item.state.version);
        if !self.visible.contains_key(&seen) {
            return Err(format!("{self} was shown {:?}, which it may not see", item.state));
        }
        *self.shown.entry(seen).or_default() += 1;
        self.view.insert(seen.0, seen.1);
        Ok(())
    }
}

impl std::fmt::Display for FeedClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FeedClient { kind, uid, query, .. } = self;
        let (owner, collection) = (query.owner.0, query.collection.as_str());
        write!(f, "the {kind:?} of account {} in {collection} of {owner}", uid.0)
    }
}
