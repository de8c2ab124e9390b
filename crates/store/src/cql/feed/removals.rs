//! Activities that owners removed from their `to`.

use super::super::db::{activity_id, uuid};
use super::super::{CONCURRENCY, CqlStore, Query};
use crate::Result;
use futures::{StreamExt, TryStreamExt, stream};
use model::{ActivityId, Millis, Order, Uid, Version};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use uuid::Uuid;

/// The average length of a year: it only numbers the partitions.
const YEAR: i64 = 31_556_952_000;

/// Identifiers per statement.
const IDS_PER_STATEMENT: usize = 100;

const REMOVAL: Query = Query::read("SELECT ver FROM feed.removal WHERE uid = ? AND year = ? AND aid = ?");
const PUT: Query =
    Query::write("INSERT INTO feed.removal (uid, year, aid, ver) VALUES (?, ?, ?, ?) USING TIMESTAMP ?");
const AMONG: Query = Query::read("SELECT aid FROM feed.removal WHERE uid = ? AND year = ? AND aid IN ?");

const OF_A_YEAR: Query = Query::read("SELECT aid, ver FROM feed.removal WHERE uid = ? AND year = ?");

impl CqlStore {
    /// Writes a removal. The later version wins.
    pub(in crate::cql) async fn write_removal(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
        version: Version,
    ) -> Result<()> {
        self.db.write(&PUT, (owner.0, year(received), uuid(id), version.0, version.0)).await
    }

    /// All removals of an account. A removed activity is in the collection, so it is in a year that has buckets.
    pub(in crate::cql) async fn every_removal(&self, owner: Uid) -> Result<Vec<(ActivityId, Version)>> {
        let mut years = BTreeSet::new();
        for (_, bucket) in self.buckets(owner, Order::Received).await? {
            years.extend(year(Millis(bucket.first()))..=year(Millis(bucket.last())));
        }
        let mut found = Vec::new();
        for year in years {
            let rows: Vec<(Uuid, i64)> = self.db.rows(&OF_A_YEAR, (owner.0, year)).await?;
            for (id, version) in rows {
                found.push((activity_id(id)?, Version(version)));
            }
        }
        Ok(found)
    }

    /// The version of a removal, if there is one.
    pub(super) async fn removal_version(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
    ) -> Result<Option<Version>> {
        let found: Option<(i64,)> = self.db.row(&REMOVAL, (owner.0, year(received), uuid(id))).await?;
        Ok(found.map(|(version,)| Version(version)))
    }

    /// Whether each of these activities was removed.
    pub(super) async fn are_removed(&self, owner: Uid, items: &[(ActivityId, Millis)]) -> Result<Vec<bool>> {
        let mut years: BTreeMap<i32, Vec<Uuid>> = BTreeMap::new();
        for (id, received) in items {
            years.entry(year(*received)).or_default().push(uuid(*id));
        }
        let parts =
            years.iter().flat_map(|(year, ids)| ids.chunks(IDS_PER_STATEMENT).map(|part| (*year, part)));
        let look_ups: Vec<_> = parts.map(|(year, ids)| self.db.rows(&AMONG, (owner.0, year, ids))).collect();
        let found: Vec<Vec<(Uuid,)>> =
            stream::iter(look_ups).buffer_unordered(CONCURRENCY).try_collect().await?;
        let found: HashSet<Uuid> = found.into_iter().flatten().map(|(id,)| id).collect();
        Ok(items.iter().map(|(id, _)| found.contains(&uuid(*id))).collect())
    }
}

fn year(time: Millis) -> i32 {
    i32::try_from(time.0.div_euclid(YEAR)).unwrap_or(i32::MAX)
}
