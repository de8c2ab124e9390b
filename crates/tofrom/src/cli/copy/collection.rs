//! Copies an account: credentials, edges, connections, hooks, seen positions, activities and entries.

use super::sides::Sides;
use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use model::{
    Account, Activity, ActivityId, AuditRecord, Clock, Collection, Dormancy, Edge, Entry, EntryReason,
    EntryReasons, Filter, Order, Range, State, Uid,
};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use store::{ActivityRecord, ExternalKey, Removal, Result, Slice, StoreError};

/// Entries or edges per page.
const PAGE: usize = 500;
/// Concurrent lookups of claims.
const CONCURRENCY: usize = 32;
/// Attempts to write, and the delay before the first retry, which doubles each time.
const ATTEMPTS: u32 = 6;
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Counts of copied data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) accounts: u64,
    pub(super) activities: u64,
    pub(super) entries: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Counts) {
        self.accounts += other.accounts;
        self.activities += other.activities;
        self.entries += other.entries;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { accounts, activities, entries } = self;
        write!(f, "{accounts} accounts, {activities} activities, {entries} entries")
    }
}

impl Sides {
    /// Copies an account. The account itself comes last, when all its data is complete.
    pub(super) async fn copy_account(&self, account: &Account, bar: &ProgressBar) -> Result<Counts> {
        let uid = account.uid;
        for key in self.source.keys_of(uid).await? {
            self.put(|| self.target.add_key(&key)).await?;
        }
        for token in self.source.tokens_of(uid).await? {
            self.put(|| self.target.copy_token(&token)).await?;
        }
        for network in self.source.networks_of(uid).await? {
            self.put(|| self.target.note_network(uid, &network)).await?;
        }
        if let Some(factor) = self.source.second_factor(uid).await? {
            // It may be there from an interrupted copy.
            self.put(|| async { self.target.replace_second_factor(None, &factor).await.map(drop) }).await?;
        }
        if let Some(picture) = self.source.picture(uid).await? {
            self.put(|| self.target.put_picture(uid, &picture)).await?;
        }
        for record in self.source.audit_of(uid, usize::MAX).await? {
            let record = AuditRecord { accounts: vec![uid], ..record };
            self.put(|| self.target.append_audit(&record)).await?;
        }
        self.copy_edges(uid).await?;
        let usage = self.source.every_usage(uid).await?;
        self.put(|| self.target.copy_usage(uid, usage.clone())).await?;
        for decision in self.source.every_decision(account).await? {
            self.put(|| self.target.copy_decision(&decision)).await?;
        }
        self.copy_connections(uid).await?;
        self.copy_hooks(uid).await?;
        self.copy_seen(uid).await?;
        let mut counts = Counts { accounts: 1, ..Counts::default() };
        for reason in EntryReason::ALL {
            self.copy_reason(uid, reason, &mut counts, bar).await?;
        }
        self.copy_followed(uid, &mut counts, bar).await?;
        self.copy_removals(uid).await?;
        self.put(|| self.target.copy_account(account)).await?;
        Ok(counts)
    }

