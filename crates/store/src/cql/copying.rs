//! Copying a service out of the tables or into them.
//!
//! Conditional tables are written here without a condition, with the lowest timestamp. No other process writes before
//! the copy is done, and every later write wins, even if the copy is repeated.

use super::scan::Scan;
use super::{CqlStore, Query, concurrently};
use crate::copying::{BEFORE_ALL, PROGRESS};
use crate::{ActivityRecord, Connection, Copying, DecisionChange, Hook, Log, Removal, Result, Usage};
use async_trait::async_trait;
use model::{AccessToken, Account, ActivityId, Edge, Entry, Millis, Position, Uid, Version};

const FACTS: Scan = Scan::new(
    "SELECT name, value FROM ident.fact LIMIT ?",
    "SELECT name, value FROM ident.fact WHERE token(name) > token(?) LIMIT ?",
);
const PROGRESS_VALUE: Query = Query::read("SELECT value FROM ident.fact WHERE name = ?");
const PUT_PROGRESS: Query = Query::write("INSERT INTO ident.fact (name, value) VALUES (?, ?)");
const ANY_WAITING: Query = Query::read("SELECT slot FROM feed.waiting LIMIT 1");

#[async_trait]
impl Copying for CqlStore {
    async fn is_settled(&self, now: Millis) -> Result<bool> {
        // Unfinished intents are in the log after this.
        self.sweep(now).await?;
        let is_waiting = self.db.row::<(i64,)>(&ANY_WAITING, ()).await?.is_some();
        Ok(!is_waiting && self.backlog(1).await?.tasks == 0)
    }

    async fn facts(&self) -> Result<Vec<(String, String)>> {
        let read = |(name, value): (String, String)| {
            let fact = Some((name.clone(), value)).filter(|(name, _)| name != PROGRESS);
            Ok((name, fact))
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

    async fn every_usage(&self, uid: Uid) -> Result<Vec<(i64, Usage)>> {
        self.usage_days(uid).await
    }

    async fn every_decision(&self, account: &Account) -> Result<Vec<DecisionChange>> {
        self.decisions_of(account).await
    }

    async fn every_connection(&self, owner: Uid) -> Result<Vec<Connection>> {
        self.listed_connections(owner).await
    }

    async fn every_hook(&self, owner: Uid) -> Result<Vec<Hook>> {
        self.listed_hooks(owner).await
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
        concurrently(each).await.map(drop)
    }

    async fn copy_activities(&self, activities: Vec<ActivityRecord>) -> Result<()> {
        concurrently(activities.iter().map(|record| self.copy_claimed_activity(record))).await.map(drop)
    }

    async fn copy_removals(&self, owner: Uid, removals: Vec<Removal>) -> Result<()> {
        let each = removals
            .iter()
            .map(|Removal { id, received, version }| self.write_removal(owner, *id, *received, *version));
        concurrently(each).await.map(drop)
    }

    async fn copy_usage(&self, uid: Uid, days: Vec<(i64, Usage)>) -> Result<()> {
        self.put_usage(uid, &days).await
    }

    async fn copy_decision(&self, change: &DecisionChange) -> Result<()> {
        self.write_decision(change).await
    }

    async fn copy_entries(&self, owner: Uid, entries: Vec<Entry>) -> Result<()> {
        self.put_entries(BEFORE_ALL, owner, &entries).await
    }

    async fn copy_progress(&self) -> Result<Option<String>> {
        let found: Option<(String,)> = self.db.row(&PROGRESS_VALUE, (PROGRESS,)).await?;
        Ok(found.map(|(progress,)| progress))
    }

    async fn set_copy_progress(&self, progress: &str) -> Result<()> {
        self.db.write(&PUT_PROGRESS, (PROGRESS, progress)).await
    }

    async fn continue_log_above(&self, last: Position) -> Result<()> {
        self.begin_log_above(last).await
    }
}
