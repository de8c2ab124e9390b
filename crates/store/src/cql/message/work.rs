//! Work as bytes, and what is still to be done after a part of it.

use super::Root;
use crate::bytes::{Put, Take};
use crate::cql::db::corrupt;
use crate::{Result, Work};
use model::{Spot, Uid};

fn put_uid(put: Put, uid: Uid) -> Put {
    put.signed(uid.0)
}

pub(super) fn put_work(put: Put, work: &Work) -> Put {
    match work {
        Work::Version { id, version, formerly, accepted } => put
            .byte(0)
            .id(*id)
            .signed(version.0)
            .option(formerly.as_ref(), Put::formerly)
            .option(*accepted, |put, at| put.number(at.0)),
        Work::Followers { id, version, formerly, accepted, after } => put
            .byte(1)
            .id(*id)
            .signed(version.0)
            .option(*formerly, Put::visibility)
            .number(accepted.0)
            .signed(after.0),
        Work::Edge { follower, followee, version, following } => {
            put.byte(2).signed(follower.0).signed(followee.0).signed(version.0).flag(*following)
        }
        Work::Account { uid, after } => put.byte(3).signed(uid.0).option(*after, put_uid),
        Work::Addressed { uid, after } => put.byte(4).signed(uid.0).option(*after, Put::spot),
        Work::Removal { owner, id } => put.byte(5).signed(owner.0).id(*id),
        Work::Audience { uid, after } => put.byte(6).signed(uid.0).option(*after, put_uid),
        Work::Sleep { uid, version, after } => {
            put.byte(7).signed(uid.0).signed(version.0).option(*after, put_uid)
        }
        Work::Return { uid, version, since, after, within } => put
            .byte(8)
            .signed(uid.0)
            .signed(version.0)
            .number(since.0)
            .option(*after, put_uid)
            .option(*within, |put, (whom, spot)| put.signed(whom.0).spot(spot)),
    }
}

pub(super) fn take_work(take: &mut Take<'_>) -> Result<Work> {
    Ok(match take.byte()? {
        0 => Work::Version {
            id: take.id()?,
            version: take.version()?,
            formerly: take.option(Take::formerly)?,
            accepted: take.option(Take::position)?,
        },
        1 => Work::Followers {
            id: take.id()?,
            version: take.version()?,
            formerly: take.option(Take::visibility)?,
            accepted: take.position()?,
            after: take.uid()?,
        },
        2 => Work::Edge {
            follower: take.uid()?,
            followee: take.uid()?,
            version: take.version()?,
            following: take.flag()?,
        },
        3 => Work::Account { uid: take.uid()?, after: take.option(Take::uid)? },
        4 => Work::Addressed { uid: take.uid()?, after: take.option(Take::spot)? },
        5 => Work::Removal { owner: take.uid()?, id: take.id()? },
        6 => Work::Audience { uid: take.uid()?, after: take.option(Take::uid)? },
        7 => Work::Sleep { uid: take.uid()?, version: take.version()?, after: take.option(Take::uid)? },
        8 => Work::Return {
            uid: take.uid()?,
            version: take.version()?,
            since: take.position()?,
            after: take.option(Take::uid)?,
            within: take.option(|take| Ok((take.uid()?, take.spot()?)))?,
        },
        _ => return Err(corrupt("not a kind of work")),
    })
}

/// The identifier of what follows a message: the same, however often it is sent, and another for every step.
pub(in crate::cql) fn next_id(root: &Root, work: &Work) -> String {
    let rest = match work {
        Work::Followers { after, .. } => format!("f{}", after.0),
        Work::Account { after, .. } => format!("a{}", after.map_or(0, |uid| uid.0)),
        Work::Addressed { after, .. } => format!("d{}", after.map_or_else(String::new, named)),
        Work::Audience { after, .. } => format!("u{}", after.map_or(0, |uid| uid.0)),
        Work::Sleep { after, .. } => format!("s{}", after.map_or(0, |uid| uid.0)),
        Work::Return { after, within, .. } => {
            let within =
                within.map_or_else(String::new, |(whom, spot)| format!(":{}:{}", whom.0, named(spot)));
            format!("b{}{within}", after.map_or(0, |uid| uid.0))
        }
        Work::Version { .. } | Work::Edge { .. } | Work::Removal { .. } => "x".to_owned(),
    };
    format!("{}/{rest}", root.id)
}

fn named(spot: Spot) -> String {
    format!("{}:{}", spot.time.0, spot.id)
}

/// Whether this follows from that.
pub(in crate::cql) fn follows(next: &Work, done: &Work) -> bool {
    match (next, done) {
        (
            Work::Followers { id, version, .. },
            Work::Version { id: of, version: by, .. } | Work::Followers { id: of, version: by, .. },
        ) => (id, version) == (of, by),
        (
            Work::Account { uid, .. } | Work::Addressed { uid, .. },
            Work::Account { uid: of, .. } | Work::Addressed { uid: of, .. },
        )
        | (Work::Audience { uid, .. }, Work::Edge { followee: of, .. } | Work::Audience { uid: of, .. }) => {
            uid == of
        }
        (Work::Sleep { uid, version, .. }, Work::Sleep { uid: of, version: by, .. })
        | (Work::Return { uid, version, .. }, Work::Return { uid: of, version: by, .. }) => {
            (uid, version) == (of, by)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ActivityId, Millis, Position, Version};
    use std::collections::HashSet;

    /// The steps of one return.
    fn steps() -> Vec<Work> {
        let spot = |time| Spot { time: Millis(time), id: ActivityId::new(Millis(time), [7; 10]) };
        let places = [
            (None, None),
            (None, Some((Uid(4), spot(9)))),
            (None, Some((Uid(4), spot(8)))),
            (Some(Uid(4)), None),
            (Some(Uid(4)), Some((Uid(5), spot(8)))),
        ];
        let step = |(after, within)| Work::Return {
            uid: Uid(3),
            version: Version(2),
            since: Position(1),
            after,
            within,
        };
        places.map(step).to_vec()
    }

    #[test]
    fn every_step_has_a_name_of_its_own() {
        let root = Root { minute: 0, id: "b:3:2".to_owned() };
        let names: HashSet<String> = steps().iter().map(|work| next_id(&root, work)).collect();
        assert_eq!(names.len(), steps().len());
    }

    #[test]
    fn what_is_begun_goes_on_with_its_own_steps_only() {
        let (uid, after) = (Uid(3), None);
        let edge = |followee| Work::Edge { follower: Uid(9), followee, version: Version(1), following: true };
        let audience = Work::Audience { uid, after };
        assert!(follows(&audience, &edge(uid)) && follows(&audience, &audience));
        assert!(!follows(&audience, &edge(Uid(4))) && !follows(&edge(uid), &audience));
        let sleep = |version| Work::Sleep { uid, version: Version(version), after };
        assert!(follows(&sleep(2), &sleep(2)) && !follows(&sleep(2), &sleep(5)));
        for step in steps() {
            assert!(steps().iter().all(|before| follows(&step, before)));
            assert!(!follows(&step, &sleep(2)) && !follows(&sleep(2), &step));
        }
    }
}
