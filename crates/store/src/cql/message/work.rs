//! Work as bytes, and what is still to be done after a part of it.

use super::IntentKey;
use crate::bytes::{WireReader, WireWriter};
use crate::cql::db::corrupt;
use crate::{Result, Work};
use model::{SortKey, Uid};

fn put_uid(put: WireWriter, uid: Uid) -> WireWriter {
    put.signed(uid.0)
}

pub(super) fn put_work(put: WireWriter, work: &Work) -> WireWriter {
    match work {
        Work::Version { id, version, prior, accepted } => put
            .byte(0)
            .id(*id)
            .signed(version.0)
            .option(prior.as_ref(), WireWriter::prior_audience)
            .option(*accepted, |put, at| put.number(at.0)),
        Work::Followers { id, version, prior, accepted, after } => put
            .byte(1)
            .id(*id)
            .signed(version.0)
            .option(*prior, WireWriter::visibility)
            .number(accepted.0)
            .signed(after.0),
        Work::Edge { follower, followee, version, following } => {
            put.byte(2).signed(follower.0).signed(followee.0).signed(version.0).flag(*following)
        }
        Work::Account { uid, after } => put.byte(3).signed(uid.0).option(*after, put_uid),
        Work::Addressed { uid, after } => put.byte(4).signed(uid.0).option(*after, WireWriter::sort_key),
        Work::Removal { owner, id } => put.byte(5).signed(owner.0).id(*id),
        Work::PrepareFollowers { uid, after } => put.byte(6).signed(uid.0).option(*after, put_uid),
        Work::BecomeDormant { uid, version, after } => {
            put.byte(7).signed(uid.0).signed(version.0).option(*after, put_uid)
        }
        Work::CatchUp { uid, version, since, after, within } => put
            .byte(8)
            .signed(uid.0)
            .signed(version.0)
            .number(since.0)
            .option(*after, put_uid)
            .option(*within, |put, (whom, sort_key)| put.signed(whom.0).sort_key(sort_key)),
    }
}

pub(super) fn take_work(take: &mut WireReader<'_>) -> Result<Work> {
    Ok(match take.byte()? {
        0 => Work::Version {
            id: take.id()?,
            version: take.version()?,
            prior: take.option(WireReader::prior_audience)?,
            accepted: take.option(WireReader::position)?,
        },
        1 => Work::Followers {
            id: take.id()?,
            version: take.version()?,
            prior: take.option(WireReader::visibility)?,
            accepted: take.position()?,
            after: take.uid()?,
        },
        2 => Work::Edge {
            follower: take.uid()?,
            followee: take.uid()?,
            version: take.version()?,
            following: take.flag()?,
        },
        3 => Work::Account { uid: take.uid()?, after: take.option(WireReader::uid)? },
        4 => Work::Addressed { uid: take.uid()?, after: take.option(WireReader::sort_key)? },
        5 => Work::Removal { owner: take.uid()?, id: take.id()? },
        6 => Work::PrepareFollowers { uid: take.uid()?, after: take.option(WireReader::uid)? },
        7 => Work::BecomeDormant {
            uid: take.uid()?,
            version: take.version()?,
            after: take.option(WireReader::uid)?,
        },
        8 => Work::CatchUp {
            uid: take.uid()?,
            version: take.version()?,
            since: take.position()?,
            after: take.option(WireReader::uid)?,
            within: take.option(|take| Ok((take.uid()?, take.sort_key()?)))?,
        },
        _ => return Err(corrupt("not a kind of work")),
    })
}

/// The identifier of what follows a message: the same, however often it is sent, and another for every step.
pub(in crate::cql) fn next_id(key: &IntentKey, work: &Work) -> String {
    let rest = match work {
        Work::Followers { after, .. } => format!("f{}", after.0),
        Work::Account { after, .. } => format!("a{}", after.map_or(0, |uid| uid.0)),
        Work::Addressed { after, .. } => format!("d{}", after.map_or_else(String::new, named)),
        Work::PrepareFollowers { after, .. } => format!("u{}", after.map_or(0, |uid| uid.0)),
        Work::BecomeDormant { after, .. } => format!("s{}", after.map_or(0, |uid| uid.0)),
        Work::CatchUp { after, within, .. } => {
            let within = within
                .map_or_else(String::new, |(whom, sort_key)| format!(":{}:{}", whom.0, named(sort_key)));
            format!("b{}{within}", after.map_or(0, |uid| uid.0))
        }
        Work::Version { .. } | Work::Edge { .. } | Work::Removal { .. } => "x".to_owned(),
    };
    format!("{}/{rest}", key.id)
}

fn named(sort_key: SortKey) -> String {
    format!("{}:{}", sort_key.time.0, sort_key.id)
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
        | (
            Work::PrepareFollowers { uid, .. },
            Work::Edge { followee: of, .. } | Work::PrepareFollowers { uid: of, .. },
        ) => uid == of,
        (Work::BecomeDormant { uid, version, .. }, Work::BecomeDormant { uid: of, version: by, .. })
        | (Work::CatchUp { uid, version, .. }, Work::CatchUp { uid: of, version: by, .. }) => {
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
        let sort_key = |time| SortKey { time: Millis(time), id: ActivityId::new(Millis(time), [7; 10]) };
        let offsets = [
            (None, None),
            (None, Some((Uid(4), sort_key(9)))),
            (None, Some((Uid(4), sort_key(8)))),
            (Some(Uid(4)), None),
            (Some(Uid(4)), Some((Uid(5), sort_key(8)))),
        ];
        let step = |(after, within)| Work::CatchUp {
            uid: Uid(3),
            version: Version(2),
            since: Position(1),
            after,
            within,
        };
        offsets.map(step).to_vec()
    }

    #[test]
    fn every_step_has_a_name_of_its_own() {
        let key = IntentKey { minute: 0, id: "b:3:2".to_owned() };
        let names: HashSet<String> = steps().iter().map(|work| next_id(&key, work)).collect();
        assert_eq!(names.len(), steps().len());
    }

    #[test]
    fn what_is_begun_goes_on_with_its_own_steps_only() {
        let (uid, after) = (Uid(3), None);
        let edge = |followee| Work::Edge { follower: Uid(9), followee, version: Version(1), following: true };
        let fanout_state = Work::PrepareFollowers { uid, after };
        assert!(follows(&fanout_state, &edge(uid)) && follows(&fanout_state, &fanout_state));
        assert!(!follows(&fanout_state, &edge(Uid(4))) && !follows(&edge(uid), &fanout_state));
        let dormancy = |version| Work::BecomeDormant { uid, version: Version(version), after };
        assert!(follows(&dormancy(2), &dormancy(2)) && !follows(&dormancy(2), &dormancy(5)));
        for step in steps() {
            assert!(steps().iter().all(|before| follows(&step, before)));
            assert!(!follows(&step, &dormancy(2)) && !follows(&dormancy(2), &step));
        }
    }
}
