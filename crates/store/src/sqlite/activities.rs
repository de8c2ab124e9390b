//! Activities: claims, states, bodies.

use super::changes::note;
use super::entries::EntryWriter;
use super::facets::{Facets, View};
use super::pool::snapshot;
use super::values::{
    activity_id, millis, pack_uids, state_flags, unpack_state_flags, unpack_uids, version, visibility_number,
};
use super::{SqliteStore, log, search, usage};
use crate::codec::{Encoded, visibility_of};
use crate::dependencies::{Part, Subject, depends_on};
use crate::{Acceptance, Accepted, Activities, Claim, ExternalKey, Result, Work, trace};
use async_trait::async_trait;
use model::{Activity, ActivityId, Body, Entry, PriorAudience, State, TraceContext, Uid};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

const CLAIM: &str = "SELECT aid, ver, fingerprint, deleted FROM claim
     WHERE actor = ?1 AND service = ?2 AND source_id = ?3";

pub(super) const PUT_CLAIM: &str =
    "INSERT INTO claim (actor, service, source_id, aid, ver, fingerprint, deleted)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (actor, service, source_id) DO UPDATE
     SET aid = excluded.aid, ver = excluded.ver, fingerprint = excluded.fingerprint,
     deleted = excluded.deleted";

const PUT_STATE: &str = "INSERT INTO activity
     (aid, ver, actor, facet, received_ms, published_ms, updated_ms, flags, addressed, body,
     prior_visibility, prior_addressed)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
     ON CONFLICT (aid) DO UPDATE SET ver = excluded.ver, actor = excluded.actor, facet = excluded.facet,
     received_ms = excluded.received_ms, published_ms = excluded.published_ms,
     updated_ms = excluded.updated_ms, flags = excluded.flags, addressed = excluded.addressed,
     prior_visibility = excluded.prior_visibility, prior_addressed = excluded.prior_addressed";

const STATE: &str = "SELECT aid, ver, actor, facet, received_ms, published_ms, updated_ms, flags, addressed
     FROM activity WHERE aid = ?1";

const PRIOR: &str = "SELECT prior_visibility, prior_addressed FROM activity
     WHERE aid = ?1 AND prior_visibility IS NOT NULL";

const ACTIVITY: &str =
    "SELECT aid, ver, actor, facet, activity.received_ms, published_ms, updated_ms, flags, addressed, content
     FROM activity JOIN body ON body.id = activity.body WHERE aid = ?1 AND body.received_ms IS NOT NULL";

/// The state in a row of [`STATE`] or [`ACTIVITY`].
fn state(connection: &Connection, facets: &mut View<'_>, row: &Row<'_>) -> Result<State> {
    let (visibility, deleted, pulled) = unpack_state_flags(row.get(7)?)?;
    Ok(State {
        id: activity_id(row, 0)?,
        version: version(row, 1)?,
        actor: Uid(row.get(2)?),
        facet: Arc::clone(facets.get(connection, row.get(3)?)?),
        received: millis(row, 4)?,
        published: millis(row, 5)?,
        updated: millis(row, 6)?,
        deleted,
        visibility,
        addressed: unpack_uids(row, 8)?,
        pulled,
    })
}

fn claim(connection: &Connection, key: &ExternalKey) -> Result<Option<Claim>> {
    let mut statement = connection.prepare_cached(CLAIM)?;
    let mut rows = statement.query(params![key.actor.0, key.service, key.id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Claim {
        id: activity_id(row, 0)?,
        version: version(row, 1)?,
        fingerprint: row.get(2)?,
        deleted: row.get(3)?,
    }))
}

