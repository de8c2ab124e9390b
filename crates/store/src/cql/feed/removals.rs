//! What owners took out of what reaches them.

use super::super::db::{activity_id, uuid};
use super::super::{CONCURRENCY, CqlStore, Query};
use crate::Result;
use futures::{StreamExt, TryStreamExt, stream};
use model::{ActivityId, Millis, Order, Uid, Version};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use uuid::Uuid;

/// A year on average: partitions need the same number for the same time, not the calendar's.
const YEAR: i64 = 31_556_952_000;

/// How many are looked up by one statement.
const TOGETHER: usize = 100;

const NOTED: Query = Query::read("SELECT ver FROM feed.removal WHERE uid = ? AND year = ? AND aid = ?");
const NOTE: Query =
    Query::write("INSERT INTO feed.removal (uid, year, aid, ver) VALUES (?, ?, ?, ?) USING TIMESTAMP ?");
const AMONG: Query = Query::read("SELECT aid FROM feed.removal WHERE uid = ? AND year = ? AND aid IN ?");

const OF_A_YEAR: Query = Query::read("SELECT aid, ver FROM feed.removal WHERE uid = ? AND year = ?");

impl CqlStore {
    /// Notes that the owner took an activity out; the later version stays.
    pub(in crate::cql) async fn write_removal(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
        version: Version,
    ) -> Result<()> {
        self.db.write(&NOTE, (owner.0, year(received), uuid(id), version.0, version.0)).await
    }

    /// All of them. What somebody took out is in their collection, so it is of the years of which that has anything.
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

    /// The latest version in which that was stored.
    pub(super) async fn noted_removal(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
    ) -> Result<Option<Version>> {
        let found: Option<(i64,)> = self.db.row(&NOTED, (owner.0, year(received), uuid(id))).await?;
        Ok(found.map(|(version,)| Version(version)))
    }

    /// Whether it was, for each of these.
    pub(super) async fn noted_removals(
        &self,
        owner: Uid,
        items: &[(ActivityId, Millis)],
    ) -> Result<Vec<bool>> {
        let mut years: BTreeMap<i32, Vec<Uuid>> = BTreeMap::new();
        for (id, received) in items {
            years.entry(year(*received)).or_default().push(uuid(*id));
        }
        let parts = years.iter().flat_map(|(year, ids)| ids.chunks(TOGETHER).map(|part| (*year, part)));
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
