//! Assigns identifiers and versions to drafts and writes them to the store.
//!
//! The existing activity with the same external key (actor, service, source id) decides the outcome of a draft: a new
//! activity, a new version of the existing one, or nothing if the content is equal. Another writer may come in between
//! the read and the write. The store then reports a conflict, and the draft is tried again.

use super::fingerprint::fingerprint;
use super::ids::{Ids, Randomness};
use super::pulled_accounts::PulledAccounts;
use super::{Draft, OmittedFields, Refused};
use crate::clock::Clock;
use futures::{StreamExt, TryStreamExt, stream};
use model::{
    Account, AccountName, Activity, ActivityId, Body, Comments, Facet, Millis, Object, PriorAudience, State,
    Uid, Version, Visibility,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use store::{Acceptance, Accepted, ActivityRecord, Claim, ExternalKey, Result, Store, StoreError};

/// The maximum number of concurrent lookups.
const CONCURRENCY: usize = 16;
/// How many rounds in a row may end with nothing but conflicts before the caller gets an error.
const MAX_FRUITLESS_ROUNDS: usize = 8;

/// Accepts activities.
#[derive(Clone)]
pub struct Ingest {
    store: Arc<dyn Store>,
    clock: Clock,
    randomness: Randomness,
    pulled_accounts: PulledAccounts,
}

/// The outcome of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new activity was created.
    Created(ActivityId),
    /// The activity was updated.
    Updated(ActivityId),
    /// The activity has this content already.
    Unchanged(ActivityId),
    /// The draft changes a field that cannot be changed.
    Refused(Refused),
}

/// Where a draft comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DraftOrigin {
    Client,
    Source,
}

/// The next action for a draft.
enum DraftAction {
    Done(Outcome),
    Write(Box<Acceptance>, Outcome),
}

impl Ingest {
    /// Accepts activities into this store, with the times of this clock.
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Ingest {
        Ingest { store, clock, randomness: Randomness::system(), pulled_accounts: PulledAccounts::default() }
    }

    /// Caches for this long which accounts are in pull mode.
    #[must_use]
    pub fn caching_fanout_states(self, ttl: Duration) -> Ingest {
        Ingest { pulled_accounts: PulledAccounts::cached_for(ttl), ..self }
    }

    /// Uses this source of randomness for identifiers.
    pub fn with_randomness(self, randomness: Randomness) -> Ingest {
        Ingest { randomness, ..self }
    }

    /// Accepts activities of `actor` and returns an outcome for each draft, in order. On return all of them are durable.
    /// After an error some may be; accepting the same drafts again is safe.
    pub async fn accept(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.accept_all(actor, drafts, DraftOrigin::Client).await
    }

    /// Accepts drafts of a source, which repeats the same items again and again: deleted activities stay deleted, and
    /// fields fixed by the first version stay as they are.
    pub async fn import(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.accept_all(actor, drafts, DraftOrigin::Source).await
    }

