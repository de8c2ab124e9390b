//! Gives drafts their identifiers and versions and hands them to the store.
//!
//! What stands at an address (actor, service, the service's own id) decides what a draft becomes there: a new
//! activity, a new version of the one that is there, or nothing, if it says what is said already. Between looking and
//! writing somebody else may write; the store then refuses, and the draft is looked at again.

use super::fingerprint::fingerprint;
use super::ids::{Ids, Randomness};
use super::pulled_accounts::PulledAccounts;
use super::{Draft, Refused, Unsaid};
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

/// How many look-ups are under way at once.
const CONCURRENCY: usize = 16;
/// How often a round may end with nothing but conflicts before somebody else is to try.
const MAX_FRUITLESS: usize = 8;

/// Takes activities in.
#[derive(Clone)]
pub struct Ingest {
    store: Arc<dyn Store>,
    clock: Clock,
    randomness: Randomness,
    pulled_accounts: PulledAccounts,
}

/// What became of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is a new activity.
    Created(ActivityId),
    /// It is a new version of that activity.
    Updated(ActivityId),
    /// That activity says so already.
    Unchanged(ActivityId),
    /// It says of an activity what can't be changed any more.
    Refused(Refused),
}

/// Who brings a draft.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FeedImporter {
    Person,
    Source,
}

/// What is to be done for a draft.
enum Step {
    Done(Outcome),
    Write(Box<Acceptance>, Outcome),
}

impl Ingest {
    /// Takes activities into that store, at the times of that clock.
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Ingest {
        Ingest { store, clock, randomness: Randomness::system(), pulled_accounts: PulledAccounts::default() }
    }

    /// The same, and remembers for so long which accounts are pulled.
    #[must_use]
    pub fn remembering(self, kept: Duration) -> Ingest {
        Ingest { pulled_accounts: PulledAccounts::remembered(kept), ..self }
    }

    /// The same, with identifiers from there.
    pub fn with_randomness(self, randomness: Randomness) -> Ingest {
        Ingest { randomness, ..self }
    }

    /// Takes in what `actor` did: an outcome for each draft, in their order. On return all of it is durable. After an
    /// error some of it may be; to accept the same again is safe.
    pub async fn accept(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.take_in(actor, drafts, FeedImporter::Person).await
    }

    /// The same from a source, which says again and again what it knows: what was deleted stays deleted, and what the
    /// first version fixed stays as it is.
    pub async fn import(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.take_in(actor, drafts, FeedImporter::Source).await
    }

