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
use crate::following;
use futures::{StreamExt, TryStreamExt, stream};
use model::{
    Account, AccountName, Activity, ActivityId, AddressableBy, Body, Clock, FanoutStage, Millis, Quota,
    QuotaReached, Quotas, State, Uid,
};
use moka::sync::Cache;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use store::trace::SPANS;
use store::{Acceptance, Accepted, Claim, ExternalKey, Result, Store, StoreError, Usage};
use tracing::{Instrument, field, info_span};

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
    /// How much an account may store, and for how long it counts. `None`: no quotas.
    quotas: Option<(Quotas, Option<Duration>)>,
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
    /// The account has as much as it may.
    Quota(QuotaReached),
}

/// What an account may still store.
struct Room {
    quotas: Quotas,
    left: Usage,
}

impl Room {
    /// Takes room for a version. What takes no more room than before is always accepted.
    fn take(&mut self, usage: Usage) -> std::result::Result<(), QuotaReached> {
        if usage.activities > self.left.activities.max(0) {
            return Err(QuotaReached { quota: Quota::Activities, max: self.quotas.activities });
        }
        if usage.bytes > self.left.bytes.max(0) {
            return Err(QuotaReached { quota: Quota::Bytes, max: self.quotas.bytes });
        }
        self.left = self.left.plus(Usage { activities: -usage.activities, bytes: -usage.bytes });
        Ok(())
    }
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

/// An account that an activity of the actor may address.
#[derive(Clone, Copy)]
struct Recipient {
    uid: Uid,
    created: Millis,
    /// Whether the actor may address it now.
    accepts: bool,
}

/// Recipients by name, each looked up once in a call.
#[derive(Default)]
struct Recipients(HashMap<AccountName, Option<Recipient>>);

impl Recipients {
    fn get(&self, name: &AccountName) -> Option<Recipient> {
        self.0.get(name).copied().flatten()
    }

    /// The account, if an activity reaches it by this name. A name that an earlier version of the activity had keeps the
    /// judgement of that version. A refusal is invisible to the sender: the name then counts like an unknown one.
    fn reached(&self, name: &AccountName, before: Option<&ExistingActivity>) -> Option<Uid> {
        let Recipient { uid, created, accepts } = self.get(name)?;
        let judged = before.filter(|before| {
            let is_named = before.body.as_ref().is_some_and(|body| body.to.contains(name));
            is_named && created <= before.state.updated
        });
        judged.map_or(accepts, |before| before.state.addressed.contains(&uid)).then_some(uid)
    }

    /// Looks up the names that are not known yet. Removed accounts count as unknown.
    async fn load<'a>(
        &mut self,
        store: &dyn Store,
        actor: &Account,
        names: impl Iterator<Item = &'a AccountName>,
    ) -> Result<()> {
        let missing: HashSet<AccountName> =
            names.filter(|name| !self.0.contains_key(name)).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<AccountName> = missing.into_iter().collect();
        let lookups: Vec<_> = missing.iter().map(|name| store.account_by_name(name)).collect();
        let found: Vec<Option<Account>> = stream::iter(lookups).buffered(CONCURRENCY).try_collect().await?;
        // For unknown names too, so that the duration does not reveal which exist.
        let relations = store.relations(&actor.name, &missing).await?;
        let recipients = found.into_iter().zip(relations).map(|(account, relation)| async move {
            let Some(account) = account.filter(|account| !account.removed) else { return Ok(None) };
            let accepts = match account.addressable_by {
                _ if account.uid == actor.uid => true,
                _ if relation.blocked_by => false,
                AddressableBy::Everyone => true,
                AddressableBy::Nobody => false,
                AddressableBy::Following => {
                    let edge = following::edge(store, account.uid, actor.uid).await?;
                    edge.is_some_and(|edge| edge.following)
                }
            };
            Ok::<_, StoreError>(Some(Recipient { uid: account.uid, created: account.created, accepts }))
        });
        let recipients: Vec<_> = recipients.collect();
        let recipients: Vec<_> = stream::iter(recipients).buffered(CONCURRENCY).try_collect().await?;
        self.0.extend(missing.into_iter().zip(recipients));
        Ok(())
    }
}

impl Ingest {
    /// Accepts activities into this store, with the times of this clock.
    pub fn new(store: Arc<dyn Store>, clock: Clock) -> Ingest {
        Ingest { store, clock, randomness: Randomness::system(), pulled: None, quotas: None }
    }

    /// Caches for this long which accounts are in pull mode.
    #[must_use]
    pub fn caching_fanout_states(self, ttl: Duration) -> Ingest {
        let cache = Cache::builder().max_capacity(MAX_CACHED).time_to_live(ttl).build();
        Ingest { pulled: Some(Arc::new(cache)), ..self }
    }

