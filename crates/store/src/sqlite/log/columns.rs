//! What is to be done, as columns: which of them a kind of work uses, and what for.

use super::super::values::{
    activity_id, corrupt, pack_uids, position, seq, unpack_uids, unpack_visibility, version,
    visibility_number,
};
use crate::bytes::{Put, Take};
use crate::{Result, Work};
use model::{Formerly, Millis, Spot, Uid};
use rusqlite::Row;

const VERSION: i64 = 0;
const FOLLOWERS: i64 = 1;
const EDGE: i64 = 2;
const ACCOUNT: i64 = 3;
const REMOVAL: i64 = 4;
const ADDRESSED: i64 = 5;
const AUDIENCE: i64 = 6;
const SLEEP: i64 = 7;
const RETURN: i64 = 8;

/// A task's columns.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) kind: i64,
    pub(super) aid: Option<[u8; 16]>,
    pub(super) ver: Option<i64>,
    pub(super) one: Option<i64>,
    pub(super) other: Option<i64>,
    pub(super) visibility: Option<i64>,
    pub(super) formerly: Option<Vec<u8>>,
    pub(super) accepted: Option<i64>,
}

impl From<&Work> for Columns {
    fn from(work: &Work) -> Columns {
        match work {
            Work::Version { id, version, formerly, accepted } => Columns {
                kind: VERSION,
                aid: Some(*id.as_bytes()),
                ver: Some(version.0),
                visibility: formerly.as_ref().map(|before| visibility_number(before.visibility)),
                formerly: formerly.as_ref().map(|before| pack_uids(&before.addressed)),
                accepted: accepted.map(seq),
                ..Columns::default()
            },
            Work::Followers { id, version, formerly, accepted, after } => Columns {
                kind: FOLLOWERS,
                aid: Some(*id.as_bytes()),
                ver: Some(version.0),
                one: Some(after.0),
                visibility: formerly.map(visibility_number),
                accepted: Some(seq(*accepted)),
                ..Columns::default()
            },
            Work::Edge { follower, followee, version, following } => Columns {
                kind: EDGE,
                ver: Some(version.0),
                one: Some(follower.0),
                other: Some(followee.0),
                accepted: Some(i64::from(*following)),
                ..Columns::default()
            },
            Work::Account { uid, after } => Columns {
                kind: ACCOUNT,
                one: Some(uid.0),
                other: after.map(|after| after.0),
                ..Columns::default()
            },
            Work::Addressed { uid, after } => Columns {
                kind: ADDRESSED,
                one: Some(uid.0),
                ver: after.map(|spot| spot.time.0),
                aid: after.map(|spot| *spot.id.as_bytes()),
                ..Columns::default()
            },
            Work::Removal { owner, id } => {
                Columns { kind: REMOVAL, aid: Some(*id.as_bytes()), one: Some(owner.0), ..Columns::default() }
            }
            Work::Audience { uid, after } => Columns {
                kind: AUDIENCE,
                one: Some(uid.0),
                other: after.map(|after| after.0),
                ..Columns::default()
            },
            Work::Sleep { uid, version, after } => Columns {
                kind: SLEEP,
                ver: Some(version.0),
                one: Some(uid.0),
                other: after.map(|after| after.0),
                ..Columns::default()
            },
            Work::Return { uid, version, since, after, within } => Columns {
                kind: RETURN,
                ver: Some(version.0),
                one: Some(uid.0),
                other: after.map(|after| after.0),
                formerly: within.map(|(uid, spot)| Put::new().signed(uid.0).spot(spot).finish()),
                accepted: Some(seq(*since)),
                ..Columns::default()
            },
        }
    }
}

/// From the columns kind, aid, ver, one, other, visibility, formerly, accepted.
pub(super) fn work(row: &Row<'_>) -> Result<Work> {
    let after = || row.get::<_, Option<i64>>(4).map(|number| number.map(Uid));
    let visibility = |row: &Row<'_>| row.get::<_, Option<i64>>(5)?.map(unpack_visibility).transpose();
    Ok(match row.get(0)? {
        VERSION => Work::Version {
            id: activity_id(row, 1)?,
            version: version(row, 2)?,
            formerly: match visibility(row)? {
                Some(visibility) => Some(Formerly { visibility, addressed: unpack_uids(row, 6)? }),
                None => None,
            },
            accepted: row.get::<_, Option<i64>>(7)?.map(|_| position(row, 7)).transpose()?,
        },
        ADDRESSED => {
            let spot =
                |time| Ok::<_, crate::StoreError>(Spot { time: Millis(time), id: activity_id(row, 1)? });
            let after = row.get::<_, Option<i64>>(2)?.map(spot).transpose()?;
            Work::Addressed { uid: Uid(row.get(3)?), after }
        }
        FOLLOWERS => Work::Followers {
            id: activity_id(row, 1)?,
            version: version(row, 2)?,
            formerly: visibility(row)?,
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
        AUDIENCE => Work::Audience { uid: Uid(row.get(3)?), after: after()? },
        SLEEP => Work::Sleep { uid: Uid(row.get(3)?), version: version(row, 2)?, after: after()? },
        RETURN => Work::Return {
            uid: Uid(row.get(3)?),
            version: version(row, 2)?,
            since: position(row, 7)?,
            after: after()?,
            within: row.get::<_, Option<Vec<u8>>>(6)?.map(|bytes| within(&bytes)).transpose()?,
        },
        _ => return Err(corrupt("not a kind of task")),
    })
}

/// Everything of this account's down to that spot.
fn within(bytes: &[u8]) -> Result<(Uid, Spot)> {
    let mut take = Take::new(bytes);
    Ok((take.uid()?, take.spot()?))
}
