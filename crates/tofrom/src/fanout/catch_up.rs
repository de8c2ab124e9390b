//! An account that was asleep is read again: things are pushed to it from now on, and what it missed is delivered behind
//! the pages that are read meanwhile.
//!
//! Followee by followee: first it pushes again from this task's place on; then whatever the account does not have of what
//! the followee did is delivered, like what a new edge brings along. In this order nothing falls between: what is accepted
//! before the followee pushes is found, and what is accepted after it is pushed.

use super::backfill::{addressed, own_entries};
use crate::following;
use model::{
    Dormancy, Edge, EdgeDormancy, Entry, Position, SortKey, Uid, Version, Visibility, entry_belongs,
};
use std::collections::BTreeMap;
use store::{Result, Store, Work};

/// Entries that are looked at in one task, and followees that it comes to.
const ENTRIES: usize = 2_000;
const FOLLOWEES: usize = 50;

/// An account that returns, and how far that has come.
pub(super) struct CatchUp {
    pub(super) uid: Uid,
    pub(super) version: Version,
    pub(super) since: Position,
    pub(super) after: Option<Uid>,
    pub(super) within: Option<(Uid, SortKey)>,
}

impl CatchUp {
    /// Does some of it at that place in the log; gives what is still to be done.
    pub(super) async fn perform(mut self, store: &dyn Store, at: Position) -> Result<Option<Work>> {
        if store.delivery_state(self.uid).await?.version != self.version {
            return Ok(None);
        }
        let mut looked_at = 0;
        if let Some((followee, sort_key)) = self.within.take() {
            let edge = following::edge(store, self.uid, followee).await?;
            if let Some(edge) = edge.filter(|edge| edge.following) {
                self.catch_up(store, at, (followee, &edge), Some(sort_key), &mut looked_at).await?;
            }
        }
        let followed = match self.within {
            None => store.following(self.uid, self.after, FOLLOWEES).await?,
            Some(_) => return Ok(Some(self.into_work())),
        };
        let ended = followed.len() < FOLLOWEES;
        for (followee, edge) in &followed {
            if self.within.is_some() || looked_at >= ENTRIES {
                return Ok(Some(self.into_work()));
            }
            store
                .put_edge_dormancy(self.uid, &[*followee], self.version, EdgeDormancy::ActiveAfter(at))
                .await?;
            self.catch_up(store, at, (*followee, edge), None, &mut looked_at).await?;
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

    /// Delivers what the account does not have of what a followee did, from that sort_key on, and notes how far it came.
    async fn catch_up(
        &mut self,
        store: &dyn Store,
        at: Position,
        (followee, edge): (Uid, &Edge),
        mut sort_key: Option<SortKey>,
        looked_at: &mut usize,
    ) -> Result<()> {
        loop {
            let (own, next) = own_entries(store, followee, edge, sort_key).await?;
            *looked_at += own.len();
            let missing = self.missing(store, edge, own).await?;
            let mut places: BTreeMap<Position, Vec<(Uid, Entry)>> = BTreeMap::new();
            for entry in missing {
                let place = entry.arrived.unwrap_or(at).max(at);
                places.entry(place).or_default().push((self.uid, Entry { arrived: None, ..entry }));
            }
            for (place, entries) in places {
                store.deliver(place, entries).await?;
            }
            match next {
                None => {
                    self.after = Some(followee);
                    return Ok(());
                }
                Some(next) if *looked_at >= ENTRIES => {
                    self.within = Some((followee, next));
                    return Ok(());
                }
                further => sort_key = further,
            }
        }
    }

    /// Those of a followee's entries that the account should have been pushed and was not.
    async fn missing(&self, store: &dyn Store, edge: &Edge, mut own: Vec<Entry>) -> Result<Vec<Entry>> {
        // What is pulled is found where it is, or was pushed to who slept too.
        own.retain(|entry| !entry.pulled && entry.arrived > Some(self.since));
        let addressed = addressed(store, self.uid, &own).await?;
        own.retain(|entry| !addressed.contains(&(entry.id, entry.version)));
        let had = store.followed_entries(self.uid, &own).await?;
        let missing = own.into_iter().zip(had).filter_map(|(own, had)| {
            let mut entry = Entry { pulled: false, ..own.followed() };
            entry.retracted = !entry_belongs(&entry, self.uid, Some(edge), false).to;
            let is_news = match had {
                None => !entry.retracted,
                Some(had) => {
                    let seen = (!had.retracted).then_some(had.visibility);
                    entry.prior = Visibility::wider(entry.prior, seen);
                    had.version < entry.version
                }
            };
            is_news.then_some(entry)
        });
        Ok(missing.collect())
    }
}
