//! Work as columns of a task.

use super::super::values::{
    activity_id, corrupt, pack_uids, position, seq, unpack_uids, unpack_visibility, version,
    visibility_number,
};
use crate::bytes::{WireReader, WireWriter};
use crate::{Result, Work};
use model::{Millis, PriorAudience, SortKey, Uid};
use rusqlite::Row;

const VERSION: i64 = 0;
const FOLLOWERS: i64 = 1;
const EDGE: i64 = 2;
const ACCOUNT: i64 = 3;
const REMOVAL: i64 = 4;
const ADDRESSED: i64 = 5;
const PREPARE_FOLLOWERS: i64 = 6;
const BECOME_DORMANT: i64 = 7;
const CATCH_UP: i64 = 8;

/// The columns of a task. Their meaning depends on the kind; see `schema/1.sql`.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) kind: i64,
    pub(super) aid: Option<[u8; 16]>,
    pub(super) ver: Option<i64>,
    pub(super) uid: Option<i64>,
    pub(super) other_uid: Option<i64>,
    pub(super) visibility: Option<i64>,
    pub(super) prior: Option<Vec<u8>>,
    pub(super) accepted: Option<i64>,
}

impl From<&Work> for Columns {
    fn from(work: &Work) -> Columns {
        match work {
            Work::Version { id, version, prior, accepted } => Columns {
                kind: VERSION,
                aid: Some(*id.as_bytes()),
                ver: Some(version.0),
                visibility: prior.as_ref().map(|before| visibility_number(before.visibility)),
                prior: prior.as_ref().map(|before| pack_uids(&before.addressed)),
                accepted: accepted.map(seq),
                ..Columns::default()
            },
            Work::Followers { id, version, prior, accepted, after } => Columns {
                kind: FOLLOWERS,
                aid: Some(*id.as_bytes()),
                ver: Some(version.0),
                uid: Some(after.0),
                visibility: prior.map(visibility_number),
                accepted: Some(seq(*accepted)),
                ..Columns::default()
            },
            Work::Edge { follower, followee, version, following } => Columns {
                kind: EDGE,
                ver: Some(version.0),
                uid: Some(follower.0),
                other_uid: Some(followee.0),
                accepted: Some(i64::from(*following)),
                ..Columns::default()
            },
            Work::Account { uid, after } => Columns {
                kind: ACCOUNT,
                uid: Some(uid.0),
                other_uid: after.map(|after| after.0),
                ..Columns::default()
            },
            Work::Addressed { uid, after } => Columns {
                kind: ADDRESSED,
                uid: Some(uid.0),
                ver: after.map(|sort_key| sort_key.time.0),
                aid: after.map(|sort_key| *sort_key.id.as_bytes()),
                ..Columns::default()
            },
            Work::Removal { owner, id } => {
                Columns { kind: REMOVAL, aid: Some(*id.as_bytes()), uid: Some(owner.0), ..Columns::default() }
            }
            Work::PrepareFollowers { uid, after } => Columns {
                kind: PREPARE_FOLLOWERS,
                uid: Some(uid.0),
                other_uid: after.map(|after| after.0),
                ..Columns::default()
            },
            Work::BecomeDormant { uid, version, after } => Columns {
                kind: BECOME_DORMANT,
                ver: Some(version.0),
                uid: Some(uid.0),
                other_uid: after.map(|after| after.0),
                ..Columns::default()
            },
            Work::CatchUp { uid, version, since, after, within } => Columns {
                kind: CATCH_UP,
                ver: Some(version.0),
                uid: Some(uid.0),
                other_uid: after.map(|after| after.0),
                prior: within
                    .map(|(uid, sort_key)| WireWriter::new().signed(uid.0).sort_key(sort_key).finish()),
                accepted: Some(seq(*since)),
                ..Columns::default()
            },
        }
    }
}

/// From the columns kind, aid, ver, uid, other_uid, visibility, prior, accepted.
pub(super) fn work(row: &Row<'_>) -> Result<Work> {
    let after = || row.get::<_, Option<i64>>(4).map(|number| number.map(Uid));
    let visibility = |row: &Row<'_>| row.get::<_, Option<i64>>(5)?.map(unpack_visibility).transpose();
    Ok(match row.get(0)? {
        VERSION => Work::Version {
            id: activity_id(row, 1)?,
            version: version(row, 2)?,
            prior: match visibility(row)? {
                Some(visibility) => Some(PriorAudience { visibility, addressed: unpack_uids(row, 6)? }),
                None => None,
            },
            accepted: row.get::<_, Option<i64>>(7)?.map(|_| position(row, 7)).transpose()?,
        },
        ADDRESSED => {
            let sort_key =
                |time| Ok::<_, crate::StoreError>(SortKey { time: Millis(time), id: activity_id(row, 1)? });
            let after = row.get::<_, Option<i64>>(2)?.map(sort_key).transpose()?;
            Work::Addressed { uid: Uid(row.get(3)?), after }
        }
        FOLLOWERS => Work::Followers {
            id: activity_id(row, 1)?,
            version: version(row, 2)?,
            prior: visibility(row)?,
            accepted: position(row, 7)?,
            after: Uid(row.get(3)?),
        },
        EDGE => Work::Edge {
            follower: Uid(row.get(3)?),
            followee: Uid(row.get(4)?),
            version: version(row, 2)?,
            following: row.get(7)?,
        },
        ACCOUNT => Work::Account { uid: Uid(row.get(3)?), after: after()? },
        REMOVAL => Work::Removal { owner: Uid(row.get(3)?), id: activity_id(row, 1)? },
        PREPARE_FOLLOWERS => Work::PrepareFollowers { uid: Uid(row.get(3)?), after: after()? },
        BECOME_DORMANT => {
            Work::BecomeDormant { uid: Uid(row.get(3)?), version: version(row, 2)?, after: after()? }
        }
        CATCH_UP => Work::CatchUp {
            uid: Uid(row.get(3)?),
            version: version(row, 2)?,
            since: position(row, 7)?,
            after: after()?,
            within: row.get::<_, Option<Vec<u8>>>(6)?.map(|bytes| within(&bytes)).transpose()?,
        },
        _ => return Err(corrupt("unknown kind of task")),
    })
}

/// The followee in progress of a catch-up, and the sort key reached.
fn within(bytes: &[u8]) -> Result<(Uid, SortKey)> {
    let mut reader = WireReader::new(bytes);
    Ok((reader.uid()?, reader.sort_key()?))
}
