//! Activities. Accepting a version stores an intent, claims the external key, publishes the message, and writes entry
//! and state. The state is written last: if it exists, everything else does. If a claimed version has no state yet,
//! the next process that reads the claim finishes it.

use super::db::{activity_id, corrupt, uuid};
use super::log::StoredIntent;
use super::replicas::ReadByKey;
use super::{CqlStore, Lwt, Query, concurrently};
use crate::codec::{BodyCell, Encoded, StateCell};
use crate::message::{AcceptedVersion, Intent, version_key};
use crate::{Acceptance, Accepted, Activities, ActivityRecord, Claim, ExternalKey, Result, StoreError};
use async_trait::async_trait;
use model::{Activity, ActivityId, Entry, Position, PriorAudience, State, Version};
use std::borrow::Cow;
use std::collections::HashMap;
use uuid::Uuid;

type ClaimRow = (Uuid, i64, Vec<u8>, bool);
type ActivityRow = (Uuid, Option<Vec<u8>>, Option<Vec<u8>>);

const CLAIM: Query = Query::read(
    "SELECT aid, ver, fingerprint, deleted FROM ident.claim WHERE actor = ? AND service = ? AND source_id = ?",
);
const INSERT_CLAIM: Lwt = Lwt::new(
    "INSERT INTO ident.claim (actor, service, source_id, aid, ver, fingerprint, deleted, op)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS",
    CLAIMED_BY,
);
const UPDATE_CLAIM: Lwt = Lwt::new(
    "UPDATE ident.claim SET aid = ?, ver = ?, fingerprint = ?, deleted = ?, op = ?
     WHERE actor = ? AND service = ? AND source_id = ? IF ver = ?",
    CLAIMED_BY,
);
const CLAIMED_BY: &str = "SELECT ver, op FROM ident.claim WHERE actor = ? AND service = ? AND source_id = ?";
const COPY_CLAIM: Query = Query::write(
    "INSERT INTO ident.claim (actor, service, source_id, aid, ver, fingerprint, deleted, op)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP 1",
);
const STATES: ReadByKey = ReadByKey {
    table: "activity",
    one: Query::read("SELECT aid, state FROM feed.activity WHERE aid = ?"),
    many: Query::read("SELECT aid, state FROM feed.activity WHERE aid IN ?"),
};
const ACTIVITIES: ReadByKey = ReadByKey {
    table: "activity",
    one: Query::read("SELECT aid, state, body FROM feed.activity WHERE aid = ?"),
    many: Query::read("SELECT aid, state, body FROM feed.activity WHERE aid IN ?"),
};
const PUT: Query =
    Query::write("INSERT INTO feed.activity (aid, state, body) VALUES (?, ?, ?) USING TIMESTAMP ?");
const PUT_STATE: Query =
    Query::write("INSERT INTO feed.activity (aid, state) VALUES (?, ?) USING TIMESTAMP ?");
const PUT_BODY: Query =
    Query::write("UPDATE feed.activity USING TIMESTAMP ? AND TTL ? SET body = ? WHERE aid = ?");

fn claim_of((aid, version, fingerprint, deleted): ClaimRow) -> Result<Claim> {
    let fingerprint = fingerprint.try_into().map_err(|_| corrupt("invalid length of a fingerprint"))?;
    Ok(Claim { id: activity_id(aid)?, version: Version(version), fingerprint, deleted })
}

fn read_state(cell: &[u8]) -> Result<(State, Option<PriorAudience>)> {
    let StateCell { state, prior } = StateCell::decoded(cell)?;
    Ok((state.into_owned(), prior))
}

impl CqlStore {
    async fn state_row(&self, id: ActivityId) -> Result<Option<(State, Option<PriorAudience>)>> {
        Ok(self.state_rows(&[id]).await?.pop().flatten())
    }

    /// The states of these activities, in order.
    async fn state_rows(&self, ids: &[ActivityId]) -> Result<Vec<Option<(State, Option<PriorAudience>)>>> {
        let keys: Vec<Uuid> = ids.iter().copied().map(uuid).collect();
        let rows: Vec<(Uuid, Option<Vec<u8>>)> = self.db.rows_by_key(&STATES, &keys).await?;
        let cells: HashMap<Uuid, Option<Vec<u8>>> = rows.into_iter().collect();
        let cells = keys.iter().map(|key| cells.get(key).and_then(Option::as_deref));
        cells.map(|cell| cell.map(read_state).transpose()).collect()
    }

