//! Hooks and their progress.

use super::SqliteStore;
use super::credentials::all;
use super::values::{count, version};
use crate::{Hook, HookProgress, Hooks, ListedHook, Result, hook_shard};
use async_trait::async_trait;
use model::{HookId, Uid, Version};
use rusqlite::{Row, params};

const ONE: &str = "SELECT owner, name, ver, id, removed, state FROM hook WHERE owner = ?1 AND name = ?2";
const OF: &str = "SELECT owner, name, ver, id, removed, state FROM hook
     WHERE owner = ?1 AND NOT removed ORDER BY name";
const IN_SHARD: &str = "SELECT owner, name, ver FROM hook
     WHERE shard = ?1 AND (owner, name) > (?2, ?3) AND NOT removed ORDER BY owner, name LIMIT ?4";
const ADD: &str = "INSERT INTO hook (owner, name, ver, id, removed, state, shard)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
const REPLACE: &str = "UPDATE hook SET ver = ?3, id = ?4, removed = ?5, state = ?6
     WHERE owner = ?1 AND name = ?2 AND ver = ?7";

/// Including removed ones.
pub(super) const EVERY: &str = "SELECT owner, name, ver, id, removed, state FROM hook
     WHERE owner = ?1 ORDER BY name";

const PROGRESS: &str = "SELECT ver, state FROM hook_progress WHERE id = ?1";
const PUT_PROGRESS: &str = "INSERT INTO hook_progress (id, ver, state) VALUES (?1, ?2, ?3)
     ON CONFLICT (id) DO UPDATE SET ver = excluded.ver, state = excluded.state
     WHERE excluded.ver > hook_progress.ver";
const DELETE_PROGRESS: &str = "DELETE FROM hook_progress WHERE id = ?1";

pub(super) fn hook(row: &Row<'_>) -> Result<Hook> {
    Ok(Hook {
        owner: Uid(row.get(0)?),
        name: row.get(1)?,
        version: version(row, 2)?,
        id: HookId(row.get(3)?),
        removed: row.get(4)?,
        state: row.get(5)?,
    })
}

#[async_trait]
impl Hooks for SqliteStore {
    async fn hook(&self, owner: Uid, name: &str) -> Result<Option<Hook>> {
        self.read(|file| {
            let mut statement = file.prepare_cached(ONE)?;
            statement.query(params![owner.0, name])?.next()?.map(hook).transpose()
        })
        .await
    }

    async fn hooks_of(&self, owner: Uid) -> Result<Vec<Hook>> {
        self.read(|file| all(file, OF, [owner.0], hook)).await
    }

    async fn hooks_in(
        &self,
        shard: u16,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<ListedHook>> {
        let (owner, name) = after.map_or((i64::MIN, String::new()), |(owner, name)| (owner.0, name));
        let listed = |row: &Row<'_>| {
            Ok(ListedHook { owner: Uid(row.get(0)?), name: row.get(1)?, version: version(row, 2)? })
        };
        self.read(|file| all(file, IN_SHARD, params![shard, owner, name, count(limit)], listed)).await
    }

    async fn replace_hook(&self, before: Option<Version>, hook: &Hook) -> Result<bool> {
        let Hook { owner, name, version, id, removed, state } = hook.clone();
        self.writer
            .write_without_savepoint(move |file| {
                let written = match before {
                    None => file.prepare_cached(ADD)?.execute(params![
                        owner.0,
                        name,
                        version.0,
                        id.0,
                        removed,
                        state,
                        hook_shard(owner)
                    ]),
                    Some(before) => file
                        .prepare_cached(REPLACE)?
                        .execute(params![owner.0, name, version.0, id.0, removed, state, before.0]),
                };
                Ok(written? > 0)
            })
            .await
    }

    async fn hook_progress(&self, ids: &[HookId]) -> Result<Vec<Option<HookProgress>>> {
        self.read(|file| {
            let mut statement = file.prepare_cached(PROGRESS)?;
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                let mut rows = statement.query([id.0])?;
                let progress = rows.next()?.map(|row| {
                    Ok::<_, crate::StoreError>(HookProgress {
                        id: *id,
                        version: version(row, 0)?,
                        state: row.get(1)?,
                    })
                });
                found.push(progress.transpose()?);
            }
            Ok(found)
        })
        .await
    }

    async fn put_hook_progress(&self, progress: &HookProgress) -> Result<()> {
        let HookProgress { id, version, state } = progress.clone();
        self.writer
            .write_without_savepoint(move |file| {
                Ok(file.prepare_cached(PUT_PROGRESS)?.execute(params![id.0, version.0, state]).map(drop)?)
            })
            .await
    }

    async fn delete_hook_progress(&self, id: HookId) -> Result<()> {
        self.writer
            .write_without_savepoint(move |file| {
                Ok(file.prepare_cached(DELETE_PROGRESS)?.execute([id.0]).map(drop)?)
            })
            .await
    }
}
