//! The expected state: all known accounts, edges and activities, and the collections that follow from them. It knows no
//! entries, tasks or sync tokens.

use model::{
    Account, ActivityId, Edge, FeedQuery, Order, Reader, SortKey, State, Uid, Version, Visibility, belongs,
    may_see,
};
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Default)]
pub(crate) struct NaiveModel {
    pub(crate) accounts: Vec<Account>,
    pub(crate) edges: HashMap<(Uid, Uid), Edge>,
    pub(crate) removals: HashSet<(Uid, ActivityId)>,
    /// The current state of every activity that ever existed.
    pub(crate) states: BTreeMap<ActivityId, State>,
    /// The current or last activity at each actor's address.
    pub(crate) addresses: HashMap<(Uid, usize), ActivityId>,
}

impl NaiveModel {
    /// The `n`th account; numbers wrap around.
    pub(crate) fn account(&self, number: usize) -> &Account {
        &self.accounts[number % self.accounts.len()]
    }

    /// The last activity at an address, deleted or not.
    pub(crate) fn at(&self, actor: Uid, address: usize) -> Option<&State> {
        self.addresses.get(&(actor, address)).map(|id| &self.states[id])
    }

    pub(crate) fn follows(&self, follower: Uid, followee: Uid) -> bool {
        self.edges.get(&(follower, followee)).is_some_and(|edge| edge.following)
    }

    /// The relation of an account to the owner of a collection.
    pub(crate) fn reader(&self, uid: Uid, owner: Uid) -> Reader {
        if uid == owner {
            return Reader::Owner;
        }
        Reader::Other { uid, follows_owner: self.follows(uid, owner) }
    }

    /// Belong, filter, sort: the collection as a reader sees it.
    pub(crate) fn collection(&self, reader: Reader, query: &FeedQuery) -> Vec<(ActivityId, Version)> {
        let time = |state: &State| match query.order {
            Order::Received => state.received,
            Order::Published => state.published,
        };
        let mut found: Vec<&State> =
            self.states.values().filter(|state| self.shows(reader, query, state)).collect();
        found.sort_by_key(|state| std::cmp::Reverse((time(state), state.id)));
        found.into_iter().map(|state| (state.id, state.version)).collect()
    }

    fn shows(&self, reader: Reader, query: &FeedQuery, state: &State) -> bool {
        self.has(query, state) && may_see(reader, query.owner, state, self.actor(state))
    }

    /// Whether the collection contains it for at least one reader.
    pub(crate) fn has(&self, query: &FeedQuery, state: &State) -> bool {
        let (owner, filter) = (query.owner, &query.filter);
        let edge = self.edges.get(&(owner, state.actor));
        let removed = self.removals.contains(&(owner, state.id));
        filter.selects(&state.facet)
            && filter.received.contains(state.received)
            && filter.published.contains(state.published)
            && belongs(state, owner, edge, removed).is_in(query.collection)
    }

    pub(crate) fn actor(&self, state: &State) -> &Account {
        self.accounts.iter().find(|account| account.uid == state.actor).unwrap()
    }

    /// The oldest activity of a backfill: the 50th newest public one in order of receipt.
    pub(crate) fn backfill_start(&self, actor: Uid) -> Option<SortKey> {
        let public =
            |state: &&State| state.actor == actor && !state.deleted && state.visibility == Visibility::Public;
        let sort_key = |state: &State| SortKey { time: state.received, id: state.id };
        let mut sort_keys: Vec<SortKey> = self.states.values().filter(public).map(sort_key).collect();
        sort_keys.sort();
        sort_keys.into_iter().rev().nth(49)
    }

    /// The activities in an account's `to`, oldest first.
    pub(crate) fn in_to(&self, owner: Uid) -> Vec<&State> {
        let reaches = |state: &&State| {
            let removed = self.removals.contains(&(owner, state.id));
            belongs(state, owner, self.edges.get(&(owner, state.actor)), removed).to
        };
        self.states.values().filter(reaches).collect()
    }
}
