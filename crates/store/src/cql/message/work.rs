//! Encoding of work, and the identifiers of follow-up messages.

use super::IntentKey;
use crate::bytes::{WireReader, WireWriter};
use crate::cql::db::corrupt;
use crate::{Result, Work};
use model::{SortKey, Uid};

fn encode_uid(writer: WireWriter, uid: Uid) -> WireWriter {
    writer.signed(uid.0)
}

pub(super) fn encode_work(writer: WireWriter, work: &Work) -> WireWriter {
    match work {
        Work::Version { id, version, prior, accepted } => writer
            .byte(0)
            .id(*id)
            .signed(version.0)
            .option(prior.as_ref(), WireWriter::prior_audience)
            .option(*accepted, |writer, at| writer.number(at.0)),
        Work::Followers { id, version, prior, accepted, after } => writer
            .byte(1)
            .id(*id)
            .signed(version.0)
            .option(*prior, WireWriter::visibility)
            .number(accepted.0)
            .signed(after.0),
        Work::Edge { follower, followee, version, following } => {
            writer.byte(2).signed(follower.0).signed(followee.0).signed(version.0).flag(*following)
        }
        Work::Account { uid, after } => writer.byte(3).signed(uid.0).option(*after, encode_uid),
        Work::Addressed { uid, after } => writer.byte(4).signed(uid.0).option(*after, WireWriter::sort_key),
        Work::Removal { owner, id } => writer.byte(5).signed(owner.0).id(*id),
        Work::PrepareFollowers { uid, after } => writer.byte(6).signed(uid.0).option(*after, encode_uid),
        Work::BecomeDormant { uid, version, after } => {
            writer.byte(7).signed(uid.0).signed(version.0).option(*after, encode_uid)
        }
        Work::CatchUp { uid, version, since, after, within } => writer
            .byte(8)
            .signed(uid.0)
            .signed(version.0)
            .number(since.0)
            .option(*after, encode_uid)
            .option(*within, |writer, (followee, sort_key)| writer.signed(followee.0).sort_key(sort_key)),
    }
}

pub(super) fn decode_work(reader: &mut WireReader<'_>) -> Result<Work> {
    Ok(match reader.byte()? {
        0 => Work::Version {
            id: reader.id()?,
            version: reader.version()?,
            prior: reader.option(WireReader::prior_audience)?,
            accepted: reader.option(WireReader::position)?,
        },
        1 => Work::Followers {
            id: reader.id()?,
            version: reader.version()?,
            prior: reader.option(WireReader::visibility)?,
            accepted: reader.position()?,
            after: reader.uid()?,
        },
        2 => Work::Edge {
            follower: reader.uid()?,
            followee: reader.uid()?,
            version: reader.version()?,
            following: reader.flag()?,
        },
        3 => Work::Account { uid: reader.uid()?, after: reader.option(WireReader::uid)? },
        4 => Work::Addressed { uid: reader.uid()?, after: reader.option(WireReader::sort_key)? },
        5 => Work::Removal { owner: reader.uid()?, id: reader.id()? },
        6 => Work::PrepareFollowers { uid: reader.uid()?, after: reader.option(WireReader::uid)? },
        7 => Work::BecomeDormant {
            uid: reader.uid()?,
            version: reader.version()?,
            after: reader.option(WireReader::uid)?,
        },
        8 => Work::CatchUp {
            uid: reader.uid()?,
            version: reader.version()?,
            since: reader.position()?,
            after: reader.option(WireReader::uid)?,
            within: reader.option(|reader| Ok((reader.uid()?, reader.sort_key()?)))?,
        },
        _ => return Err(corrupt("unknown kind of work")),
    })
}

/// The identifier of a follow-up message: the same if it is sent again, and different for every step.
pub(in crate::cql) fn next_id(key: &IntentKey, work: &Work) -> String {
    let rest = match work {
        Work::Followers { after, .. } => format!("f{}", after.0),
        Work::Account { after, .. } => format!("a{}", after.map_or(0, |uid| uid.0)),
        Work::Addressed { after, .. } => format!("d{}", after.map_or_else(String::new, format_sort_key)),
        Work::PrepareFollowers { after, .. } => format!("u{}", after.map_or(0, |uid| uid.0)),
        Work::BecomeDormant { after, .. } => format!("s{}", after.map_or(0, |uid| uid.0)),
        Work::CatchUp { after, within, .. } => {
            let within = within.map_or_else(String::new, |(followee, sort_key)| {
                format!(":{}:{}", followee.0, format_sort_key(sort_key))
            });
            format!("b{}{within}", after.map_or(0, |uid| uid.0))
        }
        Work::Version { .. } | Work::Edge { .. } | Work::Removal { .. } => "x".to_owned(),
    };
    format!("{}/{rest}", key.id)
}

fn format_sort_key(sort_key: SortKey) -> String {
    format!("{}:{}", sort_key.time.0, sort_key.id)
}

/// Whether `next` is a follow-up of `done`.
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

    /// The steps of one catch-up.
    fn steps() -> Vec<Work> {
        let sort_key = |time| SortKey { time: Millis(time), id: ActivityId::new(Millis(time), [7; 10]) };
        let progress = [
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
        progress.map(step).to_vec()
    }

    #[test]
    fn every_step_has_its_own_identifier() {
        let key = IntentKey { minute: 0, id: "b:3:2".to_owned() };
        let names: HashSet<String> = steps().iter().map(|work| next_id(&key, work)).collect();
        assert_eq!(names.len(), steps().len());
    }

    #[test]
    fn follow_up_work_belongs_to_its_own_intent() {
        let (uid, after) = (Uid(3), None);
        let edge = |followee| Work::Edge { follower: Uid(9), followee, version: Version(1), following: true };
        let prepare = Work::PrepareFollowers { uid, after };
        assert!(follows(&prepare, &edge(uid)) && follows(&prepare, &prepare));
        assert!(!follows(&prepare, &edge(Uid(4))) && !follows(&edge(uid), &prepare));
        let become_dormant = |version| Work::BecomeDormant { uid, version: Version(version), after };
        assert!(
            follows(&become_dormant(2), &become_dormant(2))
                && !follows(&become_dormant(2), &become_dormant(5))
        );
        for step in steps() {
            assert!(steps().iter().all(|before| follows(&step, before)));
            assert!(!follows(&step, &become_dormant(2)) && !follows(&become_dormant(2), &step));
        }
    }
}
