//! Checks every entry before it is shown: the query's filter, belonging, and the reader's rights.

use super::{Feed, Item, ReadError};
use model::{
    Edge, Entry, EntryReason, FeedQuery, Filter, Millis, PriorAudience, Range, Reader, State, Uid,
    Visibility, belongs, entry_belongs, may_see,
};
use std::collections::HashMap;

/// What belonging depends on besides the entries: the owner's edges to their actors, and the owner's removals.
pub(super) struct OwnerContext {
    edges: HashMap<Uid, Edge>,
    removed: Vec<bool>,
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

    /// Fetches the edges and removals for these entries, in as few requests as possible.
    async fn context(
        &self,
        owner: Uid,
        entries: &[Entry],
        followed: impl Fn(&Entry) -> bool,
    ) -> Result<OwnerContext, ReadError> {
        let mut actors: Vec<Uid> = entries.iter().filter(|e| followed(e)).map(|e| e.actor).collect();
        actors.sort_unstable();
        actors.dedup();
        let mut edges = HashMap::with_capacity(actors.len());
        if !actors.is_empty() {
            let found = self.store.edges(owner, &actors).await?;
            edges.extend(actors.into_iter().zip(found).filter_map(|(actor, edge)| Some((actor, edge?))));
        }
        // Only addressed and followed entries can have been removed.
        let reaching: Vec<_> = entries.iter().map(|e| (e.id, e.received)).collect();
        let any = entries
            .iter()
            .any(|e| e.reasons.contains(EntryReason::Addressed) || e.reasons.contains(EntryReason::Followed));
        let removed =
            if any { self.store.removed(owner, &reaching).await? } else { vec![false; entries.len()] };
        Ok(OwnerContext { edges, removed })
    }

    /// The entries that match the filter and, judged by the entries alone, belong to the collection.
    pub(super) async fn belonging(
        &self,
        query: &FeedQuery,
        filter: &Filter,
        mut entries: Vec<Entry>,
    ) -> Result<Vec<Candidate>, ReadError> {
        entries.retain(|entry| !entry.retracted && filter.matches(entry));
        let context = self
            .context(query.owner, &entries, |entry| entry.reasons.contains(EntryReason::Followed))
            .await?;
        let accounts = self.accounts.get_many(entries.iter().map(|entry| entry.actor)).await?;
        let candidates = entries.into_iter().zip(context.removed).filter_map(|(entry, removed)| {
            let edge = context.edges.get(&entry.actor).copied();
            let belongs = entry_belongs(&entry, query.owner, edge.as_ref(), removed).is_in(query.collection);
            let actor = accounts.get(&entry.actor).filter(|actor| !actor.removed)?.clone();
            belongs.then_some(Candidate { entry, edge, removed, actor })
        });
        Ok(candidates.collect())
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
        let context = self.context(query.owner, entries, |entry| entry.actor != query.owner).await?;
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        let states = self.store.states(&ids).await?;
        let prior = self.store.prior_audiences(&ids).await?;
        let accounts = self.accounts.get_many(entries.iter().map(|entry| entry.actor)).await?;
        let rows = entries.iter().zip(states).zip(prior).zip(context.removed);
        let lost = rows.map(|(((entry, state), prior), removed)| {
            let (Some(state), Some(actor)) = (state, accounts.get(&entry.actor)) else { return false };
            // The later version's arrival reports the outcome.
            if !entry.retracted && entry.version < state.version {
                return false;
            }
            let edge = context.edges.get(&entry.actor);
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
                && belongs(&through_edge, query.owner, edge, false).is_in(query.collection)
                && may_see(reader, query.owner, &before, actor);
            let is_in = belongs(&state, query.owner, edge, removed).is_in(query.collection)
                && may_see(reader, query.owner, &state, actor);
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
    actor: std::sync::Arc<model::Account>,
}

impl Candidate {
    /// Whether the activity's current state shows it to this reader.
    fn is_shown(&self, reader: Reader, query: &FeedQuery, state: &State) -> bool {
        belongs(state, query.owner, self.edge.as_ref(), self.removed).is_in(query.collection)
            && may_see(reader, query.owner, state, &self.actor)
    }
}