    /// Limits what an account may store. Activities older than the retention do not count.
    #[must_use]
    pub fn with_quotas(self, quotas: Quotas, retention: Option<Duration>) -> Ingest {
        Ingest { quotas: Some((quotas, retention)), ..self }
    }

    /// What the account may still store.
    async fn room(&self, actor: Uid) -> Result<Option<Room>> {
        let Some((quotas, retention)) = self.quotas else { return Ok(None) };
        let age = |retention: Duration| i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
        let since = retention.map(|retention| Millis(self.clock.now().0.saturating_sub(age(retention))));
        let used = self.store.usage(actor, since).await?;
        let left = |max: u64, used: i64| i64::try_from(max).unwrap_or(i64::MAX).saturating_sub(used);
        let left = Usage {
            activities: left(quotas.activities, used.activities),
            bytes: left(quotas.bytes, used.bytes),
        };
        Ok(Some(Room { quotas, left }))
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
        self.accept_all(actor, inputs).await
    }

    /// Accepts validated activities of `actor`, in the same way.
    pub async fn accept(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.accept_all(actor, drafts.into_iter().map(Input::Draft)).await
    }

    /// Accepts drafts of a source, which repeats the same items again and again: deleted activities stay deleted, and
    /// fields fixed by the first version stay as they are.
    pub async fn import(&self, actor: &Account, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
        self.accept_all(actor, drafts.into_iter().map(Input::SourceItem)).await
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

    async fn accept_all(&self, actor: &Account, inputs: impl Iterator<Item = Input>) -> Result<Vec<Outcome>> {
        let waiting = inputs.enumerate().map(|(at, input)| Waiting { at, key: input.key(actor.uid), input });
        let mut waiting: Vec<Waiting> = waiting.collect();
        let mut outcomes: Vec<Option<Outcome>> = waiting.iter().map(|_| None).collect();
        let (mut recipients, mut ids) = (Recipients::default(), Ids::new(&self.randomness));
        let mut room = self.room(actor.uid).await?;
        let mut fruitless = 0;
        while !waiting.is_empty() {
            if fruitless == MAX_FRUITLESS_ROUNDS {
                return Err(StoreError::Unavailable(
                    "too many concurrent writes of the same activities".to_owned(),
                ));
            }
            let before = waiting.len();
            let round = Round { actor, recipients: &mut recipients, ids: &mut ids, room: room.as_mut() };
            waiting = self.round(round, waiting, &mut outcomes).await?;
            fruitless = if waiting.len() < before { 0 } else { fruitless + 1 };
        }
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// One read and one write for the first activity of each external key. Returns the activities that still wait.
    async fn round(
        &self,
        Round { actor, recipients, ids, mut room }: Round<'_, '_>,
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
        recipients.load(self.store.as_ref(), actor, to).await?;
        let (mut writes, mut written) = (Vec::new(), Vec::new());
        for (at, input, draft, existing) in drafts {
            match input.action(external_key(actor.uid, &draft), &draft, existing, recipients, ids, now)? {
                Action::Done(outcome) => set(outcomes, at, outcome),
                Action::Write(acceptance, outcome) => {
                    match room.as_mut().map_or(Ok(()), |room| room.take(acceptance.usage)) {
                        Ok(()) => {
                            writes.push(*acceptance);
                            written.push((at, outcome));
                        }
                        Err(reached) => set(outcomes, at, Outcome::Quota(reached)),
                    }
                }
            }
        }
        if !writes.is_empty() {
            let accepted = self.write_versions(actor.uid, writes).await?;
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
        let activities = versions.len() as i64;
        let span = info_span!(target: SPANS, "accept", tofrom.activities = activities, tofrom.activity = field::Empty);
        if let [one] = versions.as_slice() {
            span.record("tofrom.activity", field::display(one.activity.state.id));
        }
        self.store.accept(versions).instrument(span).await
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

/// What the rounds of a call share.
struct Round<'a, 'b> {
    actor: &'a Account,
    recipients: &'a mut Recipients,
    ids: &'a mut Ids<'b>,
    room: Option<&'a mut Room>,
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
        recipients: &Recipients,
        ids: &mut Ids<'_>,
        now: Millis,
    ) -> Result<Action> {
        if let Input::Submission(submission, UnknownRecipients::Refuse) = self
            && let Err(refused) = submission.check_recipients(|name| recipients.get(name).is_some())
        {
            return Ok(Action::Done(Outcome::Refused(refused)));
        }
        let before = existing.as_ref().and_then(|existing| existing.activity.as_ref());
        let before = before.filter(|before| !before.state.deleted);
        let reached = |name: &AccountName| recipients.reached(name, before);
        let addressed = draft.to.as_deref().map(|to| addressed(to, reached));
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