    async fn take_in(&self, actor: &Account, drafts: Vec<Draft>, by: FeedImporter) -> Result<Vec<Outcome>> {
        let names = self
            .resolve(drafts.iter().flat_map(|draft| draft.to.iter().flatten().cloned()).collect())
            .await?;
        let mut ids = Ids::new(&self.randomness);
        let mut outcomes: Vec<Option<Outcome>> = drafts.iter().map(|_| None).collect();
        let mut waiting: Vec<(usize, Draft)> = drafts.into_iter().enumerate().collect();
        let mut fruitless = 0;
        while !waiting.is_empty() {
            if fruitless == MAX_FRUITLESS {
                return Err(StoreError::Unavailable("others keep writing the same activities".to_owned()));
            }
            let before = waiting.len();
            waiting = self.round((actor.uid, by), &names, &mut ids, waiting, &mut outcomes).await?;
            fruitless = if waiting.len() < before { 0 } else { fruitless + 1 };
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// Takes back what stands at that address. `false`: nothing does.
    pub async fn delete(&self, source: &ExternalKey) -> Result<bool> {
        for _ in 0..MAX_FRUITLESS {
            let Some(claim) = self.store.claim(source).await?.filter(|claim| !claim.deleted) else {
                return Ok(false);
            };
            let activity = self.store.activities(&[claim.id]).await?.into_iter().flatten().next();
            let activity = activity.ok_or_else(|| claimed_but_missing(claim.id))?;
            let deletion = deletion(source, &claim, activity, self.clock.now());
            if let Some(Accepted::Stored(_)) = self.hand_in(source.actor, vec![deletion]).await?.first() {
                return Ok(true);
            }
        }
        Err(StoreError::Unavailable("others keep writing the same activity".to_owned()))
    }

    /// Hands versions of what `actor` did to the store, marked by the way that they take to followers.
    async fn hand_in(&self, actor: Uid, mut versions: Vec<Acceptance>) -> Result<Vec<Accepted>> {
        let pulled = self.pulled_accounts.is_pulled(self.store.as_ref(), actor).await?;
        versions.iter_mut().for_each(|one| one.activity.state.pulled = pulled);
        self.store.accept(versions).await
    }

    /// The numbers of the names that somebody has.
    async fn resolve(&self, names: HashSet<AccountName>) -> Result<HashMap<AccountName, Uid>> {
        let look_ups: Vec<_> = names.iter().map(|name| self.store.account_by_name(name)).collect();
        let accounts: Vec<Option<Account>> =
            stream::iter(look_ups).buffer_unordered(CONCURRENCY).try_collect().await?;
        let there = accounts.into_iter().flatten().filter(|account| !account.removed);
        Ok(there.map(|account| (account.name, account.uid)).collect())
    }

    /// One look and one write for the first draft of each address; gives back those that still wait.
    async fn round(
        &self,
        (actor, by): (Uid, FeedImporter),
        names: &HashMap<AccountName, Uid>,
        ids: &mut Ids<'_>,
        waiting: Vec<(usize, Draft)>,
        outcomes: &mut [Option<Outcome>],
    ) -> Result<Vec<(usize, Draft)>> {
        // The second draft of an address builds upon the first: it waits for the next round.
        let mut met = HashSet::new();
        let (now_due, mut later): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .map(|(at, draft)| (at, source_of(actor, &draft), draft))
            .partition(|(_, source, _)| met.insert(source.clone()));
        let look_ups: Vec<_> = now_due.iter().map(|(_, source, _)| self.store.claim(source)).collect();
        let claims: Vec<Option<Claim>> = stream::iter(look_ups).buffered(CONCURRENCY).try_collect().await?;
        let live: Vec<ActivityId> =
            claims.iter().flatten().filter(|claim| !claim.deleted).map(|claim| claim.id).collect();
        let states = self.store.states(&live).await?;
        let mut states: HashMap<ActivityId, State> =
            states.into_iter().flatten().map(|state| (state.id, state)).collect();

        let mut bodies = self.bodies_to_keep(&now_due, &claims, &states, names).await?;
        let now = self.clock.now();
        let mut writes = Vec::new();
        let mut written = Vec::new();
        for ((at, source, draft), claim) in now_due.into_iter().zip(claims) {
            let addressed = draft.to.as_deref().map(|to| numbers(to, names));
            let step = match claim {
                Some(claim) if !claim.deleted => {
                    let state = states.remove(&claim.id).ok_or_else(|| claimed_but_missing(claim.id))?;
                    let existing = Existing { body: bodies.remove(&claim.id), claim, state };
                    another_version(&source, &draft, addressed, existing, by, now)?
                }
                Some(deleted) if by == FeedImporter::Source => Step::Done(Outcome::Unchanged(deleted.id)),
                gone => {
                    let first = first_version(source.clone(), &draft, addressed, gone.as_ref(), ids, now)?;
                    let outcome = Outcome::Created(first.activity.state.id);
                    Step::Write(Box::new(first), outcome)
                }
            };
            match step {
                Step::Done(outcome) => set(outcomes, at, outcome),
                Step::Write(acceptance, outcome) => {
                    writes.push(*acceptance);
                    written.push((at, source, draft, outcome));
                }
            }
        }
        if !writes.is_empty() {
            let accepted = self.hand_in(actor, writes).await?;
            for ((at, source, draft, outcome), accepted) in written.into_iter().zip(accepted) {
                match accepted {
                    Accepted::Stored(_) => set(outcomes, at, outcome),
                    Accepted::Conflict(_) => later.push((at, source, draft)),
                }
            }
        }
        // Drafts of one address keep their order.
        later.sort_by_key(|(at, ..)| *at);
        Ok(later.into_iter().map(|(at, _, draft)| (at, draft)).collect())
    }

    /// The bodies of which a draft leaves something as it is. One that says what is said already needs none.
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
            let addressed = draft.to.as_deref().map(|to| numbers(to, names));
            let content = Content::of(draft, None, addressed, state);
            let keeps = draft.to.is_none() || draft.unsaid != Unsaid::default();
            if keeps && content.fingerprint()? != claim.fingerprint {
                ids.push(claim.id);
            }
        }
        let found = self.store.activities(&ids).await?.into_iter().flatten();
        Ok(found.map(|activity| (activity.state.id, activity.body)).collect())
    }
}

