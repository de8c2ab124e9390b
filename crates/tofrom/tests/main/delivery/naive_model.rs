//! The expected state: all known accounts, edges and activities, and the collections that follow from them. It knows no
//! entries, tasks or sync tokens.

use model::{
    Account, AccountName, ActivityId, AddressableBy, Edge, EdgeFilter, FeedQuery, Order, Reader, Relation,
    SortKey, State, Uid, Version, Visibility, belongs, may_see,
};
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Default)]
pub(crate) struct NaiveModel {
    pub(crate) accounts: Vec<Account>,
    pub(crate) edges: HashMap<(Uid, Uid), Edge>,
    pub(crate) removals: HashSet<(Uid, ActivityId)>,
    /// The relation of the first account to the second.
    pub(crate) relations: HashMap<(Uid, Uid), Relation>,
    /// How often a block of the account began or ended.
    pub(crate) blocks: HashMap<Uid, i64>,
    /// The names in `To` of the current version of every activity.
    pub(crate) named: HashMap<ActivityId, Vec<AccountName>>,
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
        let blocks = Version(self.blocks.get(&uid).copied().unwrap_or(0));
        Reader::Other { uid, follows_owner: self.follows(uid, owner), blocks }
    }

    pub(crate) fn relation(&self, uid: Uid, other: Uid) -> Relation {
        self.relations.get(&(uid, other)).copied().unwrap_or_default()
    }

    /// Whether the reader may see an activity that is in the owner's collection.
    pub(crate) fn may_see(&self, reader: Reader, owner: Uid, state: &State) -> bool {
        let blocked = match reader {
            Reader::Owner => false,
            Reader::Other { uid, .. } => self.relation(uid, state.actor).blocked_by,
        };
        may_see(reader, owner, state, self.actor(state), blocked)
    }

    /// Whether the actor may address the other account.
    pub(crate) fn accepts(&self, actor: Uid, other: &Account) -> bool {
        other.uid == actor
            || !self.relation(actor, other.uid).blocked_by
                && match other.addressable_by {
                    AddressableBy::Everyone => true,
                    AddressableBy::Following => self.follows(other.uid, actor),
                    AddressableBy::Nobody => false,
                }
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
        self.has(query, state) && self.may_see(reader, query.owner, state)
    }

    /// Whether the collection contains it for at least one reader.
    pub(crate) fn has(&self, query: &FeedQuery, state: &State) -> bool {
        let edge = self.edges.get(&(query.owner, state.actor));
        self.has_by(query, state, edge, self.relation(query.owner, state.actor))
    }

    /// Whether the collection would contain it without blocks, mutes and edge filters.
    pub(crate) fn could_have(&self, query: &FeedQuery, state: &State) -> bool {
        let edge = self.edges.get(&(query.owner, state.actor));
        let edge = edge.map(|edge| Edge { filter: EdgeFilter::default(), ..edge.clone() });
        self.has_by(query, state, edge.as_ref(), Relation::default())
    }

    fn has_by(&self, query: &FeedQuery, state: &State, edge: Option<&Edge>, relation: Relation) -> bool {
        let (owner, filter) = (query.owner, &query.filter);
        let removed = self.removals.contains(&(owner, state.id));
        filter.selects(&state.facet)
            && filter.received.contains(state.received)
            && filter.published.contains(state.published)
            && belongs(state, owner, edge, removed, relation).is_in(query.collection)
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
            let relation = self.relation(owner, state.actor);
            belongs(state, owner, self.edges.get(&(owner, state.actor)), removed, relation).to
        };
        self.states.values().filter(reaches).collect()
    }
}
