//! A whole service out of the tables, or into them.
//!
//! What is otherwise written on a condition is written here without one, with the first of all timestamps: nobody else
//! writes before the copy is done, and whatever is written after it stays, also if the copy is repeated.

use super::scan::Scan;
use super::{CqlStore, Query, together};
use crate::copying::{BEFORE_ALL, PROGRESS};
use crate::{ActivityRecord, Connection, Copying, Log, Removal, Result};
use async_trait::async_trait;
use model::{AccessToken, Account, ActivityId, Edge, Entry, Millis, Position, Uid, Version};

const FACTS: Scan = Scan::new(
    "SELECT name, value FROM ident.fact LIMIT ?",
    "SELECT name, value FROM ident.fact WHERE token(name) > token(?) LIMIT ?",
);
const COPIED: Query = Query::read("SELECT value FROM ident.fact WHERE name = ?");
const NOTE_COPIED: Query = Query::write("INSERT INTO ident.fact (name, value) VALUES (?, ?)");
const ANY_WAITING: Query = Query::read("SELECT slot FROM feed.waiting LIMIT 1");

#[async_trait]
impl Copying for CqlStore {
    async fn is_settled(&self, now: Millis) -> Result<bool> {
        // What was begun and never got into the log is there then.
        self.sweep(now).await?;
        let waits = self.db.row::<(i64,)>(&ANY_WAITING, ()).await?.is_some();
        Ok(!waits && self.backlog(1).await?.tasks == 0)
    }

    async fn facts(&self) -> Result<Vec<(String, String)>> {
        let read = |(name, value): (String, String)| {
            let fixed = Some((name.clone(), value)).filter(|(name, _)| name != PROGRESS);
            Ok((name, fixed))
        };
        self.db.scan(&FACTS, None, usize::MAX, read).await
    }

    async fn every_account(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>> {
        self.scan_accounts(after, limit, |_| true).await
    }

    async fn every_edge(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>> {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        self.edges_after(follower, after.map_or(i64::MIN, |uid| uid.0), limit).await
    }

    async fn removals(&self, owner: Uid) -> Result<Vec<(ActivityId, Version)>> {
        self.every_removal(owner).await
    }

    async fn every_connection(&self, owner: Uid) -> Result<Vec<Connection>> {
        self.listed_connections(owner).await
    }

    async fn copy_account(&self, account: &Account) -> Result<()> {
        self.copy_named_account(account).await
    }

    async fn copy_token(&self, token: &AccessToken) -> Result<()> {
        self.write_token(token).await
    }

    async fn copy_edges(&self, follower: Uid, edges: Vec<(Uid, Edge)>) -> Result<()> {
        let each =
            edges.iter().map(|(followee, edge)| self.write_edge(follower, *followee, edge, BEFORE_ALL));
        together(each).await.map(drop)
    }

    async fn copy_activities(&self, activities: Vec<ActivityRecord>) -> Result<()> {
        together(activities.iter().map(|whole| self.copy_claimed_activity(whole))).await.map(drop)
    }

    async fn copy_removals(&self, owner: Uid, removals: Vec<Removal>) -> Result<()> {
        let each = removals
            .iter()
            .map(|Removal { id, received, version }| self.write_removal(owner, *id, *received, *version));
        together(each).await.map(drop)
    }

    async fn copy_entries(&self, owner: Uid, entries: Vec<Entry>) -> Result<()> {
        self.put_entries(BEFORE_ALL, owner, &entries).await
    }

    async fn copied(&self) -> Result<Option<String>> {
        let found: Option<(String,)> = self.db.row(&COPIED, (PROGRESS,)).await?;
        Ok(found.map(|(progress,)| progress))
    }

    async fn note_copied(&self, progress: &str) -> Result<()> {
        self.db.write(&NOTE_COPIED, (PROGRESS, progress)).await
    }

    async fn go_on_above(&self, last: Position) -> Result<()> {
        self.begin_log_above(last).await
    }
}