    /// State and body are written together with one timestamp, so both are of one version. Only the body expires.
    fn activity(&self, state: &[u8], body: &[u8]) -> Result<Option<Activity>> {
        let (state, _) = read_state(state)?;
        let body = BodyCell::decoded(body)?;
        if body.version < state.version && self.retention.is_some() {
            // The body of this version has expired, and an earlier one was written when there was no retention.
            return Ok(None);
        }
        if body.version != state.version {
            return Err(corrupt("state and body have different versions"));
        }
        Ok(Some(Activity { state, body: body.body.into_owned() }))
    }

    /// Whether a version or a later one is stored, with everything that belongs to it.
    pub(super) async fn has_version(&self, id: ActivityId, version: Version) -> Result<bool> {
        Ok(self.state_row(id).await?.is_some_and(|(state, _)| state.version >= version))
    }

    /// Writes an accepted version: the actor's entry, then the state.
    pub(super) async fn write_version(&self, accepted: &AcceptedVersion, at: Position) -> Result<()> {
        let state = &accepted.activity.state;
        let own = Entry::of(state, model::EntryReason::Authored, state.deleted);
        let prior = accepted.prior.as_ref().map(|before| before.visibility);
        self.deliver_entries(at, &[(state.actor, Entry { prior, ..own })]).await?;
        self.write_activity(&accepted.activity, accepted.before.as_ref()).await
    }

    /// Writes state and body of an activity. The later version wins.
    async fn write_activity(
        &self,
        Activity { state, body }: &Activity,
        before: Option<&PriorAudience>,
    ) -> Result<()> {
        let body = BodyCell { version: state.version, body: Cow::Borrowed(body) }.encoded();
        let cell = StateCell { state: Cow::Borrowed(state), prior: before.cloned() }.encoded();
        #[cfg(feature = "next-schema")]
        super::next_schema::write(&self.db, state).await?;
        let (id, version) = (uuid(state.id), state.version.0);
        if self.retention.is_none() {
            return self.db.write(&PUT, (id, cell, body, version)).await;
        }
        let (ttl, body) = match self.ttl(state.received) {
            Some(ttl) => (ttl, Some(body)),
            // Deletes the body of the version before.
            None => (0, None),
        };
        let values = ((id, cell, version), (version, ttl, body, id));
        self.db.write_both(&PUT_STATE, &PUT_BODY, values).await
    }

    /// Writes an activity of another store with its claim, before any other process writes there.
    pub(super) async fn copy_claimed_activity(&self, record: &ActivityRecord) -> Result<()> {
        if let Some((ExternalKey { actor, service, id }, claim)) = &record.claim {
            let Claim { id: aid, version, fingerprint, deleted } = claim;
            let found = (uuid(*aid), version.0, fingerprint.as_slice(), deleted, Uuid::nil());
            let values = (actor.0, service, id, found.0, found.1, found.2, found.3, found.4);
            self.db.write(&COPY_CLAIM, values).await?;
        }
        self.write_activity(&record.activity, record.prior.as_ref()).await
    }

    /// Claims the external key for an acceptance whose intent is stored. `None`: this acceptance has won the claim.
    async fn take_claim(&self, item: &Acceptance) -> Result<Option<Accepted>> {
        let ExternalKey { actor, service, id } = &item.source;
        let (state, op) = (&item.activity.state, Uuid::new_v4());
        let fingerprint = item.fingerprint.as_slice();
        let key = (actor.0, service, id);
        let before = item.before.map(|before| before.0);
        let ours = |found: Option<(i64, Uuid)>| match found {
            Some((_, by)) if by == op => Some(true),
            found if found.map(|(version, _)| version) == before => None,
            _ => Some(false),
        };
        let (aid, version) = (uuid(state.id), state.version.0);
        let mine = match before {
            None => {
                let values = (actor.0, service, id, aid, version, fingerprint, state.deleted, op);
                self.db.apply_lwt(&INSERT_CLAIM, values, key, ours).await?
            }
            Some(before) => {
                let values = (aid, version, fingerprint, state.deleted, op, actor.0, service, id, before);
                self.db.apply_lwt(&UPDATE_CLAIM, values, key, ours).await?
            }
        };
        if mine {
            return Ok(None);
        }
        let current = self.db.row::<ClaimRow>(&CLAIM, key).await?.map(claim_of).transpose()?;
        Ok(Some(Accepted::Conflict(current)))
    }

    /// Stores the intents of acceptances with the same external key and claims it, in order.
    async fn claim_in_order(&self, items: Vec<(usize, &Acceptance)>) -> Result<Vec<(usize, ClaimOutcome)>> {
        let mut claimed = Vec::new();
        let mut known: Option<(ActivityId, Option<PriorAudience>)> = None;
        for (number, item) in items {
            let id = item.activity.state.id;
            let earlier = match (known.take(), &item.prior) {
                (Some((last, before)), _) if last == id => before,
                (_, None) => None,
                (_, Some(_)) => self.state_row(id).await?.and_then(|(_, before)| before),
            };
            let before = PriorAudience::union(earlier, item.prior.clone());
            known = Some((id, before.clone()));
            let stored = self.store_intent(Intent::version(item, before)).await?;
            claimed.push((
                number,
                match self.take_claim(item).await? {
                    None => ClaimOutcome::Won(Box::new(stored)),
                    Some(conflict) => ClaimOutcome::Lost(conflict),
                },
            ));
        }
        Ok(claimed)
    }
}