    /// Copies the rest of the audit log: records that concern no account, or were erased.
    pub(super) async fn copy_audit(&self) -> Result<()> {
        let now = Clock::system().now();
        let mut before = None;
        loop {
            let page = self.source.audit_before(before, now, PAGE).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.at);
            for record in &page {
                self.put(|| self.target.append_audit(record)).await?;
            }
        }
        for head in self.source.audit_heads().await? {
            self.put(|| self.target.put_audit_head(&head)).await?;
        }
        Ok(())
    }

    /// Writes with retries. Writes are idempotent, and a busy cluster may reject some.
    async fn put<F: Future<Output = Result<()>>>(&self, put: impl Fn() -> F) -> Result<()> {
        let mut delay = RETRY_DELAY;
        for _ in 1..ATTEMPTS {
            match self.put_once(&put).await {
                Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown(_))) => {
                    tracing::warn!(%error, "write to the target failed; retrying");
                    tokio::time::sleep(delay).await;
                    delay *= 2;
                }
                other => return other,
            }
        }
        self.put_once(&put).await
    }

    async fn put_once<F: Future<Output = Result<()>>>(&self, put: impl Fn() -> F) -> Result<()> {
        // The semaphore is never closed.
        let _permit = self.writers.acquire().await;
        put().await
    }

    async fn copy_edges(&self, follower: Uid) -> Result<()> {
        let mut after = None;
        loop {
            let edges = self.source.every_edge(follower, after, PAGE).await?;
            let Some((last, _)) = edges.last() else { return Ok(()) };
            after = Some(*last);
            self.put(|| self.target.copy_edges(follower, edges.clone())).await?;
        }
    }

    /// Copies an account's connections, each after its source. A shared source is written again for each connection, which
    /// changes nothing. A source without connections is not needed.
    async fn copy_connections(&self, owner: Uid) -> Result<()> {
        for connection in self.source.every_connection(owner).await? {
            if !connection.removed
                && let Some(source) = self.source.source(connection.source).await?
            {
                self.put(|| async { self.target.replace_source(None, &source).await.map(drop) }).await?;
            }
            self.put(|| async { self.target.replace_connection(None, &connection).await.map(drop) }).await?;
        }
        Ok(())
    }

    /// Copies an account's hooks and their progress. Positions of the source are before all of the target, so each hook
    /// begins there with `incomplete`.
    async fn copy_hooks(&self, owner: Uid) -> Result<()> {
        for hook in self.source.every_hook(owner).await? {
            for progress in self.source.hook_progress(&[hook.id]).await?.into_iter().flatten() {
                self.put(|| self.target.put_hook_progress(&progress)).await?;
            }
            self.put(|| async { self.target.replace_hook(None, &hook).await.map(drop) }).await?;
        }
        Ok(())
    }

    async fn copy_seen(&self, owner: Uid) -> Result<()> {
        for collection in Collection::ALL {
            if let Some(seen) = self.source.seen(owner, collection).await? {
                self.put(|| async { self.target.replace_seen(None, &seen).await.map(drop) }).await?;
            }
        }
        Ok(())
    }

    /// Copies the entries with one reason. Authored entries bring their activities along: each activity has one actor.
    async fn copy_reason(
        &self,
        owner: Uid,
        reason: EntryReason,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        let filter = Filter::default();
        let mut after = None;
        loop {
            let reasons = EntryReasons::default().with(reason);
            let slice = Slice { owner, reasons, order: Order::Received, filter: &filter, after, limit: PAGE };
            let entries = self.source.slice(&slice).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            after = Some(last.sort_key(Order::Received));
            if reason == EntryReason::Authored {
                let all = self.activity_records(&entries).await?;
                counts.activities += all.len() as u64;
                self.put(|| self.target.copy_activities(all.clone())).await?;
            }
            self.copy_entries(owner, entries, counts, bar).await?;
        }
    }

    /// Copies entries as pushed: the target starts without pulled actors.
    async fn copy_entries(
        &self,
        owner: Uid,
        mut entries: Vec<Entry>,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        counts.entries += entries.len() as u64;
        bar.inc(entries.len() as u64);
        entries.iter_mut().for_each(|entry| entry.pulled = false);
        self.put(|| self.target.copy_entries(owner, entries.clone())).await
    }

    /// The full records of these entries' activities, as pushed. An entry without an activity is skipped: it is never shown.
    async fn activity_records(&self, entries: &[Entry]) -> Result<Vec<ActivityRecord>> {
        let ids: Vec<ActivityId> = entries.iter().map(|entry| entry.id).collect();
        let activities = self.source.activities(&ids).await?;
        let prior = self.source.prior_audiences(&ids).await?;
        let found = activities.into_iter().zip(prior).filter_map(|(activity, prior)| {
            Some(ActivityRecord { activity: pushed(activity?), prior, claim: None })
        });
        let claimed = found.map(|record| async move {
            let state = &record.activity.state;
            let (service, id) = (state.facet.service.clone(), record.activity.body.source_id.clone());
            let source = ExternalKey { actor: state.actor, service, id };
            // The external key of a deleted activity may belong to another activity now.
            let claim = self.source.claim(&source).await?.filter(|claim| claim.id == state.id);
            Ok(ActivityRecord { claim: claim.map(|claim| (source, claim)), ..record })
        });
        let claimed: Vec<_> = claimed.collect();
        stream::iter(claimed).buffered(CONCURRENCY).try_collect().await
    }

    async fn copy_removals(&self, owner: Uid) -> Result<()> {
        let removals = self.source.removals(owner).await?;
        for page in removals.chunks(PAGE) {
            let ids: Vec<ActivityId> = page.iter().map(|(id, _)| *id).collect();
            let states = self.source.states(&ids).await?.into_iter().flatten();
            let received: HashMap<ActivityId, _> = states.map(|state| (state.id, state.received)).collect();
            let removal = |(id, version): &_| {
                Some(Removal { id: *id, received: *received.get(id)?, version: *version })
            };
            let removals: Vec<Removal> = page.iter().filter_map(removal).collect();
            self.put(|| self.target.copy_removals(owner, removals.clone())).await?;
        }
        Ok(())
    }
}

/// The activity in push mode.
fn pushed(activity: Activity) -> Activity {
    Activity { state: State { pulled: false, ..activity.state }, ..activity }
}

impl Sides {
    /// Writes the entries that the account would merge at read time: those of pulled actors and, for a dormant account,
    /// of all followees. At the target no actor is in pull mode and no account is dormant, so the entries must be in the
    /// collection.
    pub(super) async fn copy_followed(
        &self,
        owner: Uid,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        let delivery = self.source.delivery_state(owner).await?;
        if delivery.dormancy == Dormancy::Active {
            let followees: Vec<Uid> = delivery.pulled.into_iter().map(|(uid, _)| uid).collect();
            let edges = self.source.edges(owner, &followees).await?;
            let edges = followees.into_iter().zip(edges).filter_map(|(uid, edge)| Some((uid, edge?)));
            for (followee, edge) in edges.filter(|(_, edge)| edge.following) {
                self.copy_from(owner, followee, &edge, counts, bar).await?;
            }
            return Ok(());
        }
        let mut after = None;
        loop {
            let edges = self.source.following(owner, after, PAGE).await?;
            let Some((last, _)) = edges.last() else { return Ok(()) };
            after = Some(*last);
            for (followee, edge) in &edges {
                self.copy_from(owner, *followee, edge, counts, bar).await?;
            }
        }
    }

    /// Writes the followee's entries from the start of the edge. Entries that were pushed already are kept: of two versions
    /// the later one wins.
    async fn copy_from(
        &self,
        owner: Uid,
        followee: Uid,
        edge: &Edge,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        let since = edge.from.map(|oldest| oldest.time.min(edge.since));
        let filter = Filter { received: Range { since, before: None }, ..Filter::default() };
        let mut after = None;
        loop {
            let slice = Slice::own(followee, Order::Received, &filter, after, PAGE);
            let own = self.source.slice(&slice).await?;
            let Some(last) = own.last() else { return Ok(()) };
            after = Some(last.sort_key(Order::Received));
            let entries = own.into_iter().map(Entry::followed).collect();
            self.copy_entries(owner, entries, counts, bar).await?;
        }
    }
}
