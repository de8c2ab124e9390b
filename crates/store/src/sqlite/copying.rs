//! Copying a service out of this file or into it.

use super::changes::note_of;
use super::credentials::all;
use super::entries::EntryWriter;
use super::restore::LOST;
use super::schema::UPGRADE_BACKUP;
use super::values::{activity_id, count, seq, version};
use super::{
    SqliteStore, accounts, activities, grants, graph, hooks, log, name_index, relations, sources, usage,
};
use crate::copying::{BEFORE_ALL, PROGRESS};
use crate::{ActivityRecord, Copying, DecisionChange, Part, Removal, Result, Usage};
use async_trait::async_trait;
use model::{AccessToken, Account, ActivityId, Edge, Entry, Millis, Position, Uid, Version};
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::Arc;

/// The name of the fact with the first position of this file's log.
pub(super) const OLDEST: &str = "oldest position";

const EVERY_ACCOUNT: &str =
    "SELECT uid, name, ver, given_name, family_name, public, operator, password, created_ms, removed, disabled,
     credential_epoch, addressable_by FROM account WHERE uid > ?1 ORDER BY uid LIMIT ?2";

const PUT_ACCOUNT: &str = "INSERT INTO account
     (uid, name, ver, given_name, family_name, public, operator, password, created_ms, removed, disabled,
     credential_epoch, addressable_by)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
     ON CONFLICT (uid) DO UPDATE SET ver = excluded.ver, given_name = excluded.given_name,
     family_name = excluded.family_name, public = excluded.public, operator = excluded.operator,
     password = excluded.password, removed = excluded.removed, disabled = excluded.disabled,
     credential_epoch = excluded.credential_epoch, addressable_by = excluded.addressable_by
     WHERE excluded.ver > account.ver";

const EVERY_EDGE: &str =
    "SELECT ver, follows, since_ms, from_ms, from_aid, filter_ver, filter, followee FROM following
     WHERE follower = ?1 AND followee > ?2 ORDER BY followee LIMIT ?3";

pub(super) const PUT_FACT: &str = "INSERT INTO fact (name, value) VALUES (?1, ?2)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";

