//! Hooks. The row of the account is the truth; the list of a shard is a hint. A hook is listed before it is written, and
//! unlisted after it was removed. Both use the version of the hook as timestamp, so a later hook of the same name stays
//! listed. The progress has a separate table, because its rows are not written conditionally.

use super::lwt::Lwt;
use super::{CqlStore, LATEST, Query, concurrently};
use crate::codec::Encoded;
use crate::{Hook, HookProgress, Hooks, ListedHook, Result, hook_shard};
use async_trait::async_trait;
use model::{HookId, Uid, Version};
use uuid::Uuid;

const ONE: Query = Query::read("SELECT hook FROM ident.hook WHERE uid = ? AND name = ?");
const ALL: Query = Query::read("SELECT name, hook FROM ident.hook WHERE uid = ?");
const WRITE: Lwt = Lwt::new(
    "UPDATE ident.hook SET hook = ?, ver = ?, op = ? WHERE uid = ? AND name = ? IF ver = ?",
    "SELECT ver, op FROM ident.hook WHERE uid = ? AND name = ?",
);
const LISTED: Query =
    Query::read("SELECT uid, name, ver FROM ident.hook_in WHERE shard = ? AND (uid, name) > (?, ?) LIMIT ?");
const LIST: Query =
    Query::write("INSERT INTO ident.hook_in (shard, uid, name, ver) VALUES (?, ?, ?, ?) USING TIMESTAMP ?");
const UNLIST: Query =
    Query::write("DELETE FROM ident.hook_in USING TIMESTAMP ? WHERE shard = ? AND uid = ? AND name = ?");

const PROGRESS: Query = Query::read("SELECT progress FROM ident.hook_progress WHERE id = ?");
const PUT_PROGRESS: Query =
    Query::write("INSERT INTO ident.hook_progress (id, progress) VALUES (?, ?) USING TIMESTAMP ?");
const DELETE_PROGRESS: Query = Query::write("DELETE FROM ident.hook_progress USING TIMESTAMP ? WHERE id = ?");

fn number(shard: u16) -> i16 {
    i16::try_from(shard).unwrap_or(i16::MAX)
}

impl CqlStore {
    /// All hooks of an account, including removed ones.
    pub(super) async fn listed_hooks(&self, owner: Uid) -> Result<Vec<Hook>> {
        let rows: Vec<(String, Vec<u8>)> = self.db.rows(&ALL, (owner.0,)).await?;
        rows.into_iter().map(|(name, cell)| Hook::decoded_beside(&cell, (owner, name))).collect()
    }

    /// Removes a hook from the list of its shard, if it was listed before `at`.
    pub(super) async fn unlist_hook(&self, hook: &Hook, at: i64) -> Result<()> {
        let Hook { owner, name, .. } = hook;
        self.db.write(&UNLIST, (at, number(hook_shard(*owner)), owner.0, name)).await
    }

    async fn progress_of(&self, id: HookId) -> Result<Option<HookProgress>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&PROGRESS, (id.0.as_slice(),)).await?;
        found.map(|(cell,)| HookProgress::decoded_beside(&cell, id)).transpose()
    }
}

#[async_trait]
impl Hooks for CqlStore {
    async fn hook(&self, owner: Uid, name: &str) -> Result<Option<Hook>> {
        let found: Option<(Vec<u8>,)> = self.db.row(&ONE, (owner.0, name)).await?;
        found.map(|(cell,)| Hook::decoded_beside(&cell, (owner, name.to_owned()))).transpose()
    }

    async fn hooks_of(&self, owner: Uid) -> Result<Vec<Hook>> {
        let mut all = self.listed_hooks(owner).await?;
        all.retain(|hook| !hook.removed);
        Ok(all)
    }

    async fn hooks_in(
        &self,
        shard: u16,
        after: Option<(Uid, String)>,
        limit: usize,
    ) -> Result<Vec<ListedHook>> {
        let (owner, name) = after.map_or((i64::MIN, String::new()), |(uid, name)| (uid.0, name));
        let count = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows: Vec<(i64, String, i64)> =
            self.db.rows(&LISTED, (number(shard), owner, name, count)).await?;
        let listed = |(uid, name, version)| ListedHook { owner: Uid(uid), name, version: Version(version) };
        Ok(rows.into_iter().map(listed).collect())
    }

    async fn replace_hook(&self, before: Option<Version>, hook: &Hook) -> Result<bool> {
        let Hook { owner, name, version, removed, .. } = hook;
        let (shard, key) = (number(hook_shard(*owner)), (owner.0, name.as_str()));
        // A race that is lost must not leave a version in the list that no hook has.
        let current = self.hook(*owner, name).await?;
        if current.as_ref().map(|current| current.version) != before {
            return Ok(false);
        }
        if !removed {
            self.db.write(&LIST, (shard, owner.0, name, version.0, version.0)).await?;
        }
        let op = Uuid::new_v4();
        let known = before.map(|before| before.0);
        let values = (hook.encoded(), version.0, op, owner.0, name, known);
        if !self.db.replace(&WRITE, before, op, values, key).await? {
            return Ok(false);
        }
        if *removed {
            self.unlist_hook(hook, version.0).await?;
        }
        Ok(true)
    }

    async fn hook_progress(&self, ids: &[HookId]) -> Result<Vec<Option<HookProgress>>> {
        concurrently(ids.iter().map(|id| self.progress_of(*id))).await
    }

    async fn put_hook_progress(&self, progress: &HookProgress) -> Result<()> {
        let row = (progress.id.0.as_slice(), progress.encoded(), progress.version.0);
        self.db.write(&PUT_PROGRESS, row).await
    }

    async fn delete_hook_progress(&self, id: HookId) -> Result<()> {
        self.db.write(&DELETE_PROGRESS, (LATEST, id.0.as_slice())).await
    }
}