fn prior(connection: &Connection, id: &ActivityId) -> Result<Option<PriorAudience>> {
    let mut statement = connection.prepare_cached(PRIOR)?;
    let mut rows = statement.query([id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(PriorAudience {
        visibility: visibility_of(row.get::<_, i64>(0)?)?,
        addressed: unpack_uids(row, 1)?,
    }))
}

fn accept(
    connection: &Connection,
    facets: &Facets,
    item: &Acceptance,
    trace: Option<TraceContext>,
) -> Result<Accepted> {
    let current = claim(connection, &item.source)?;
    if current.as_ref().map(|claim| claim.version) != item.before {
        return Ok(Accepted::Conflict(current));
    }
    put_activity(connection, facets, &item.activity, item.prior.as_ref())?;
    let state = &item.activity.state;
    connection.prepare_cached(PUT_CLAIM)?.execute(params![
        item.source.actor.0,
        item.source.service,
        item.source.id,
        state.id.as_bytes(),
        state.version.0,
        item.fingerprint,
        state.deleted
    ])?;
    let work =
        Work::Version { id: state.id, version: state.version, prior: item.prior.clone(), accepted: None };
    let position = log::append(connection, &work.in_trace(trace))?;
    let prior = item.prior.as_ref().map(|before| before.visibility);
    let own = Entry { prior, ..Entry::of(state, model::EntryReason::Authored, state.deleted) };
    EntryWriter::new(connection, facets)?.put(state.actor, &own, position)?;
    usage::count(connection, item)?;
    Ok(Accepted::Stored(position))
}

pub(super) fn put_activity(
    connection: &Connection,
    facets: &Facets,
    activity: &Activity,
    last: Option<&PriorAudience>,
) -> Result<()> {
    let Activity { state, body } = activity;
    let stored: Option<(i64, i64)> = connection
        .prepare_cached("SELECT ver, body FROM activity WHERE aid = ?1")?
        .query_row([state.id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if stored.is_some_and(|(version, _)| version >= state.version.0) {
        return Ok(());
    }
    let content = body.encoded();
    let number = match stored {
        Some((_, body)) => {
            connection
                .prepare_cached("UPDATE body SET content = ?2, received_ms = ?3 WHERE id = ?1")?
                .execute(params![body, content, state.received.0])?;
            body
        }
        None => connection
            .prepare_cached("INSERT INTO body (content, received_ms) VALUES (?1, ?2)")?
            .insert(params![content, state.received.0])?,
    };
    search::put(connection, number, state.id, (!state.deleted).then_some(body))?;
    let prior = PriorAudience::union(prior(connection, &state.id)?, last.cloned());
    note(Part::Activity, state.id.as_bytes());
    connection.prepare_cached(PUT_STATE)?.execute(params![
        state.id.as_bytes(),
        state.version.0,
        state.actor.0,
        facets.number(connection, &state.facet)?,
        state.received.0,
        state.published.0,
        state.updated.0,
        state_flags(state),
        pack_uids(&state.addressed),
        number,
        prior.as_ref().map(|before| visibility_number(before.visibility)),
        prior.as_ref().map(|before| pack_uids(&before.addressed))
    ])?;
    Ok(())
}

impl SqliteStore {
    fn read_states(&self, connection: &Connection, ids: &[ActivityId]) -> Result<Vec<Option<State>>> {
        let mut statement = connection.prepare_cached(STATE)?;
        let mut facets = self.facets.view();
        let mut find = |id: &ActivityId| {
            let mut rows = statement.query([id.as_bytes()])?;
            rows.next()?.map(|row| state(connection, &mut facets, row)).transpose()
        };
        ids.iter().map(&mut find).collect()
    }
}

#[async_trait]
impl Activities for SqliteStore {
    async fn claim(&self, key: &ExternalKey) -> Result<Option<Claim>> {
        self.read(|connection| claim(connection, key)).await
    }

    async fn accept(&self, batch: Vec<Acceptance>) -> Result<Vec<Accepted>> {
        let (facets, trace) = (Arc::clone(&self.facets), trace::current());
        self.write(move |connection| {
            batch.iter().map(|item| accept(connection, &facets, item, trace)).collect()
        })
        .await
    }

    async fn states(&self, ids: &[ActivityId]) -> Result<Vec<Option<State>>> {
        let subject = |id: &ActivityId| Subject::new(Part::Activity, id.as_bytes());
        depends_on(ids.iter().map(subject));
        let read = |connection: &Connection, ids: &[ActivityId]| {
            snapshot(connection, || self.read_states(connection, ids))
        };
        self.read_cached(&self.value_caches.states, ids, subject, read).await
    }

    async fn prior_audiences(&self, ids: &[ActivityId]) -> Result<Vec<Option<PriorAudience>>> {
        depends_on(ids.iter().map(|id| Subject::new(Part::Activity, id.as_bytes())));
        self.read_snapshot(|connection| ids.iter().map(|id| prior(connection, id)).collect()).await
    }

    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Option<Activity>>> {
        depends_on(ids.iter().map(|id| Subject::new(Part::Activity, id.as_bytes())));
        self.read_snapshot(|connection| {
            let mut statement = connection.prepare_cached(ACTIVITY)?;
            let mut facets = self.facets.view();
            let mut find = |id: &ActivityId| {
                let mut rows = statement.query([id.as_bytes()])?;
                let Some(row) = rows.next()? else { return Ok(None) };
                let body = Body::decoded(row.get_ref(9)?.as_blob().map_err(rusqlite::Error::from)?)?;
                Ok(Some(Activity { state: state(connection, &mut facets, row)?, body }))
            };
            ids.iter().map(&mut find).collect()
        })
        .await
    }

    async fn search(&self, words: &str, before: Option<i64>, limit: usize) -> Result<Vec<(ActivityId, i64)>> {
        self.read_snapshot(|connection| search::find(connection, words, before, limit)).await
    }
}
