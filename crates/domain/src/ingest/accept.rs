//! Writes activities to the store.
//!
//! The existing activity with the same external key (actor, service, source id) decides the outcome: a new activity, a
//! new version of the existing one, or nothing if the content is equal. Claim and activity are read once per round.
//! Another writer may come in between the read and the write. The store then reports a conflict, and the next round
//! starts from the fresh state.

use super::submission::{Submission, UnknownRecipients};
use super::versions::{
    Ids, Randomness, addressed, changed_fixed_field, deletion, external_key, first_version, next_version,
};
use super::{Draft, Refused};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Activity, ActivityId, Body, Clock, FanoutStage, Millis, State, Uid};
use moka::sync::Cache;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use store::{Acceptance, Accepted, Claim, ExternalKey, Result, Store, StoreError};

/// The maximum number of concurrent lookups.
const CONCURRENCY: usize = 16;
/// How many rounds in a row may end with nothing but conflicts before the caller gets an error.
const MAX_FRUITLESS_ROUNDS: usize = 8;
/// The maximum number of accounts whose fan-out mode is cached.
const MAX_CACHED: u64 = 100_000;

/// Accepts activities.
#[derive(Clone)]
pub struct Ingest {
    store: Arc<dyn Store>,
    clock: Clock,
    randomness: Randomness,
    /// Whether an account is in pull mode; `None` turns caching off. It may be stale: while an account changes its
    /// mode, its followers are prepared for both.
    pulled: Option<Arc<Cache<Uid, bool>>>,
}

/// The outcome for an activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A new activity was created.
    Created(ActivityId),
    /// The activity was updated.
    Updated(ActivityId),
    /// The activity has this content already.
    Unchanged(ActivityId),
    /// The activity is invalid, or changes a field that cannot be changed.
    Refused(Refused),
}

/// An activity that waits for its outcome.
struct Waiting {
    /// Its place in the batch.
    at: usize,
    /// `None` if it has no valid one, which validation refuses.
    key: Option<ExternalKey>,
    input: Input,
}

/// An activity from one of the three origins.
enum Input {
    Submission(Submission, UnknownRecipients),
    Draft(Draft),
    SourceItem(Draft),
}

/// What the store has of an external key.
struct Existing {
    claim: Claim,
    /// `None` if the claim says that it is deleted.
    activity: Option<ExistingActivity>,
}

/// An activity that a new version builds on.
pub(super) struct ExistingActivity {
    pub(super) state: State,
    /// `None` if it has expired. Later versions are then stored as usual, and stay invisible.
    pub(super) body: Option<Body>,
}

/// The next action for a draft.
enum Action {
    Done(Outcome),
    Write(Box<Acceptance>, Outcome),
}

/// Accounts by name, each looked up once in a call.
#[derive(Default)]
struct Names(HashMap<AccountName, Option<Uid>>);

impl Names {
    fn uid(&self, name: &AccountName) -> Option<Uid> {
        self.0.get(name).copied().flatten()
    }

    /// Looks up the names that are not known yet. Removed accounts count as unknown.
    async fn load<'a>(
        &mut self,
        store: &dyn Store,
        names: impl Iterator<Item = &'a AccountName>,
    ) -> Result<()> {
        let missing: HashSet<AccountName> =
            names.filter(|name| !self.0.contains_key(name)).cloned().collect();
        let lookups = missing.into_iter().map(|name| async move {
            let account = store.account_by_name(&name).await?.filter(|account| !account.removed);
            Ok::<_, StoreError>((name, account.map(|account| account.uid)))
        });
        let lookups: Vec<_> = lookups.collect();
        let found: Vec<_> = stream::iter(lookups).buffer_unordered(CONCURRENCY).try_collect().await?;
        self.0.extend(found);
        Ok(())
    }
}

impl Ingest {
    /// Accepts activities into this store, with the times of this clock.
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Ingest {
        Ingest { store, clock, randomness: Randomness::system(), pulled: None }
    }

    /// Caches for this long which accounts are in pull mode.
    #[must_use]
    pub fn caching_fanout_states(self, ttl: Duration) -> Ingest {
        let cache = Cache::builder().max_capacity(MAX_CACHED).time_to_live(ttl).build();
        Ingest { pulled: Some(Arc::new(cache)), ..self }
    }

    /// Uses this source of randomness for identifiers.
    pub fn with_randomness(self, randomness: Randomness) -> Ingest {
        Ingest { randomness, ..self }
    }

    /// Validates and accepts activities of `actor`. Fields that a submission omits are kept of the existing activity.
    /// Returns an outcome for each, in order. On return all of them are durable. After an error some may be; submitting
    /// the same again is safe.
    pub async fn submit(
        &self,
        actor: &Account,
        submissions: Vec<Submission>,
        unknown: UnknownRecipients,
    ) -> Result<Vec<Outcome>> {
        let inputs = submissions.into_iter().map(|one| Input::Submission(one, unknown));
        self.accept_all(actor.uid, inputs).await
    }

