//! Edges. The follower's end has the state of every edge, including ended ones; the followee's end only live ones.
//! Both are written in one transaction.

use super::changes::note_of;
use super::credentials::all;
use super::pool::snapshot;
use super::values::{activity_id, corrupt, count, millis, optional_millis, position, seq, version};
use super::{SqliteStore, log};
use crate::codec::Encoded;
use crate::dependencies::{Part, Subject, depends_on};
use crate::{Follower, Graph, Result, Work, trace};
use async_trait::async_trait;
use model::{Edge, EdgeDormancy, EdgeFilter, Position, SortKey, Uid, Version};
use rusqlite::{Connection, Row, params};

const PUT: &str = "INSERT INTO following (follower, followee, ver, follows, since_ms, from_ms, from_aid)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (follower, followee) DO UPDATE SET ver = excluded.ver, follows = excluded.follows,
     since_ms = excluded.since_ms, from_ms = excluded.from_ms, from_aid = excluded.from_aid
     WHERE excluded.ver > following.ver";

pub(super) const FOLLOWERS: &str =
    "SELECT follower.follower, follower.ver, follower.seq, edge_dormancy.ver, edge_dormancy.seq
     FROM follower LEFT JOIN edge_dormancy USING (followee, follower)
     WHERE follower.followee = ?1 AND follower.follower > ?2 ORDER BY follower.follower LIMIT ?3";

/// From a row of [`FOLLOWERS`].
fn follower(row: &Row<'_>) -> Result<Follower> {
    let dormancy = match (row.get::<_, Option<i64>>(3)?, row.get::<_, Option<i64>>(4)?) {
        (None, _) => None,
        (Some(_), None) => Some(EdgeDormancy::Dormant),
        (Some(_), Some(_)) => Some(EdgeDormancy::ActiveAfter(position(row, 4)?)),
    };
    Ok(Follower { uid: Uid(row.get(0)?), version: version(row, 1)?, since: position(row, 2)?, dormancy })
}

/// Replaces the filter if it is newer. An edge without a row has no filter.
const PUT_FILTER: &str = "UPDATE following SET filter_ver = ?3, filter = ?4
     WHERE follower = ?1 AND followee = ?2 AND filter_ver < ?3";

/// From the columns ver, follows, since_ms, from_ms, from_aid, filter_ver, filter.
pub(super) fn edge(row: &Row<'_>) -> Result<Edge> {
    let from = match (optional_millis(row, 3)?, row.get_ref(4)?) {
        (Some(time), _) => Some(SortKey { time, id: activity_id(row, 4)? }),
        (None, rusqlite::types::ValueRef::Null) => None,
        (None, _) => return Err(corrupt("edge with an identifier but no time")),
    };
    let filter = match row.get_ref(6)? {
        rusqlite::types::ValueRef::Null => EdgeFilter::default(),
        filter => EdgeFilter::decoded(filter.as_blob().map_err(rusqlite::Error::from)?)?,
    };
    Ok(Edge {
        version: version(row, 0)?,
        following: row.get(1)?,
        since: millis(row, 2)?,
        from,
        filter,
        filter_version: version(row, 5)?,
    })
}

/// Writes an edge. `false`: the stored version is equal or later.
pub(super) fn put(connection: &Connection, follower: Uid, followee: Uid, edge: &Edge) -> Result<bool> {
    note_of(Part::Edges, follower);
    let newer = connection.prepare_cached(PUT)?.execute(params![
        follower.0,
        followee.0,
        edge.version.0,
        edge.following,
        edge.since.0,
        edge.from.map(|sort_key| sort_key.time.0),
        edge.from.map(|sort_key| *sort_key.id.as_bytes())
    ])?;
    put_filter(connection, follower, followee, edge.filter_version, &edge.filter)?;
    Ok(newer > 0)
}