fn put_edge(connection: &Connection, follower: Uid, followee: Uid, edge: &Edge) -> Result<()> {
    graph::put(connection, follower, followee, edge)?;
    if edge.following {
        connection
            .prepare_cached(
                "INSERT INTO follower (followee, follower, ver, seq) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?
            .execute([followee.0, follower.0, edge.version.0, seq(BEFORE_ALL)])?;
    }
    Ok(())
}

fn put_claim(connection: &Connection, record: &ActivityRecord) -> Result<()> {
    let Some((key, claim)) = &record.claim else { return Ok(()) };
    connection.prepare_cached(activities::PUT_CLAIM)?.execute(params![
        key.actor.0,
        key.service,
        key.id,
        claim.id.as_bytes(),
        claim.version.0,
        claim.fingerprint,
        claim.deleted
    ])?;
    Ok(())
}

#[async_trait]
impl Copying for SqliteStore {
    async fn is_settled(&self, _now: Millis) -> Result<bool> {
        let any = "SELECT 1 FROM task UNION ALL SELECT 1 FROM waiting LIMIT 1";
        self.read(|connection| Ok(!connection.prepare_cached(any)?.exists([])?)).await
    }

    async fn facts(&self) -> Result<Vec<(String, String)>> {
        // These concern this file only.
        let facts = "SELECT name, value FROM fact WHERE name NOT IN (?1, ?2, ?3, ?4) ORDER BY name";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.read_long(move |connection| {
            all(connection, facts, [PROGRESS, OLDEST, LOST, UPGRADE_BACKUP], read)
        })
        .await
    }

    async fn every_account(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>> {
        let from = [after.map_or(i64::MIN, |uid| uid.0), count(limit)];
        self.read_long(move |connection| all(connection, EVERY_ACCOUNT, from, accounts::account)).await
    }

    async fn every_edge(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>> {
        let from = [follower.0, after.map_or(i64::MIN, |uid| uid.0), count(limit)];
        let read = |row: &rusqlite::Row<'_>| Ok((Uid(row.get(7)?), graph::edge(row)?));
        self.read_long(move |connection| all(connection, EVERY_EDGE, from, read)).await
    }

    async fn removals(&self, owner: Uid) -> Result<Vec<(ActivityId, Version)>> {
        let removals = "SELECT aid, ver FROM removal WHERE uid = ?1 ORDER BY aid";
        let read = |row: &rusqlite::Row<'_>| Ok((activity_id(row, 0)?, version(row, 1)?));
        self.read_long(move |connection| all(connection, removals, [owner.0], read)).await
    }

    async fn every_usage(&self, uid: Uid) -> Result<Vec<(i64, Usage)>> {
        self.read_long(move |connection| usage::every(connection, uid)).await
    }

    async fn every_decision(&self, account: &Account) -> Result<Vec<DecisionChange>> {
        let account = account.clone();
        self.read_long(move |connection| relations::every(connection, &account)).await
    }

    async fn every_connection(&self, owner: Uid) -> Result<Vec<crate::Connection>> {
        let every = sources::EVERY_CONNECTION;
        self.read_long(move |connection| all(connection, every, [owner.0], sources::connection)).await
    }

    async fn every_hook(&self, owner: Uid) -> Result<Vec<crate::Hook>> {
        self.read_long(move |connection| all(connection, hooks::EVERY, [owner.0], hooks::hook)).await
    }

    async fn copy_account(&self, account: &Account) -> Result<()> {
        let account = account.clone();
        self.write(move |connection| {
            let before = accounts::by_number(connection, account.uid)?;
            if before.as_ref().is_none_or(|before| before.version < account.version) {
                name_index::put(connection, before.as_ref(), &account)?;
            }
            connection.prepare_cached(PUT_ACCOUNT)?.execute(params![
                account.uid.0,
                account.name.as_str(),
                account.version.0,
                account.given_name,
                account.family_name,
                account.public,
                account.operator,
                account.password,
                account.created.0,
                account.removed,
                account.disabled,
                account.credential_epoch,
                account.addressable_by.number()
            ])?;
            if account.removed {
                connection.prepare_cached(accounts::QUEUE_ERASURE)?.execute([account.uid.0])?;
            }
            Ok(())
        })
        .await
    }

    async fn copy_token(&self, token: &AccessToken) -> Result<()> {
        let token = token.clone();
        self.write(move |connection| grants::put_token(connection, &token)).await
    }

    async fn copy_edges(&self, follower: Uid, edges: Vec<(Uid, Edge)>) -> Result<()> {
        self.write(move |connection| {
            edges.iter().try_for_each(|(followee, edge)| put_edge(connection, follower, *followee, edge))
        })
        .await
    }

    async fn copy_activities(&self, all: Vec<ActivityRecord>) -> Result<()> {
        let facets = Arc::clone(&self.facets);
        self.write(move |connection| {
            all.iter().try_for_each(|record| {
                activities::put_activity(connection, &facets, &record.activity, record.prior.as_ref())?;
                put_claim(connection, record)
            })
        })
        .await
    }

    async fn copy_removals(&self, owner: Uid, removals: Vec<Removal>) -> Result<()> {
        self.write(move |connection| {
            note_of(Part::Removals, owner);
            let mut insert = connection.prepare_cached(
                "INSERT INTO removal (uid, aid, ver) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            )?;
            removals.iter().try_for_each(|Removal { id, version, .. }| {
                Ok(insert.execute(params![owner.0, id.as_bytes(), version.0]).map(drop)?)
            })
        })
        .await
    }

    async fn copy_usage(&self, uid: Uid, days: Vec<(i64, Usage)>) -> Result<()> {
        self.write(move |connection| usage::put(connection, uid, &days)).await
    }

    async fn copy_decision(&self, change: &DecisionChange) -> Result<()> {
        let change = change.clone();
        self.write(move |connection| relations::put(connection, &change).map(drop)).await
    }

    async fn copy_entries(&self, owner: Uid, all: Vec<Entry>) -> Result<()> {
        let facets = Arc::clone(&self.facets);
        self.write(move |connection| {
            let mut writer = EntryWriter::new(connection, &facets)?;
            all.iter().try_for_each(|entry| writer.put(owner, entry, BEFORE_ALL))
        })
        .await
    }

    async fn copy_progress(&self) -> Result<Option<String>> {
        self.read(|connection| {
            let mut stored = connection.prepare_cached("SELECT value FROM fact WHERE name = ?1")?;
            Ok(stored.query_row([PROGRESS], |row| row.get(0)).optional()?)
        })
        .await
    }

    async fn set_copy_progress(&self, progress: &str) -> Result<()> {
        let progress = progress.to_owned();
        self.write(move |connection| {
            Ok(connection.prepare_cached(PUT_FACT)?.execute([PROGRESS, &progress]).map(drop)?)
        })
        .await
    }

    async fn continue_log_above(&self, last: Position) -> Result<()> {
        self.write(move |connection| {
            // The first position counts as assigned: a reader that begins now has seen it.
            let next = seq(last).saturating_add(1).max(log::end(connection)?);
            log::continue_at(connection, next)?;
            Ok(connection.prepare_cached(PUT_FACT)?.execute([OLDEST, &next.to_string()]).map(drop)?)
        })
        .await
    }
}
