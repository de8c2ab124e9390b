//! Checks every entry before it is shown: the query's filter, belonging, and the reader's rights.

use super::{Feed, Item, ReadError};
use model::{
    Account, AccountName, Edge, Entry, EntryReason, FeedQuery, Filter, Millis, PriorAudience, Range, Reader,
    Relation, State, Uid, Version, Visibility, belongs, entry_belongs, may_see,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What belonging and the reader's rights depend on besides the entries.
struct Context {
    /// The actors' accounts.
    accounts: HashMap<Uid, Arc<Account>>,
    /// The owner's edges to the actors.
    edges: HashMap<Uid, Edge>,
    /// For each entry, whether the owner removed its activity.
    removed: Vec<bool>,
    /// The owner's relations to the actors.
    relations: HashMap<Uid, Relation>,
    /// The reader's relations to the actors, if the reader is not the owner.
    reader_relations: HashMap<Uid, Relation>,
}

impl Context {
    fn relation(&self, actor: Uid) -> Relation {
        self.relations.get(&actor).copied().unwrap_or_default()
    }

    /// Whether the actor blocks the reader.
    fn is_blocked(&self, actor: Uid) -> bool {
        self.reader_relations.get(&actor).is_some_and(|relation| relation.blocked_by)
    }
}

/// The entries that belong to a collection, and how many others a mute hides.
pub(super) struct Belonging {
    pub(super) candidates: Vec<Candidate>,
    pub(super) muted: usize,
}

impl Feed {
    /// The query's filter, narrowed to the retention time.
    pub(super) fn filter(&self, query: &FeedQuery) -> Filter {
        let mut filter = query.filter.clone();
        if let Some(retention) = self.limits.retention {
            let age = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
            let oldest = Millis(self.clock.now().0.saturating_sub(age));
            filter.received = Range { since: filter.received.since.max(Some(oldest)), ..filter.received };
        }
        filter
    }

    /// Fetches what belonging depends on, in as few requests as possible.
    async fn context(
        &self,
        reader: Reader,
        query: &FeedQuery,
        entries: &[Entry],
        followed: impl Fn(&Entry) -> bool,
    ) -> Result<Context, ReadError> {
        let owner = query.owner;
        let accounts = self.accounts.get_many(entries.iter().map(|entry| entry.actor)).await?;
        let mut followees: Vec<Uid> = entries.iter().filter(|e| followed(e)).map(|e| e.actor).collect();
        followees.sort_unstable();
        followees.dedup();
        // Only addressed and followed entries can have been removed.
        let reaching: Vec<_> = entries.iter().map(|e| (e.id, e.received)).collect();
        let any = entries
            .iter()
            .any(|e| e.reasons.contains(EntryReason::Addressed) || e.reasons.contains(EntryReason::Followed));
        let edges = async {
            if followees.is_empty() { Ok(Vec::new()) } else { self.store.edges(owner, &followees).await }
        };
        let removed = async {
            if any { self.store.removed(owner, &reaching).await } else { Ok(vec![false; entries.len()]) }
        };
        let reader_uid = match reader {
            Reader::Owner => None,
            // No account has ever blocked most readers.
            Reader::Other { uid, blocks, .. } => Some(uid).filter(|_| blocks != Version::default()),
        };
        let (edges, removed, relations, reader_relations) = tokio::try_join!(
            async { edges.await.map_err(ReadError::from) },
            async { removed.await.map_err(ReadError::from) },
            // Relations concern what reaches the owner, not what the owner does.
            self.relations(Some(owner).filter(|_| any), owner, &accounts),
            self.relations(reader_uid, owner, &accounts),
        )?;
        let edges =
            followees.into_iter().zip(edges).filter_map(|(actor, edge)| Some((actor, edge?))).collect();
        Ok(Context { accounts, edges, removed, relations, reader_relations })
    }

    /// The relations of an account to these others, except to itself and to the owner of the collection. Only relations
    /// that are not the default are there.
    async fn relations(
        &self,
        uid: Option<Uid>,
        owner: Uid,
        others: &HashMap<Uid, Arc<Account>>,
    ) -> Result<HashMap<Uid, Relation>, ReadError> {
        let Some(uid) = uid else { return Ok(HashMap::new()) };
        let others: Vec<&Arc<Account>> =
            others.values().filter(|other| other.uid != uid && other.uid != owner).collect();
        if others.is_empty() {
            return Ok(HashMap::new());
        }
        let Some(account) = self.accounts.get(uid).await? else { return Ok(HashMap::new()) };
        let names: Vec<AccountName> = others.iter().map(|other| other.name.clone()).collect();
        let found = self.store.relations(&account.name, &names).await?;
        let found = others.into_iter().map(|other| other.uid).zip(found);
        Ok(found.filter(|(_, relation)| *relation != Relation::default()).collect())
    }

    /// The entries that match the filter and, judged by the entries alone, belong to the collection.
    pub(super) async fn belonging(
        &self,
        reader: Reader,
        query: &FeedQuery,
        filter: &Filter,
        mut entries: Vec<Entry>,
    ) -> Result<Belonging, ReadError> {
        entries.retain(|entry| !entry.retracted && filter.matches(entry));
        if let Some((age, oldest)) =
            self.limits.retention.zip(entries.iter().map(|entry| entry.received).min())
        {
            store::holds_until(oldest.later(age));
        }
        let mut context = self
            .context(reader, query, &entries, |entry| entry.reasons.contains(EntryReason::Followed))
            .await?;
        let removed = std::mem::take(&mut context.removed);
        let (mut candidates, mut muted) = (Vec::with_capacity(entries.len()), 0);
        for (entry, removed) in entries.into_iter().zip(removed) {
            let (edge, relation) = (context.edges.get(&entry.actor), context.relation(entry.actor));
            if !entry_belongs(&entry, query.owner, edge, removed, relation).is_in(query.collection) {
                muted += usize::from(relation.mutes);
                continue;
            }
            let actor = context.accounts.get(&entry.actor).filter(|actor| !actor.removed);
            let Some(actor) = actor.map(Arc::clone) else { continue };
            let (edge, blocked) = (edge.cloned(), context.is_blocked(entry.actor));
            candidates.push(Candidate { entry, edge, removed, relation, blocked, actor });
        }
        Ok(Belonging { candidates, muted })
    }

    /// For each of these entries, none of which is shown: whether its activity was in this reader's view of the
    /// collection before and is no longer.
    pub(super) async fn left_view(
        &self,
        reader: Reader,
        query: &FeedQuery,
        filter: &Filter,
        entries: &[Entry],
    ) -> Result<Vec<bool>, ReadError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        // A retraction need not name the reasons that its activity had before.
        let context = self.context(reader, query, entries, |entry| entry.actor != query.owner).await?;
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        let states = self.store.states(&ids).await?;
        let prior = self.store.prior_audiences(&ids).await?;
        let rows = entries.iter().zip(states).zip(prior).zip(&context.removed);
        let lost = rows.map(|(((entry, state), prior), removed)| {
            let removed = *removed;
            let (Some(state), Some(actor)) = (state, context.accounts.get(&entry.actor)) else {
                return false;
            };
            // The later version's arrival reports the outcome.
            if !entry.retracted && entry.version < state.version {
                return false;
            }
            let (edge, relation) = (context.edges.get(&entry.actor), context.relation(entry.actor));
            let blocked = context.is_blocked(entry.actor);
            let present = removed.then(|| PriorAudience::from(&state));
            let here = Visibility::wider(entry.prior, present.as_ref().map(|present| present.visibility));
            let (Some(here), Some(before)) = (here, PriorAudience::union(prior, present)) else {
                return false;
            };
            let before = State {
                deleted: false,
                visibility: before.visibility,
                addressed: before.addressed,
                ..state.clone()
            };
            // Through an edge, an activity was in this collection as far as this entry records. Other readers' rights
            // follow from the activity's history.
            let through_edge = State { visibility: here, ..before.clone() };
            let was_in = filter.matches(entry)
                && belongs(&through_edge, query.owner, edge, false, relation).is_in(query.collection)
                && may_see(reader, query.owner, &before, actor, blocked);
            let is_in = belongs(&state, query.owner, edge, removed, relation).is_in(query.collection)
                && may_see(reader, query.owner, &state, actor, blocked);
            was_in && !is_in
        });
        Ok(lost.collect())
    }

    /// The items of the candidates, `None` where the activity's current state hides it from this reader. `with_bodies`: the
    /// caller mostly needs their bodies next.
    pub(super) async fn shown(
        &self,
        reader: Reader,
        query: &FeedQuery,
        candidates: Vec<Candidate>,
        with_bodies: bool,
    ) -> Result<Vec<Option<Item>>, ReadError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let states = if with_bodies {
            self.bodies.states(candidates.iter().map(|candidate| &candidate.entry)).await?
        } else {
            let ids: Vec<_> = candidates.iter().map(|candidate| candidate.entry.id).collect();
            let states = self.store.states(&ids).await?;
            states.into_iter().map(|state| Some((state?, None))).collect()
        };
        let shown = candidates.into_iter().zip(states).map(|(candidate, state)| {
            let (state, body) = state?;
            let is_shown = candidate.is_shown(reader, query, &state);
            let current = candidate.entry.version == state.version;
            let arrived = candidate.entry.arrived.filter(|_| current);
            let without_edge = state.actor == query.owner || state.addressed.contains(&query.owner);
            let edge = candidate.edge.filter(|_| !without_edge).map(|edge| edge.version);
            is_shown.then_some(Item { state, actor: candidate.actor, body, arrived, edge })
        });
        Ok(shown.collect())
    }

    /// Number of candidates that [`Feed::shown`] would show, without reading bodies.
    pub(super) async fn count_shown(
        &self,
        reader: Reader,
        query: &FeedQuery,
        candidates: &[Candidate],
    ) -> Result<usize, ReadError> {
        let ids: Vec<_> = candidates.iter().map(|candidate| candidate.entry.id).collect();
        let states = self.store.states(&ids).await?;
        let shown = |(candidate, state): &(&Candidate, Option<State>)| {
            state.as_ref().is_some_and(|state| candidate.is_shown(reader, query, state))
        };
        Ok(candidates.iter().zip(states).filter(shown).count())
    }
}

/// An entry that may be shown, with the data for the final check against the state.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) entry: Entry,
    edge: Option<Edge>,
    removed: bool,
    /// The owner's relation to the actor.
    relation: Relation,
    /// Whether the actor blocks the reader.
    blocked: bool,
    actor: Arc<Account>,
}

impl Candidate {
    /// Whether the activity's current state shows it to this reader.
    fn is_shown(&self, reader: Reader, query: &FeedQuery, state: &State) -> bool {
        belongs(state, query.owner, self.edge.as_ref(), self.removed, self.relation).is_in(query.collection)
            && may_see(reader, query.owner, state, &self.actor, self.blocked)
    }
}