/// Writes the filter of an edge. `false`: the stored version is equal or later.
fn put_filter(
    connection: &Connection,
    follower: Uid,
    followee: Uid,
    version: Version,
    filter: &EdgeFilter,
) -> Result<bool> {
    note_of(Part::Edges, follower);
    let filter = (!filter.is_empty()).then(|| filter.encoded());
    let values = params![follower.0, followee.0, version.0, filter];
    Ok(connection.prepare_cached(PUT_FILTER)?.execute(values)? > 0)
}

fn read_edges(connection: &Connection, ends: &[(Uid, Uid)]) -> Result<Vec<Option<Edge>>> {
    let mut statement = connection.prepare_cached(
        "SELECT ver, follows, since_ms, from_ms, from_aid, filter_ver, filter FROM following
         WHERE follower = ?1 AND followee = ?2",
    )?;
    let mut find = |(follower, followee): &(Uid, Uid)| {
        statement.query([follower.0, followee.0])?.next()?.map(edge).transpose()
    };
    ends.iter().map(&mut find).collect()
}

#[async_trait]
impl Graph for SqliteStore {
    async fn put_edge(&self, follower: Uid, followee: Uid, edge: &Edge) -> Result<Option<Position>> {
        let (edge, trace) = (edge.clone(), trace::current());
        self.write(move |connection| {
            if !put(connection, follower, followee, &edge)? {
                return Ok(None);
            }
            let Edge { version, following, .. } = edge;
            let work = Work::Edge { follower, followee, version, following };
            let position = log::append(connection, &work.in_trace(trace))?;
            if following {
                let put = "INSERT INTO follower (followee, follower, ver, seq) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (followee, follower) DO UPDATE SET ver = excluded.ver, seq = excluded.seq";
                let ends = [followee.0, follower.0, version.0, seq(position)];
                connection.prepare_cached(put)?.execute(ends)?;
            } else {
                let delete = "DELETE FROM follower WHERE followee = ?1 AND follower = ?2";
                connection.prepare_cached(delete)?.execute([followee.0, follower.0])?;
            }
            Ok(Some(position))
        })
        .await
    }

    async fn put_edge_filter(
        &self,
        follower: Uid,
        followee: Uid,
        version: Version,
        filter: &EdgeFilter,
    ) -> Result<Option<Position>> {
        let (filter, trace) = (filter.clone(), trace::current());
        self.write(move |connection| {
            if !put_filter(connection, follower, followee, version, &filter)? {
                return Ok(None);
            }
            log::append(connection, &Work::Change { uid: follower }.in_trace(trace)).map(Some)
        })
        .await
    }

    async fn edges(&self, follower: Uid, followees: &[Uid]) -> Result<Vec<Option<Edge>>> {
        let subject = Subject::of(Part::Edges, follower);
        depends_on([subject]);
        let ends: Vec<(Uid, Uid)> = followees.iter().map(|followee| (follower, *followee)).collect();
        let read = |connection: &Connection, ends: &[(Uid, Uid)]| {
            snapshot(connection, || read_edges(connection, ends))
        };
        self.read_cached(&self.value_caches.edges, &ends, |_| subject, read).await
    }

    async fn following(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>> {
        depends_on([Subject::of(Part::Edges, follower)]);
        let after = after.map_or(i64::MIN, |uid| uid.0);
        self.read_long(move |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT ver, follows, since_ms, from_ms, from_aid, filter_ver, filter, followee FROM following
                 WHERE follower = ?1 AND followee > ?2 AND follows ORDER BY followee LIMIT ?3",
            )?;
            let mut rows = statement.query([follower.0, after, count(limit)])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push((Uid(row.get(7)?), edge(row)?));
            }
            Ok(found)
        })
        .await
    }

    async fn followers(&self, followee: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<Follower>> {
        let from = [followee.0, after.map_or(i64::MIN, |uid| uid.0), count(limit)];
        self.read_long(move |connection| all(connection, FOLLOWERS, from, follower)).await
    }
}