enum ClaimOutcome {
    Won(Box<StoredIntent>),
    Lost(Accepted),
}

#[async_trait]
impl Activities for CqlStore {
    async fn claim(&self, key: &ExternalKey) -> Result<Option<Claim>> {
        let row = self.db.row::<ClaimRow>(&CLAIM, (key.actor.0, &key.service, &key.id)).await?;
        let Some(claim) = row.map(claim_of).transpose()? else { return Ok(None) };
        if !self.has_version(claim.id, claim.version).await? {
            let key = version_key(claim.id, claim.version);
            self.finish_intent(&key, &key.id).await?;
        }
        Ok(Some(claim))
    }

    async fn accept(&self, batch: Vec<Acceptance>) -> Result<Vec<Accepted>> {
        let mut by_key: HashMap<&ExternalKey, Vec<(usize, &Acceptance)>> = HashMap::new();
        for (number, item) in batch.iter().enumerate() {
            by_key.entry(&item.source).or_default().push((number, item));
        }
        let claimed = concurrently(by_key.into_values().map(|items| self.claim_in_order(items))).await?;
        let mut claimed: Vec<(usize, ClaimOutcome)> = claimed.into_iter().flatten().collect();
        claimed.sort_by_key(|(number, _)| *number);
        // Published in the order of the batch, so that later items have larger positions.
        let mine = claimed.iter().filter_map(|(_, outcome)| match outcome {
            ClaimOutcome::Won(stored) => Some(stored.as_ref()),
            ClaimOutcome::Lost(_) => None,
        });
        let mut positions = self.publish_all(mine).await?.into_iter();
        let outcomes = claimed.into_iter().map(|(_, outcome)| match outcome {
            ClaimOutcome::Won(stored) => (positions.next(), Err(stored)),
            ClaimOutcome::Lost(conflict) => (None, Ok(conflict)),
        });
        let outcomes: Vec<_> = outcomes.collect();
        let accepted = concurrently(outcomes.into_iter().map(|outcome| async move {
            match outcome {
                (_, Ok(conflict)) => Ok(conflict),
                (Some(position), Err(stored)) => {
                    self.apply_intent(&stored.intent, position).await?;
                    Ok(Accepted::Stored(position))
                }
                (None, Err(_)) => {
                    Err(StoreError::Unknown("the outcome of publishing a task is unknown".to_owned()))
                }
            }
        }))
        .await?;
        let stored = batch.iter().zip(&accepted).filter(|(_, one)| matches!(one, Accepted::Stored(_)));
        // The versions are stored: a failure to count them is none of the caller's.
        if let Err(error) = self.usage.count(stored.map(|(item, _)| item)).await {
            tracing::warn!(%error, "usage not written");
        }
        Ok(accepted)
    }

    async fn states(&self, ids: &[ActivityId]) -> Result<Vec<Option<State>>> {
        let rows = self.state_rows(ids).await?;
        Ok(rows.into_iter().map(|row| row.map(|(state, _)| state)).collect())
    }

    async fn prior_audiences(&self, ids: &[ActivityId]) -> Result<Vec<Option<PriorAudience>>> {
        let rows = self.state_rows(ids).await?;
        Ok(rows.into_iter().map(|row| row.and_then(|(_, prior)| prior)).collect())
    }

    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Option<Activity>>> {
        let keys: Vec<Uuid> = ids.iter().copied().map(uuid).collect();
        let rows: Vec<ActivityRow> = self.db.rows_by_key(&ACTIVITIES, &keys).await?;
        let cells: HashMap<Uuid, _> =
            rows.into_iter().map(|(key, state, body)| (key, (state, body))).collect();
        let mut activities = Vec::with_capacity(ids.len());
        for id in ids {
            let Some((Some(state), Some(body))) = cells.get(&uuid(*id)) else {
                activities.push(None);
                continue;
            };
            #[cfg(feature = "next-schema")]
            super::next_schema::verify(&self.db, *id).await?;
            activities.push(self.activity(state, body)?);
        }
        Ok(activities)
    }

    async fn search(&self, _: &str, _: Option<i64>, _: usize) -> Result<Vec<(ActivityId, i64)>> {
        Ok(Vec::new())
    }
}