    async fn accept_all(&self, actor: &Account, drafts: Vec<Draft>, by: DraftOrigin) -> Result<Vec<Outcome>> {
        let names = self
            .resolve(drafts.iter().flat_map(|draft| draft.to.iter().flatten().cloned()).collect())
            .await?;
        let mut ids = Ids::new(&self.randomness);
        let mut outcomes: Vec<Option<Outcome>> = drafts.iter().map(|_| None).collect();
        let mut waiting: Vec<(usize, Draft)> = drafts.into_iter().enumerate().collect();
        let mut fruitless = 0;
        while !waiting.is_empty() {
            if fruitless == MAX_FRUITLESS_ROUNDS {
                return Err(StoreError::Unavailable(
                    "too many concurrent writes of the same activities".to_owned(),
                ));
            }
            let before = waiting.len();
            waiting = self.round((actor.uid, by), &names, &mut ids, waiting, &mut outcomes).await?;
            fruitless = if waiting.len() < before { 0 } else { fruitless + 1 };
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// Deletes the activity with this external key. `false` if there is none.
    pub async fn delete(&self, source: &ExternalKey) -> Result<bool> {
        for _ in 0..MAX_FRUITLESS_ROUNDS {
            let Some(claim) = self.store.claim(source).await?.filter(|claim| !claim.deleted) else {
                return Ok(false);
            };
            let activity = self.store.activities(&[claim.id]).await?.into_iter().flatten().next();
            let activity = activity.ok_or_else(|| claimed_but_missing(claim.id))?;
            let deletion = deletion(source, &claim, activity, self.clock.now());
            if let Some(Accepted::Stored(_)) =
                self.write_versions(source.actor, vec![deletion]).await?.first()
            {
                return Ok(true);
            }
        }
        Err(StoreError::Unavailable("too many concurrent writes of the same activity".to_owned()))
    }

    /// Writes versions of activities of `actor` to the store, marked with the actor's fan-out mode.
    async fn write_versions(&self, actor: Uid, mut versions: Vec<Acceptance>) -> Result<Vec<Accepted>> {
        let pulled = self.pulled_accounts.is_pulled(self.store.as_ref(), actor).await?;
        versions.iter_mut().for_each(|one| one.activity.state.pulled = pulled);
        self.store.accept(versions).await
    }

    /// The uids of the existing accounts among these names.
    async fn resolve(&self, names: HashSet<AccountName>) -> Result<HashMap<AccountName, Uid>> {
        let lookups: Vec<_> = names.iter().map(|name| self.store.account_by_name(name)).collect();
        let accounts: Vec<Option<Account>> =
            stream::iter(lookups).buffer_unordered(CONCURRENCY).try_collect().await?;
        let existing = accounts.into_iter().flatten().filter(|account| !account.removed);
        Ok(existing.map(|account| (account.name, account.uid)).collect())
    }

    /// One read and one write for the first draft of each external key. Returns the drafts that still wait.
    async fn round(
        &self,
        (actor, by): (Uid, DraftOrigin),
        names: &HashMap<AccountName, Uid>,
        ids: &mut Ids<'_>,
        waiting: Vec<(usize, Draft)>,
        outcomes: &mut [Option<Outcome>],
    ) -> Result<Vec<(usize, Draft)>> {
        // A second draft of the same external key builds upon the first: it waits for the next round.
        let mut seen = HashSet::new();
        let (current, mut later): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .map(|(at, draft)| (at, external_key(actor, &draft), draft))
            .partition(|(_, source, _)| seen.insert(source.clone()));
        let lookups: Vec<_> = current.iter().map(|(_, source, _)| self.store.claim(source)).collect();
        let claims: Vec<Option<Claim>> = stream::iter(lookups).buffered(CONCURRENCY).try_collect().await?;
        let live: Vec<ActivityId> =
            claims.iter().flatten().filter(|claim| !claim.deleted).map(|claim| claim.id).collect();
        let states = self.store.states(&live).await?;
        let mut states: HashMap<ActivityId, State> =
            states.into_iter().flatten().map(|state| (state.id, state)).collect();

        let mut bodies = self.bodies_to_keep(&current, &claims, &states, names).await?;
        let now = self.clock.now();
        let mut writes = Vec::new();
        let mut written = Vec::new();
        for ((at, source, draft), claim) in current.into_iter().zip(claims) {
            let addressed = draft.to.as_deref().map(|to| resolve_names(to, names));
            let step = match claim {
                Some(claim) if !claim.deleted => {
                    let state = states.remove(&claim.id).ok_or_else(|| claimed_but_missing(claim.id))?;
                    let existing = Existing { body: bodies.remove(&claim.id), claim, state };
                    next_version(&source, &draft, addressed, existing, by, now)?
                }
                Some(deleted) if by == DraftOrigin::Source => {
                    DraftAction::Done(Outcome::Unchanged(deleted.id))
                }
                deleted_claim => {
                    let first =
                        first_version(source.clone(), &draft, addressed, deleted_claim.as_ref(), ids, now)?;
                    let outcome = Outcome::Created(first.activity.state.id);
                    DraftAction::Write(Box::new(first), outcome)
                }
            };
            match step {
                DraftAction::Done(outcome) => set(outcomes, at, outcome),
                DraftAction::Write(acceptance, outcome) => {
                    writes.push(*acceptance);
                    written.push((at, source, draft, outcome));
                }
            }
        }
        if !writes.is_empty() {
            let accepted = self.write_versions(actor, writes).await?;
            for ((at, source, draft, outcome), accepted) in written.into_iter().zip(accepted) {
                match accepted {
                    Accepted::Stored(_) => set(outcomes, at, outcome),
                    Accepted::Conflict(_) => later.push((at, source, draft)),
                }
            }
        }
        // Drafts of the same external key keep their order.
        later.sort_by_key(|(at, ..)| *at);
        Ok(later.into_iter().map(|(at, _, draft)| (at, draft)).collect())
    }

    /// The existing bodies that a draft keeps fields of. A draft with unchanged content needs none.
    async fn bodies_to_keep(
        &self,
        drafts: &[(usize, ExternalKey, Draft)],
        claims: &[Option<Claim>],
        states: &HashMap<ActivityId, State>,
        names: &HashMap<AccountName, Uid>,
    ) -> Result<HashMap<ActivityId, Body>> {
        let mut ids = Vec::new();
        for ((.., draft), claim) in drafts.iter().zip(claims) {
            let Some((claim, state)) = claim.as_ref().and_then(|claim| Some((claim, states.get(&claim.id)?)))
            else {
                continue;
            };
            let addressed = draft.to.as_deref().map(|to| resolve_names(to, names));
            let content = Content::of(draft, None, addressed, state);
            let keeps = draft.to.is_none() || draft.omitted != OmittedFields::default();
            if keeps && content.fingerprint()? != claim.fingerprint {
                ids.push(claim.id);
            }
        }
        let found = self.store.activities(&ids).await?.into_iter().flatten();
        Ok(found.map(|activity| (activity.state.id, activity.body)).collect())
    }
}

/// An existing activity.
struct Existing {
    claim: Claim,
    state: State,
    /// `None` if the draft keeps nothing of it.
    body: Option<Body>,
}

/// All content that a new version can change.
struct Content {
    body: Body,
    visibility: Visibility,
    addressed: Vec<Uid>,
}

impl Content {
    /// The content after the draft is applied.
    fn of(draft: &Draft, before: Option<&Body>, addressed: Option<Vec<Uid>>, state: &State) -> Content {
        Content {
            body: draft.body_after(before),
            visibility: draft.visibility.unwrap_or(state.visibility),
            addressed: addressed.unwrap_or_else(|| state.addressed.clone()),
        }
    }

    fn fingerprint(&self) -> Result<[u8; 16]> {
        fingerprint(&self.body, self.visibility)
    }
}

fn set(outcomes: &mut [Option<Outcome>], at: usize, outcome: Outcome) {
    if let Some(slot) = outcomes.get_mut(at) {
        *slot = Some(outcome);
    }
}

fn claimed_but_missing(id: ActivityId) -> StoreError {
    StoreError::Corrupt(format!("activity {id} is claimed but missing"))
}

fn external_key(actor: Uid, draft: &Draft) -> ExternalKey {
    ExternalKey { actor, service: draft.body.service.name.folded(), id: draft.body.source_id.clone() }
}

/// The uids of the existing names, sorted and without repeats.
fn resolve_names(to: &[AccountName], names: &HashMap<AccountName, Uid>) -> Vec<Uid> {
    let mut uids: Vec<Uid> = to.iter().filter_map(|name| names.get(name).copied()).collect();
    uids.sort_unstable();
    uids.dedup();
    uids
}

/// The drafts of an actor as activities with their claims, for a store that has none of them. The result depends only on
/// the arguments, so that an interrupted writer can repeat it.
pub fn first_versions(
    actor: Uid,
    drafts: &[Draft],
    names: &HashMap<AccountName, Uid>,
    randomness: &Randomness,
    now: Millis,
) -> Result<Vec<ActivityRecord>> {
    let mut ids = Ids::new(randomness);
    let to_record = |draft: &Draft| {
        let addressed = draft.to.as_deref().map(|to| resolve_names(to, names));
        let first = first_version(external_key(actor, draft), draft, addressed, None, &mut ids, now)?;
        let Acceptance { source, fingerprint, activity, .. } = first;
        let (id, version) = (activity.state.id, activity.state.version);
        let claim = Claim { id, version, fingerprint, deleted: false };
        Ok(ActivityRecord { activity, prior: None, claim: Some((source, claim)) })
    };
    drafts.iter().map(to_record).collect()
}

/// The first version of an activity with an unused external key, or one whose activity was deleted.
fn first_version(
    source: ExternalKey,
    draft: &Draft,
    addressed: Option<Vec<Uid>>,
    deleted_claim: Option<&Claim>,
    ids: &mut Ids<'_>,
    now: Millis,
) -> Result<Acceptance> {
    let received = draft.received.unwrap_or(now);
    let before = deleted_claim.map(|claim| claim.version);
    let facet = Facet { service: source.service.clone(), kind: draft.kind.clone(), verb: draft.verb.clone() };
    let state = State {
        id: ids.next(received)?,
        version: Version::next(now, before),
        actor: source.actor,
        facet,
        received,
        published: draft.published.unwrap_or(received),
        updated: received,
        deleted: false,
        visibility: draft.visibility.unwrap_or_default(),
        addressed: addressed.unwrap_or_default(),
        pulled: false,
    };
    let body = draft.body_after(None);
    let fingerprint = fingerprint(&body, state.visibility)?;
    let activity = Activity { state, body };
    Ok(Acceptance { source, before, fingerprint, prior: None, activity })
}

/// Applies a draft to an existing activity.
fn next_version(
    source: &ExternalKey,
    draft: &Draft,
    addressed: Option<Vec<Uid>>,
    existing: Existing,
    by: DraftOrigin,
    now: Millis,
) -> Result<DraftAction> {
    let Existing { claim, state, body: before } = existing;
    if let Some(refused) = changed_fixed_field(draft, &state).filter(|_| by == DraftOrigin::Client) {
        return Ok(DraftAction::Done(Outcome::Refused(refused)));
    }
    let prior = Some(PriorAudience::from(&state));
    let content = Content::of(draft, before.as_ref(), addressed, &state);
    let fingerprint = content.fingerprint()?;
    if fingerprint == claim.fingerprint {
        return Ok(DraftAction::Done(Outcome::Unchanged(claim.id)));
    }
    let state = State {
        version: Version::next(now, Some(claim.version)),
        updated: later_than(state.updated, now),
        visibility: content.visibility,
        addressed: content.addressed,
        ..state
    };
    let activity = Activity { state, body: content.body };
    let acceptance =
        Acceptance { source: source.clone(), before: Some(claim.version), fingerprint, prior, activity };
    Ok(DraftAction::Write(Box::new(acceptance), Outcome::Updated(claim.id)))
}

/// An activity keeps its position in every order and under every filter, so these fields cannot change.
fn changed_fixed_field(draft: &Draft, state: &State) -> Option<Refused> {
    let fixed = |field: &str, value: &str| {
        Some(Refused::new(field, format!("cannot be changed after the first version: expected {value}")))
    };
    if draft.kind != state.facet.kind {
        return fixed("Type", state.facet.kind.as_str());
    }
    if draft.verb != state.facet.verb {
        return fixed("Verb", state.facet.verb.as_str());
    }
    if draft.published.is_some_and(|published| published != state.published) {
        return fixed("PublishedDate", &state.published.with_offset());
    }
    None
}

/// `updated` always increases, even within a millisecond, so that every change is visible.
fn later_than(before: Millis, now: Millis) -> Millis {
    Millis(now.0.max(before.0.saturating_add(1)))
}

/// The version that deletes an activity. Its content is removed.
fn deletion(source: &ExternalKey, claim: &Claim, activity: Activity, now: Millis) -> Acceptance {
    let Activity { state, body } = activity;
    let prior = Some(PriorAudience::from(&state));
    let state = State {
        version: Version::next(now, Some(claim.version)),
        updated: later_than(state.updated, now),
        deleted: true,
        ..state
    };
    let body = Body {
        title: String::new(),
        summary: None,
        comments: Comments::Available(false),
        object: Object::default(),
        to: Vec::new(),
        ..body
    };
    Acceptance {
        source: source.clone(),
        before: Some(claim.version),
        fingerprint: claim.fingerprint,
        prior,
        activity: Activity { state, body },
    }
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