    /// Accepts validated activities of `actor`, in the same way.
    pub async fn accept(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.accept_all(actor.uid, drafts.into_iter().map(Input::Draft)).await
    }

    /// Accepts drafts of a source, which repeats the same items again and again: deleted activities stay deleted, and
    /// fields fixed by the first version stay as they are.
    pub async fn import(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.accept_all(actor.uid, drafts.into_iter().map(Input::SourceItem)).await
    }

    /// The activity with this external key, unless it is deleted.
    pub async fn activity(&self, key: &ExternalKey) -> Result<Option<Activity>> {
        let existing = self.existing(std::slice::from_ref(key)).await?.remove(key);
        let existing = existing.and_then(|existing| existing.activity);
        let live = existing.filter(|activity| !activity.state.deleted);
        Ok(live.and_then(|ExistingActivity { state, body }| Some(Activity { state, body: body? })))
    }

    /// Deletes the activity with this external key. `false` if there is none.
    pub async fn delete(&self, key: &ExternalKey) -> Result<bool> {
        for _ in 0..MAX_FRUITLESS_ROUNDS {
            let existing = self.existing(std::slice::from_ref(key)).await?.remove(key);
            let Some(Existing { claim, activity }) = existing.filter(|existing| !existing.claim.deleted)
            else {
                return Ok(false);
            };
            let activity = activity.ok_or_else(|| claimed_but_missing(claim.id))?;
            let deletion = deletion(key, &claim, activity, self.clock.now())?;
            if let Some(Accepted::Stored(_)) = self.write_versions(key.actor, vec![deletion]).await?.first() {
                return Ok(true);
            }
        }
        Err(StoreError::Unavailable("too many concurrent writes of the same activity".to_owned()))
    }

    async fn accept_all(&self, actor: Uid, inputs: impl Iterator<Item = Input>) -> Result<Vec<Outcome>> {
        let waiting = inputs.enumerate().map(|(at, input)| Waiting { at, key: input.key(actor), input });
        let mut waiting: Vec<Waiting> = waiting.collect();
        let mut outcomes: Vec<Option<Outcome>> = waiting.iter().map(|_| None).collect();
        let (mut names, mut ids) = (Names::default(), Ids::new(&self.randomness));
        let mut fruitless = 0;
        while !waiting.is_empty() {
            if fruitless == MAX_FRUITLESS_ROUNDS {
                return Err(StoreError::Unavailable(
                    "too many concurrent writes of the same activities".to_owned(),
                ));
            }
            let before = waiting.len();
            waiting = self.round(actor, &mut names, &mut ids, waiting, &mut outcomes).await?;
            fruitless = if waiting.len() < before { 0 } else { fruitless + 1 };
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// One read and one write for the first activity of each external key. Returns the activities that still wait.
    async fn round(
        &self,
        actor: Uid,
        names: &mut Names,
        ids: &mut Ids<'_>,
        waiting: Vec<Waiting>,
        outcomes: &mut [Option<Outcome>],
    ) -> Result<Vec<Waiting>> {
        // A second activity of the same external key builds upon the first: it waits for the next round.
        let mut seen = HashSet::new();
        let (current, mut later): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|one| one.key.as_ref().is_none_or(|key| seen.insert(key.clone())));
        let keys: Vec<ExternalKey> = current.iter().filter_map(|one| one.key.clone()).collect();
        let mut existing = self.existing(&keys).await?;
        let now = self.clock.now();
        let mut drafts = Vec::with_capacity(current.len());
        for Waiting { at, key, input } in &current {
            let existing = key.as_ref().and_then(|key| existing.remove(key));
            match input.draft(existing.as_ref(), now) {
                Ok(draft) => drafts.push((*at, input, draft, existing)),
                Err(refused) => set(outcomes, *at, Outcome::Refused(refused)),
            }
        }
        let to = drafts.iter().flat_map(|(_, _, draft, _)| draft.to.iter().flatten());
        names.load(self.store.as_ref(), to).await?;
        let (mut writes, mut written) = (Vec::new(), Vec::new());
        for (at, input, draft, existing) in drafts {
            match input.action(external_key(actor, &draft), &draft, existing, names, ids, now)? {
                Action::Done(outcome) => set(outcomes, at, outcome),
                Action::Write(acceptance, outcome) => {
                    writes.push(*acceptance);
                    written.push((at, outcome));
                }
            }
        }
        if !writes.is_empty() {
            let accepted = self.write_versions(actor, writes).await?;
            let mut conflicts = HashSet::new();
            for ((at, outcome), accepted) in written.into_iter().zip(accepted) {
                match accepted {
                    Accepted::Stored(_) => set(outcomes, at, outcome),
                    Accepted::Conflict(_) => drop(conflicts.insert(at)),
                }
            }
            later.extend(current.into_iter().filter(|one| conflicts.contains(&one.at)));
        }
        // Activities of the same external key keep their order.
        later.sort_by_key(|one| one.at);
        Ok(later)
    }

    /// The claims of these external keys, with the activities of those that are not deleted.
    async fn existing(&self, keys: &[ExternalKey]) -> Result<HashMap<ExternalKey, Existing>> {
        let lookups: Vec<_> = keys.iter().map(|key| self.store.claim(key)).collect();
        let claims: Vec<Option<Claim>> = stream::iter(lookups).buffered(CONCURRENCY).try_collect().await?;
        let live: Vec<ActivityId> =
            claims.iter().flatten().filter(|claim| !claim.deleted).map(|claim| claim.id).collect();
        let mut activities = self.existing_activities(&live).await?.into_iter();
        let existing = keys.iter().zip(claims).filter_map(|(key, claim)| {
            let claim = claim?;
            let activity = if claim.deleted { None } else { activities.next().flatten() };
            Some((key.clone(), Existing { claim, activity }))
        });
        Ok(existing.collect())
    }

    /// These activities, those with an expired body included.
    async fn existing_activities(&self, ids: &[ActivityId]) -> Result<Vec<Option<ExistingActivity>>> {
        let with_bodies = self.store.activities(ids).await?;
        let missing = ids.iter().zip(&with_bodies).filter(|(_, found)| found.is_none());
        let missing: Vec<ActivityId> = missing.map(|(id, _)| *id).collect();
        let mut states = match missing.is_empty() {
            true => Vec::new(),
            false => self.store.states(&missing).await?,
        }
        .into_iter();
        let existing = with_bodies.into_iter().map(|found| match found {
            Some(Activity { state, body }) => Some(ExistingActivity { state, body: Some(body) }),
            None => states.next().flatten().map(|state| ExistingActivity { state, body: None }),
        });
        Ok(existing.collect())
    }

    /// Writes versions of activities of `actor` to the store, marked with the actor's fan-out mode.
    async fn write_versions(&self, actor: Uid, mut versions: Vec<Acceptance>) -> Result<Vec<Accepted>> {
        let pulled = self.is_pulled(actor).await?;
        versions.iter_mut().for_each(|one| one.activity.state.pulled = pulled);
        self.store.accept(versions).await
    }

    /// Whether the account is in pull mode. Its activities are marked when they are accepted.
    async fn is_pulled(&self, uid: Uid) -> Result<bool> {
        if let Some(known) = self.pulled.as_ref().and_then(|cache| cache.get(&uid)) {
            return Ok(known);
        }
        let states = self.store.fanout_states(&[uid]).await?;
        let pulled = states.iter().any(|state| state.stage == FanoutStage::Pull);
        if let Some(cache) = &self.pulled {
            cache.insert(uid, pulled);
        }
        Ok(pulled)
    }
}

impl Input {
    fn key(&self, actor: Uid) -> Option<ExternalKey> {
        match self {
            Input::Submission(submission, _) => submission.external_key(actor),
            Input::Draft(draft) | Input::SourceItem(draft) => Some(external_key(actor, draft)),
        }
    }

