//! Collections: slices as merges of runs, and arrivals.

mod arrivals;
pub(super) mod followed;
mod merge;
mod row;

use super::changes::note_of;
use super::entries::EntryWriter;
use super::pool::snapshot;
use super::values::seq;
use super::{SqliteStore, log};
use crate::dependencies::{Part, Subject, depends_on};
use crate::{Arrival, Feeds, Result, Slice, Work, trace};
use async_trait::async_trait;
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReasons, Filter, Millis, Order, Position, Range, Uid, Version,
};
use rusqlite::{Connection, params};
use std::sync::Arc;

/// A slice from the top, as the key of a cache. Most reads are polls that find nothing new.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct FirstSlice {
    owner: Uid,
    reasons: EntryReasons,
    order: Order,
    filter: Filter,
    limit: usize,
}

impl FirstSlice {
    /// `None`: the slice begins or ends elsewhere.
    fn new(slice: &Slice<'_>) -> Option<FirstSlice> {
        let Slice { owner, reasons, order, filter, after, limit } = slice.clone();
        let is_first = after.is_none() && [filter.received, filter.published] == [Range::default(); 2];
        is_first.then(|| FirstSlice { owner, reasons, order, filter: filter.clone(), limit })
    }

    fn slice(&self) -> Slice<'_> {
        let FirstSlice { owner, reasons, order, ref filter, limit } = *self;
        Slice { owner, reasons, order, filter, after: None, limit }
    }
}

#[async_trait]
impl Feeds for SqliteStore {
    async fn deliver(&self, at: Position, deliveries: Vec<(Uid, Entry)>) -> Result<()> {
        let facets = Arc::clone(&self.facets);
        self.writer
            .write_without_savepoint(move |connection| {
                let mut writer = EntryWriter::new(connection, &facets)?;
                deliveries.iter().try_for_each(|(owner, entry)| writer.put(*owner, entry, at))
            })
            .await
    }

    async fn slice(&self, slice: &Slice<'_>) -> Result<Vec<Entry>> {
        Ok(self.slices(std::slice::from_ref(slice)).await?.pop().unwrap_or_default())
    }

    async fn slices(&self, slices: &[Slice<'_>]) -> Result<Vec<Vec<Entry>>> {
        depends_on(slices.iter().map(|slice| Subject::of(Part::Collection, slice.owner)));
        let read = |connection: &Connection, slice: &Slice<'_>| {
            merge::slice(connection, &self.facets, &self.counters, slice)
        };
        let Some(first) = slices.iter().map(FirstSlice::new).collect::<Option<Vec<_>>>() else {
            return self
                .read_snapshot(|connection| slices.iter().map(|slice| read(connection, slice)).collect())
                .await;
        };
        let subject = |slice: &FirstSlice| Subject::of(Part::Collection, slice.owner);
        self.read_cached(&self.value_caches.slices, &first, subject, |connection, missing| {
            snapshot(connection, || missing.iter().map(|first| read(connection, &first.slice())).collect())
        })
        .await
    }

    async fn remove_followed(&self, owner: Uid, entries: &[Entry]) -> Result<()> {
        let (facets, entries) = (Arc::clone(&self.facets), entries.to_vec());
        self.write(move |connection| {
            entries.iter().try_for_each(|entry| followed::remove(connection, &facets, owner, entry))
        })
        .await
    }

    async fn note_changes(&self, at: Position, owners: &[Uid]) -> Result<()> {
        let owners = owners.to_vec();
        self.write(move |connection| {
            let mut insert = connection
                .prepare_cached("INSERT INTO change (uid, seq) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
            owners.iter().try_for_each(|owner| {
                note_of(Part::Collection, *owner);
                Ok(insert.execute([owner.0, seq(at)]).map(drop)?)
            })
        })
        .await
    }

    async fn arrivals(
        &self,
        owner: Uid,
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Arrival>> {
        depends_on([Subject::of(Part::Collection, owner)]);
        self.read_snapshot(|connection| {
            let query = arrivals::ArrivalQuery { after, floor, limit };
            arrivals::read(connection, &self.facets, &self.counters, owner, query)
        })
        .await
    }

    async fn own_arrivals(
        &self,
        owners: &[Uid],
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Vec<Entry>>> {
        depends_on(owners.iter().map(|owner| Subject::of(Part::Collection, *owner)));
        self.read_snapshot(|connection| {
            let query = arrivals::ArrivalQuery { after, floor, limit };
            let own = |owner: &Uid| {
                arrivals::entries(connection, arrivals::OWN, &self.facets, &self.counters, *owner, query)
            };
            owners.iter().map(own).collect()
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
        let trace = trace::current();
        self.write(move |connection| {
            note_of(Part::Removals, owner);
            let written = connection
                .prepare_cached(
                    "INSERT INTO removal (uid, aid, ver) VALUES (?1, ?2, ?3)
                     ON CONFLICT (uid, aid) DO UPDATE SET ver = excluded.ver WHERE excluded.ver > ver",
                )?
                .execute(params![owner.0, id.as_bytes(), version.0])?;
            if written == 0 {
                return Ok(None);
            }
            log::append(connection, &Work::Removal { owner, id }.in_trace(trace)).map(Some)
        })
        .await
    }

    async fn removed(&self, owner: Uid, items: &[(ActivityId, Millis)]) -> Result<Vec<bool>> {
        let subject = Subject::of(Part::Removals, owner);
        depends_on([subject]);
        let any = |connection: &Connection| {
            Ok(connection
                .prepare_cached("SELECT 1 FROM removal WHERE uid = ?1 LIMIT 1")?
                .exists([owner.0])?)
        };
        if !self.read_one_cached(&self.value_caches.any_removals, &owner, subject, any).await? {
            return Ok(vec![false; items.len()]);
        }
        self.read_snapshot(|connection| {
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
    use super::super::{Options, connect, fanout_mode, graph};
    use super::{arrivals, followed, merge};
    use rusqlite::StatementStatus;

    /// Every statement that reads collections or fan-out modes searches an index, and reads its rows in order.
    #[test]
    fn statements_use_their_indexes() {
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
            (arrivals::OWN, "SEARCH entry USING INDEX entry_own (uid=? AND (seq,aid)>(?,?) AND seq<?)"),
            (
                followed::FOLLOWED,
                "SEARCH entry USING PRIMARY KEY (uid=? AND run=? AND received_ms=? AND aid=?)",
            ),
            (fanout_mode::DELIVERY_STATE, "SEARCH delivery_state USING INTEGER PRIMARY KEY (rowid=?)"),
            (
                fanout_mode::PULLS_FROM,
                "SEARCH fanout_mode USING COVERING INDEX fanout_mode_pulled (follower=?)",
            ),
            (fanout_mode::PULLED, "SEARCH fanout_mode USING COVERING INDEX fanout_mode_pulled (follower=?)"),
            (
                fanout_mode::PUSHED,
                "SEARCH fanout_mode USING COVERING INDEX fanout_mode_pushed (followee=? AND follower>?)",
            ),
            (
                graph::FOLLOWERS,
                "SEARCH follower USING PRIMARY KEY (followee=? AND follower>?)\n\
                 SEARCH edge_dormancy USING PRIMARY KEY (followee=? AND follower=?) LEFT-JOIN",
            ),
        ] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            let parameters = vec![1; plan.parameter_count()];
            let steps = plan.query_map(rusqlite::params_from_iter(parameters), |row| row.get(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert_eq!(steps.join("\n"), expected, "{statement}");
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
