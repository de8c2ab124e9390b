//! Collections: slices as merges of runs, and arrivals.

mod arrivals;
mod merge;
mod recent;
mod row;

pub(super) use recent::Recent;

use super::values::seq;
use super::{SqliteStore, entries, log};
use crate::{Arrival, Feeds, Result, Slice, Work};
use async_trait::async_trait;
use model::{ActivityId, Entry, Millis, Place, Position, Uid, Version};
use rusqlite::params;
use std::sync::Arc;

#[async_trait]
impl Feeds for SqliteStore {
    async fn deliver(&self, at: Position, deliveries: Vec<(Uid, Entry)>) -> Result<()> {
        let facets = Arc::clone(&self.facets);
        self.write(move |connection| {
            deliveries
                .iter()
                .try_for_each(|(owner, entry)| entries::put(connection, &facets, *owner, entry, at))
        })
        .await
    }

    async fn slice(&self, slice: &Slice<'_>) -> Result<Vec<Entry>> {
        self.read_together(|connection| {
            let read = || merge::slice(connection, &self.facets, &self.counters, slice);
            self.recent.slice(connection, slice, read)
        })
        .await
    }

    async fn note_changes(&self, at: Position, owners: &[Uid]) -> Result<()> {
        let owners = owners.to_vec();
        self.write(move |connection| {
            let mut note = connection
                .prepare_cached("INSERT INTO change (uid, seq) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
            owners.iter().try_for_each(|owner| Ok(note.execute([owner.0, seq(at)]).map(drop)?))
        })
        .await
    }

    async fn arrivals(
        &self,
        owner: Uid,
        after: Place,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Arrival>> {
        self.read_together(|connection| {
            arrivals::read(connection, &self.facets, &self.counters, owner, after, floor, limit)
        })
        .await
    }

    async fn remove(
        &self,
        owner: Uid,
        id: ActivityId,
        _received: Millis,
        version: Version,
    ) -> Result<Option<Position>> {
        self.write(move |connection| {
            let noted = connection
                .prepare_cached(
                    "INSERT INTO removal (uid, aid, ver) VALUES (?1, ?2, ?3)
                     ON CONFLICT (uid, aid) DO UPDATE SET ver = excluded.ver WHERE excluded.ver > ver",
                )?
                .execute(params![owner.0, id.as_bytes(), version.0])?;
            if noted == 0 {
                return Ok(None);
            }
            log::append(connection, &Work::Removal { owner, id }).map(Some)
        })
        .await
    }

    async fn removed(&self, owner: Uid, items: &[(ActivityId, Millis)]) -> Result<Vec<bool>> {
        self.read_together(|connection| {
            // Most accounts never removed anything: one look instead of one for each item.
            let mut any = connection.prepare_cached("SELECT 1 FROM removal WHERE uid = ?1 LIMIT 1")?;
            if !any.exists([owner.0])? {
                return Ok(vec![false; items.len()]);
            }
            let mut statement =
                connection.prepare_cached("SELECT 1 FROM removal WHERE uid = ?1 AND aid = ?2")?;
            let mut removed =
                |(id, _): &(ActivityId, Millis)| Ok(statement.exists(params![owner.0, id.as_bytes()])?);
            items.iter().map(&mut removed).collect()
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Options, connect};
    use super::{arrivals, merge};
    use rusqlite::StatementStatus;

    /// Every statement that reads collections goes straight to where its rows lie, and reads them in order.
    #[test]
    fn plans() {
        let directory = std::env::temp_dir().join(format!("tofrom-plans-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("store.db");
        let connection = connect::writer(&path, &Options::default()).unwrap();
        for (statement, expected) in [
            (merge::RUNS, "SEARCH run_of USING PRIMARY KEY (uid=?)"),
            (
                merge::RECEIVED,
                "SEARCH entry USING PRIMARY KEY \
                 (uid=? AND run=? AND received_ms>? AND (received_ms,aid)<(?,?))",
            ),
            (
                merge::PUBLISHED,
                "SEARCH entry USING INDEX entry_published \
                 (uid=? AND run=? AND published_ms>? AND (published_ms,aid)<(?,?))",
            ),
            (
                arrivals::ARRIVALS,
                "SEARCH entry USING INDEX entry_arrival (uid=? AND (seq,aid)>(?,?) AND seq<?)",
            ),
        ] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            let parameters = vec![1; plan.parameter_count()];
            let steps = plan.query_map(rusqlite::params_from_iter(parameters), |row| row.get(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert_eq!(steps, [expected], "{statement}");
            let mut prepared = connection.prepare(statement).unwrap();
            for value in 1..4 {
                let parameters = vec![value; prepared.parameter_count()];
                prepared.exists(rusqlite::params_from_iter(parameters)).unwrap();
            }
            assert_eq!(prepared.get_status(StatementStatus::RePrepare), 0, "prepared once: {statement}");
        }
        drop(connection);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
