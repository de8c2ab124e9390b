//! Messages of the log, and the intents behind them.
//!
//! A message carries identifiers and versions only. Everything else that its write needs is in the stored intent:
//! a reader of the log learns no content and no credential.

use crate::{Acceptance, DecisionChange, ExternalKey, TracedWork, Work};
use model::{
    Account, Activity, ActivityId, Decision, Edge, EdgeFilter, Millis, Position, PriorAudience, SortKey,
    State, TraceContext, Uid, Version,
};
use uuid::Uuid;

/// A message of the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// The intent that it belongs to; `None` for a task without one.
    pub(crate) key: Option<IntentKey>,
    /// Whether the intent must be applied before the work is executed.
    pub(crate) first: bool,
    pub(crate) work: Work,
    /// The span that left the work behind, if its trace is recorded.
    pub(crate) trace: Option<TraceContext>,
    pub(crate) attempts: u32,
    pub(crate) not_before: Millis,
}

/// The key of a stored intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IntentKey {
    pub(crate) minute: i64,
    pub(crate) id: String,
}

/// A write of several steps: everything that must be written before the work is executed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Intent {
    Version(Box<AcceptedVersion>),
    Edge {
        follower: Uid,
        followee: Uid,
        edge: Edge,
    },
    EdgeFilter {
        follower: Uid,
        followee: Uid,
        version: Version,
        filter: EdgeFilter,
    },
    /// A block or mute. The operation id names it in the log, which must not show the other account's name.
    Decision {
        change: DecisionChange,
        op: Uuid,
    },
    /// A state that replaces version `before`, with this operation id.
    Account {
        account: Account,
        before: Version,
        op: Uuid,
    },
    Removal {
        owner: Uid,
        id: ActivityId,
        received: Millis,
        version: Version,
    },
    /// Reactivation with this version. Versions of a dormancy are only counted, so the time is separate.
    Reactivate {
        uid: Uid,
        version: Version,
        since: Position,
        at: Millis,
    },
}

/// An accepted version of an activity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AcceptedVersion {
    pub(crate) key: ExternalKey,
    pub(crate) activity: Activity,
    /// The audience of the version before it.
    pub(crate) prior: Option<PriorAudience>,
    /// The union of the audiences of all versions before it.
    pub(crate) before: Option<PriorAudience>,
}

impl Intent {
    pub(super) fn version(item: &Acceptance, before: Option<PriorAudience>) -> Intent {
        Intent::Version(Box::new(AcceptedVersion {
            key: item.source.clone(),
            activity: item.activity.clone(),
            prior: item.prior.clone(),
            before,
        }))
    }

    /// The key under which it is stored and published.
    pub(super) fn key(&self) -> IntentKey {
        let (version, id) = match self {
            Intent::Version(accepted) => {
                let State { id, version, .. } = &accepted.activity.state;
                return version_key(*id, *version);
            }
            Intent::Reactivate { uid, version, at, .. } => {
                return IntentKey { minute: minute(at.0), id: format!("b:{}:{}", uid.0, version.0) };
            }
            Intent::Edge { follower, followee, edge } => {
                (edge.version, format!("e:{}:{}:{}", follower.0, followee.0, edge.version.0))
            }
            Intent::EdgeFilter { follower, followee, version, .. } => {
                (*version, format!("f:{}:{}:{}", follower.0, followee.0, version.0))
            }
            Intent::Decision { change, op } => (change.version, format!("d:{}", op.simple())),
            // Two competing updates may create the same version of an account: the operation id distinguishes them.
            Intent::Account { account, op, .. } => {
                (account.version, format!("a:{}:{}", account.uid.0, op.simple()))
            }
            Intent::Removal { owner, id, version, .. } => {
                (*version, format!("r:{}:{id}:{}", owner.0, version.0))
            }
        };
        IntentKey { minute: minute(version.0), id }
    }

    /// The work that follows the intent.
    pub(super) fn work(&self) -> Work {
        match self {
            Intent::Version(accepted) => Work::Version {
                id: accepted.activity.state.id,
                version: accepted.activity.state.version,
                prior: accepted.prior.clone(),
                accepted: None,
            },
            Intent::Edge { follower, followee, edge } => Work::Edge {
                follower: *follower,
                followee: *followee,
                version: edge.version,
                following: edge.following,
            },
            Intent::EdgeFilter { follower, .. } => Work::Change { uid: *follower },
            Intent::Decision { change, .. } => work_of(change),
            Intent::Account { account, .. } => Work::Account { uid: account.uid, after: None },
            Intent::Removal { owner, id, .. } => Work::Removal { owner: *owner, id: *id },
            Intent::Reactivate { uid, version, since, .. } => {
                Work::CatchUp { uid: *uid, version: *version, since: *since, after: None, within: None }
            }
        }
    }
}

/// The work that follows a decision.
pub(super) fn work_of(change: &DecisionChange) -> Work {
    match (change.decision, change.holds, change.other_uid) {
        (Decision::Block, true, Some(other)) => Work::Block { owner: change.owner, other },
        _ => Work::Change { uid: change.owner },
    }
}

/// The key of an accepted version.
pub(super) fn version_key(id: ActivityId, version: Version) -> IntentKey {
    IntentKey { minute: minute(version.0), id: format!("v:{id}:{}", version.0) }
}

/// The minute of a time. Most versions approximate the time at which they were made.
fn minute(millis: i64) -> i64 {
    millis.div_euclid(60_000)
}

impl Message {
    pub(super) fn first(intent: &Intent, trace: Option<TraceContext>) -> Message {
        Message {
            key: Some(intent.key()),
            first: true,
            work: intent.work(),
            trace,
            attempts: 0,
            not_before: Millis(0),
        }
    }

    /// A message with follow-up work of the same intent.
    pub(super) fn next(&self, TracedWork { work, trace }: TracedWork) -> Message {
        Message { key: self.key.clone(), first: false, work, trace, attempts: 0, not_before: Millis(0) }
    }
}

/// The identifier of a follow-up message: the same if it is sent again, and different for every step.
pub(super) fn next_id(key: &IntentKey, work: &Work) -> String {
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
        Work::RemoveFollowed { after, .. } => {
            format!("g{}", after.map_or_else(String::new, format_sort_key))
        }
        Work::Version { .. }
        | Work::Edge { .. }
        | Work::Change { .. }
        | Work::Block { .. }
        | Work::Removal { .. } => "x".to_owned(),
    };
    format!("{}/{rest}", key.id)
}

fn format_sort_key(sort_key: SortKey) -> String {
    format!("{}:{}", sort_key.time.0, sort_key.id)
}

/// Whether `next` is a follow-up of `done`.
pub(super) fn follows(next: &Work, done: &Work) -> bool {
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
    use crate::codec::Encoded;
    use std::collections::HashSet;

    #[test]
    fn a_reactivation_is_stored_by_its_time_and_applied_by_its_version() {
        let (uid, version, since) = (Uid(7), Version(3), Position(5));
        let reactivation = Intent::Reactivate { uid, version, since, at: Millis(120_001) };
        let bytes = Message::first(&reactivation, None).encoded();
        let message = Message::decoded(&bytes).unwrap();
        assert_eq!(message.key, Some(IntentKey { minute: 2, id: "b:7:3".to_owned() }));
        assert_eq!(message.work, Work::CatchUp { uid, version, since, after: None, within: None });
        assert_eq!(message.encoded(), bytes);
    }

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