/// What stands at an address.
struct Existing {
    claim: Claim,
    state: State,
    /// `None` if the draft leaves nothing of it as it is.
    body: Option<Body>,
}

/// All that a new version can change.
struct Content {
    body: Body,
    visibility: Visibility,
    addressed: Vec<Uid>,
}

impl Content {
    /// What a draft makes of what is there.
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
    if let Some(place) = outcomes.get_mut(at) {
        *place = Some(outcome);
    }
}

fn claimed_but_missing(id: ActivityId) -> StoreError {
    StoreError::Corrupt(format!("activity {id} is claimed but not there"))
}

fn source_of(actor: Uid, draft: &Draft) -> ExternalKey {
    ExternalKey { actor, service: draft.body.service.name.folded(), id: draft.body.source_id.clone() }
}

/// In order and without repeats.
fn numbers(to: &[AccountName], names: &HashMap<AccountName, Uid>) -> Vec<Uid> {
    let mut uids: Vec<Uid> = to.iter().filter_map(|name| names.get(name).copied()).collect();
    uids.sort_unstable();
    uids.dedup();
    uids
}

/// The drafts of an actor as activities with their claims, for a store that has none of them. The result depends on nothing
/// but the arguments: a writer that stopped in the middle repeats it.
pub fn first_versions(
    actor: Uid,
    drafts: &[Draft],
    names: &HashMap<AccountName, Uid>,
    randomness: &Randomness,
    now: Millis,
) -> Result<Vec<ActivityRecord>> {
    let mut ids = Ids::new(randomness);
    let whole = |draft: &Draft| {
        let addressed = draft.to.as_deref().map(|to| numbers(to, names));
        let first = first_version(source_of(actor, draft), draft, addressed, None, &mut ids, now)?;
        let Acceptance { source, fingerprint, activity, .. } = first;
        let (id, version) = (activity.state.id, activity.state.version);
        let claim = Claim { id, version, fingerprint, deleted: false };
        Ok(ActivityRecord { activity, prior: None, claim: Some((source, claim)) })
    };
    drafts.iter().map(whole).collect()
}

/// A new activity, at an address where nothing stands, or where it was taken back.
fn first_version(
    source: ExternalKey,
    draft: &Draft,
    addressed: Option<Vec<Uid>>,
    gone: Option<&Claim>,
    ids: &mut Ids<'_>,
    now: Millis,
) -> Result<Acceptance> {
    let received = draft.received.unwrap_or(now);
    let before = gone.map(|claim| claim.version);
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

/// What a draft becomes where an activity stands.
fn another_version(
    source: &ExternalKey,
    draft: &Draft,
    addressed: Option<Vec<Uid>>,
    existing: Existing,
    by: FeedImporter,
    now: Millis,
) -> Result<Step> {
    let Existing { claim, state, body: before } = existing;
    if let Some(refused) = changes_what_is_fixed(draft, &state).filter(|_| by == FeedImporter::Person) {
        return Ok(Step::Done(Outcome::Refused(refused)));
    }
    let prior = Some(PriorAudience::from(&state));
    let content = Content::of(draft, before.as_ref(), addressed, &state);
    let fingerprint = content.fingerprint()?;
    if fingerprint == claim.fingerprint {
        return Ok(Step::Done(Outcome::Unchanged(claim.id)));
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
    Ok(Step::Write(Box::new(acceptance), Outcome::Updated(claim.id)))
}

/// An activity keeps its place in every order and under every filter, so what decides that stays as it was.
fn changes_what_is_fixed(draft: &Draft, state: &State) -> Option<Refused> {
    let fixed = |field: &str, value: &str| {
        Some(Refused::new(field, format!("was fixed by the first version: {value}; leave it as it was")))
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

/// A change is always seen as one: `updated` is later than before, also within a millisecond.
fn later_than(before: Millis, now: Millis) -> Millis {
    Millis(now.0.max(before.0.saturating_add(1)))
}

/// The version that takes an activity back. What it said is not kept.
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
