//! An account with all that is its own: credentials, edges, connections, activities, and its collection.

mod followed;

use super::sides::Sides;
use futures::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use model::{Account, Activity, ActivityId, Entry, EntryReason, EntryReasons, Filter, Order, State, Uid};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use store::{ActivityRecord, ExternalKey, Removal, Result, Slice, StoreError};

/// Entries, and edges, that are read and written at once.
const PAGE: usize = 500;
/// Claims that are looked up at once.
const CONCURRENCY: usize = 32;
/// How often a page is tried, and how long after a failure it is tried again; each time twice as long.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(500);

/// What was copied.
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
    /// Copies an account. It is there itself when all that is its own is.
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
        if let Some(picture) = self.source.picture(uid).await? {
            self.put(|| self.target.copy_picture(uid, &picture)).await?;
        }
        self.copy_edges(uid).await?;
        self.copy_connections(uid).await?;
        let mut counts = Counts { accounts: 1, ..Counts::default() };
        for one in EntryReason::ALL {
            self.copy_reason(uid, one, &mut counts, bar).await?;
        }
        self.copy_followed(uid, &mut counts, bar).await?;
        self.copy_removals(uid).await?;
        self.put(|| self.target.copy_account(account)).await?;
        Ok(counts)
    }

    /// Puts something, again where it did not work: to do so is safe, and a cluster that has much to do is not retracted.
    async fn put<F: Future<Output = Result<()>>>(&self, put: impl Fn() -> F) -> Result<()> {
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            match self.put_once(&put).await {
                Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown(_))) => {
                    tracing::warn!(%error, "the target did not take something; it is tried again");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                other => return other,
            }
        }
        self.put_once(&put).await
    }

    async fn put_once<F: Future<Output = Result<()>>>(&self, put: impl Fn() -> F) -> Result<()> {
        // Nobody closes it.
        let _room = self.room.acquire().await;
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

    /// Copies an account's connections, behind the sources that they are to. One that several share is put again for each
    /// of them, which changes nothing; one that nobody is connected to is not missed.
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

    /// Copies a box's entries, and with those of what the account did the activities: each is of one account.
    async fn copy_reason(
        &self,
        owner: Uid,
        one: EntryReason,
        counts: &mut Counts,
        bar: &ProgressBar,
    ) -> Result<()> {
        let filter = Filter::default();
        let mut after = None;
        loop {
            let reasons = EntryReasons::default().with(one);
            let slice = Slice { owner, reasons, order: Order::Received, filter: &filter, after, limit: PAGE };
            let entries = self.source.slice(&slice).await?;
            let Some(last) = entries.last() else { return Ok(()) };
            after = Some(last.sort_key(Order::Received));
            if one == EntryReason::Authored {
                let all = self.whole_activities(&entries).await?;
                counts.activities += all.len() as u64;
                self.put(|| self.target.copy_activities(all.clone())).await?;
            }
            self.copy_entries(owner, entries, counts, bar).await?;
        }
    }

    /// At the target nothing is pulled yet.
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

    /// Everything that is known of these, nothing of it pulled. What has an entry only is shown nowhere.
    async fn whole_activities(&self, entries: &[Entry]) -> Result<Vec<ActivityRecord>> {
        let ids: Vec<ActivityId> = entries.iter().map(|entry| entry.id).collect();
        let activities = self.source.activities(&ids).await?;
        let prior = self.source.prior_audiences(&ids).await?;
        let found = activities.into_iter().zip(prior).filter_map(|(activity, prior)| {
            Some(ActivityRecord { activity: pushed(activity?), prior, claim: None })
        });
        let claimed = found.map(|whole| async move {
            let state = &whole.activity.state;
            let (service, id) = (state.facet.service.clone(), whole.activity.body.source_id.clone());
            let source = ExternalKey { actor: state.actor, service, id };
            // What was deleted may have given its address to another activity.
            let claim = self.source.claim(&source).await?.filter(|claim| claim.id == state.id);
            Ok(ActivityRecord { claim: claim.map(|claim| (source, claim)), ..whole })
        });
        let claimed: Vec<_> = claimed.collect();
        stream::iter(claimed).buffered(CONCURRENCY).try_collect().await
    }

    async fn copy_removals(&self, owner: Uid) -> Result<()> {
        let noted = self.source.removals(owner).await?;
        for page in noted.chunks(PAGE) {
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

/// The activity as it is where nothing is pulled.
fn pushed(activity: Activity) -> Activity {
    Activity { state: State { pulled: false, ..activity.state }, ..activity }
}
