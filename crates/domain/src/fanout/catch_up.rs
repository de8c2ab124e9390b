//! Catching up: delivers to a reactivated account what it missed while it was dormant.
//!
//! Pages that are read meanwhile merge the followees' entries, so the reader does not wait for this task. For each
//! followee the edge becomes active first, from this task's position on; then the missing entries are delivered, like
//! a backfill. In this order no activity is lost: one accepted before the edge is active is found here, and a later
//! one is pushed.

use super::edge::{addressed, is_brought, own_entries};
use super::task::Context;
use crate::following;
use model::{Dormancy, Edge, EdgeDormancy, Entry, Position, SortKey, Uid, Version, Visibility};
use std::collections::BTreeMap;
use store::{Result, Store, Work};

/// Entries scanned per task, and followees read per task.
const ENTRIES: usize = 2_000;
const FOLLOWEES: usize = 50;

/// An account that catches up, and its progress.
pub(super) struct CatchUp {
    pub(super) uid: Uid,
    pub(super) version: Version,
    pub(super) since: Position,
    pub(super) after: Option<Uid>,
    pub(super) within: Option<(Uid, SortKey)>,
}

impl CatchUp {
    pub(super) async fn run(self, ctx: Context<'_>) -> Result<Option<Work>> {
        let uid = self.uid;
        let more = self.some_followees(ctx.store, ctx.at).await?;
        ctx.hub.wake_later([uid]);
        Ok(more)
    }

    /// Catches up with some of the followees at that position. Returns the remaining work.
    async fn some_followees(mut self, store: &dyn Store, at: Position) -> Result<Option<Work>> {
        if store.delivery_state(self.uid).await?.version != self.version {
            return Ok(None);
        }
        let mut scanned = 0;
        if let Some((followee, sort_key)) = self.within.take() {
            let edge = following::edge(store, self.uid, followee).await?;
            if let Some(edge) = edge.filter(|edge| edge.following) {
                self.catch_up(store, at, (followee, &edge), Some(sort_key), &mut scanned).await?;
            }
        }
        let followed = match self.within {
            None => store.following(self.uid, self.after, FOLLOWEES).await?,
            Some(_) => return Ok(Some(self.into_work())),
        };
        let ended = followed.len() < FOLLOWEES;
        for (followee, edge) in &followed {
            if self.within.is_some() || scanned >= ENTRIES {
                return Ok(Some(self.into_work()));
            }
            store
                .put_edge_dormancy(self.uid, &[*followee], self.version, EdgeDormancy::ActiveAfter(at))
                .await?;
            self.catch_up(store, at, (*followee, edge), None, &mut scanned).await?;
        }
        if self.within.is_some() || !ended {
            return Ok(Some(self.into_work()));
        }
        store.put_dormancy(self.uid, self.version.following(), Dormancy::Active).await?;
        Ok(None)
    }

    fn into_work(self) -> Work {
        let CatchUp { uid, version, since, after, within } = self;
        Work::CatchUp { uid, version, since, after, within }
    }

    /// Delivers a followee's entries that the account is missing, from that sort key on, and records the progress.
    async fn catch_up(
        &mut self,
        store: &dyn Store,
        at: Position,
        (followee, edge): (Uid, &Edge),
        mut sort_key: Option<SortKey>,
        scanned: &mut usize,
    ) -> Result<()> {
        loop {
            let (own, next) = own_entries(store, followee, edge, sort_key).await?;
            *scanned += own.len();
            let missing = self.missing(store, edge, own).await?;
            let mut by_position: BTreeMap<Position, Vec<(Uid, Entry)>> = BTreeMap::new();
            for entry in missing {
                let position = entry.arrived.unwrap_or(at).max(at);
                by_position.entry(position).or_default().push((self.uid, Entry { arrived: None, ..entry }));
            }
            for (position, entries) in by_position {
                store.deliver(position, entries).await?;
            }
            match next {
                None => {
                    self.after = Some(followee);
                    return Ok(());
                }
                Some(next) if *scanned >= ENTRIES => {
                    self.within = Some((followee, next));
                    return Ok(());
                }
                more => sort_key = more,
            }
        }
    }

    /// Entries of a followee that should have been pushed to the account and were not.
    async fn missing(&self, store: &dyn Store, edge: &Edge, mut own: Vec<Entry>) -> Result<Vec<Entry>> {
        // Pulled entries are merged at read time, or were pushed to dormant accounts too.
        own.retain(|entry| !entry.pulled && entry.arrived > Some(self.since));
        let addressed = addressed(store, self.uid, &own).await?;
        own.retain(|entry| !addressed.contains(&(entry.id, entry.version)));
        let existing = store.followed_entries(self.uid, &own).await?;
        let missing = own.into_iter().zip(existing).filter_map(|(own, existing)| {
            let mut entry = Entry { pulled: false, ..own.followed() };
            entry.retracted = !is_brought(&entry, edge);
            let is_news = match existing {
                None => !entry.retracted,
                Some(existing) => {
                    let seen = (!existing.retracted).then_some(existing.visibility);
                    entry.prior = Visibility::wider(entry.prior, seen);
                    existing.version < entry.version
                }
            };
            is_news.then_some(entry)
        });
        Ok(missing.collect())
    }
}