    /// The validated activity, in the context of the existing one.
    fn draft(
        &self,
        existing: Option<&Existing>,
        now: Millis,
    ) -> std::result::Result<Cow<'_, Draft>, Refused> {
        match self {
            Input::Submission(submission, _) => {
                let existing = existing.and_then(|existing| existing.activity.as_ref());
                let existing = existing.filter(|activity| !activity.state.deleted);
                Ok(Cow::Owned(submission.validate(existing, now)?))
            }
            Input::Draft(draft) | Input::SourceItem(draft) => Ok(Cow::Borrowed(draft)),
        }
    }

    fn action(
        &self,
        key: ExternalKey,
        draft: &Draft,
        existing: Option<Existing>,
        names: &Names,
        ids: &mut Ids<'_>,
        now: Millis,
    ) -> Result<Action> {
        if let Input::Submission(submission, UnknownRecipients::Refuse) = self
            && let Err(refused) = submission.check_recipients(|name| names.uid(name).is_some())
        {
            return Ok(Action::Done(Outcome::Refused(refused)));
        }
        let addressed = draft.to.as_deref().map(|to| addressed(to, |name| names.uid(name)));
        let is_source = matches!(self, Input::SourceItem(_));
        let deleted = match existing {
            Some(Existing { claim, activity }) if !claim.deleted => {
                let activity = activity.ok_or_else(|| claimed_but_missing(claim.id))?;
                if let Some(refused) = changed_fixed_field(draft, &activity.state).filter(|_| !is_source) {
                    return Ok(Action::Done(Outcome::Refused(refused)));
                }
                let next = next_version(&key, draft, addressed, (&claim, &activity), now)?;
                return Ok(match next {
                    Some(next) => Action::Write(Box::new(next), Outcome::Updated(claim.id)),
                    None => Action::Done(Outcome::Unchanged(claim.id)),
                });
            }
            deleted => deleted.map(|existing| existing.claim),
        };
        match deleted {
            Some(claim) if is_source => Ok(Action::Done(Outcome::Unchanged(claim.id))),
            claim => {
                let first = first_version(key, draft, addressed, claim.as_ref(), ids, now)?;
                let outcome = Outcome::Created(first.activity.state.id);
                Ok(Action::Write(Box::new(first), outcome))
            }
        }
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

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
