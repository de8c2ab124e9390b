//! Collections: slices as merges of partitions, and arrivals.

mod arrivals;
mod buckets;
mod deliver;
mod directory;
mod look_up;
mod merge;
mod own_arrivals;
mod partitions;
mod removals;
mod row;
mod slices;
mod tables;

pub(super) use directory::Directory;

use super::CqlStore;
use crate::message::Intent;
use crate::{Arrival, Feeds, Result, Slice};
use async_trait::async_trait;
use model::{ActivityId, ArrivalOffset, Entry, Millis, Position, Uid, Version};

#[async_trait]
impl Feeds for CqlStore {
    async fn deliver(&self, at: Position, deliveries: Vec<(Uid, Entry)>) -> Result<()> {
        self.deliver_entries(at, &deliveries).await
    }

    async fn slice(&self, slice: &Slice<'_>) -> Result<Vec<Entry>> {
        merge::slice(self, slice).await
    }

    async fn slices(&self, slices: &[Slice<'_>]) -> Result<Vec<Vec<Entry>>> {
        slices::slices(self, slices).await
    }

    async fn remove_followed(&self, owner: Uid, entries: &[Entry]) -> Result<()> {
        self.remove_followed_entries(owner, entries).await
    }

    async fn note_changes(&self, at: Position, owners: &[Uid]) -> Result<()> {
        self.put_changes(at, owners).await
    }

    async fn arrivals(
        &self,
        owner: Uid,
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Arrival>> {
        arrivals::read(self, owner, after, floor, limit).await
    }

    async fn own_arrivals(
        &self,
        owners: &[Uid],
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Vec<Entry>>> {
        own_arrivals::read(self, owners, after, floor, limit).await
    }

    async fn remove(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
        version: Version,
    ) -> Result<Option<Position>> {
        let stored = self.removal_version(owner, id, received).await?;
        if stored.is_some_and(|stored| stored >= version) {
            return Ok(None);
        }
        self.commit_intent(Intent::Removal { owner, id, received, version }).await.map(Some)
    }

    async fn removed(&self, owner: Uid, items: &[(ActivityId, Millis)]) -> Result<Vec<bool>> {
        self.are_removed(owner, items).await
    }
}
