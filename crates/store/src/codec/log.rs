//! Messages of the delivery log, and of notices between processes.

use super::accounts::AccountWire;
use super::activities::{BodyWire, EdgeFilterWire, EdgeWire, PriorAudienceWire, StateWire};
use super::{
    Encoded, SortKeyWire, activity_id, corrupt, exactly, id_bytes, millis, numbers, part, position, required,
    uid, uids, version, visibility_number, visibility_of,
};
use crate::message::{AcceptedVersion, Intent, IntentKey, Message};
use crate::relations::decision_number;
use crate::{DecisionChange, ExternalKey, Notice, Result, TracedWork, Work};
use model::{Account, AccountName, Activity, Decision, Edge, Millis, Position, TraceContext, Uid, Version};
use uuid::Uuid;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct WorkWire {
    #[prost(oneof = "WorkKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    kind: Option<WorkKind>,
    /// The span that left the work behind: the identifier of the trace, then that of the span.
    #[prost(bytes = "vec", optional, tag = "13")]
    trace: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum WorkKind {
    #[prost(message, tag = "1")]
    Version(VersionWire),
    #[prost(message, tag = "2")]
    Followers(FollowersWire),
    #[prost(message, tag = "3")]
    Edge(EdgeWorkWire),
    #[prost(message, tag = "4")]
    Account(ProgressWire),
    #[prost(message, tag = "5")]
    Addressed(AddressedWire),
    #[prost(message, tag = "6")]
    Removal(RemovalWire),
    #[prost(message, tag = "7")]
    PrepareFollowers(ProgressWire),
    #[prost(message, tag = "8")]
    BecomeDormant(ProgressWire),
    #[prost(message, tag = "9")]
    CatchUp(CatchUpWire),
    #[prost(message, tag = "10")]
    Change(ProgressWire),
    #[prost(message, tag = "11")]
    Block(BlockWire),
    #[prost(message, tag = "12")]
    RemoveFollowed(RemoveFollowedWire),
}

#[derive(Clone, PartialEq, prost::Message)]
struct VersionWire {
    #[prost(bytes = "vec", optional, tag = "1")]
    id: Option<Vec<u8>>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
    #[prost(message, optional, tag = "3")]
    prior: Option<PriorAudienceWire>,
    #[prost(uint64, optional, tag = "4")]
    accepted: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct FollowersWire {
    #[prost(bytes = "vec", optional, tag = "1")]
    id: Option<Vec<u8>>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
    #[prost(uint32, optional, tag = "3")]
    prior: Option<u32>,
    #[prost(uint64, optional, tag = "4")]
    accepted: Option<u64>,
    #[prost(int64, optional, tag = "5")]
    after: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EdgeWorkWire {
    #[prost(int64, optional, tag = "1")]
    follower: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    followee: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    version: Option<i64>,
    #[prost(bool, tag = "4")]
    following: bool,
}

/// Work that goes through the followers or followees of an account.
#[derive(Clone, PartialEq, prost::Message)]
struct ProgressWire {
    #[prost(int64, optional, tag = "1")]
    uid: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    after: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    version: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AddressedWire {
    #[prost(int64, optional, tag = "1")]
    uid: Option<i64>,
    #[prost(message, optional, tag = "2")]
    after: Option<SortKeyWire>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct BlockWire {
    #[prost(int64, optional, tag = "1")]
    owner: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    other: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RemoveFollowedWire {
    #[prost(int64, optional, tag = "1")]
    follower: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    followee: Option<i64>,
    #[prost(message, optional, tag = "3")]
    after: Option<SortKeyWire>,
}

/// A removal as work, and with the last two fields as an intent.
#[derive(Clone, PartialEq, prost::Message)]
struct RemovalWire {
    #[prost(int64, optional, tag = "1")]
    owner: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    id: Option<Vec<u8>>,
    #[prost(sint64, optional, tag = "3")]
    received: Option<i64>,
    #[prost(int64, optional, tag = "4")]
    version: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct CatchUpWire {
    #[prost(int64, optional, tag = "1")]
    uid: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
    #[prost(uint64, optional, tag = "3")]
    since: Option<u64>,
    #[prost(int64, optional, tag = "4")]
    after: Option<i64>,
    /// The followee in progress, and the sort key reached.
    #[prost(int64, optional, tag = "5")]
    within: Option<i64>,
    #[prost(message, optional, tag = "6")]
    reached: Option<SortKeyWire>,
}

impl Encoded for Work {
    type Wire = WorkWire;
    type Beside = ();

    fn to_wire(&self) -> WorkWire {
        let progress = |uid: &Uid, after: &Option<Uid>, version| {
            let (uid, after) = (Some(uid.0), after.map(|uid| uid.0));
            ProgressWire { uid, after, version }
        };
        let kind = match self {
            Work::Version { id, version, prior, accepted } => WorkKind::Version(VersionWire {
                id: id_bytes(*id),
                version: Some(version.0),
                prior: prior.as_ref().map(Encoded::to_wire),
                accepted: accepted.map(|at| at.0),
            }),
            Work::Followers { id, version, prior, accepted, after } => WorkKind::Followers(FollowersWire {
                id: id_bytes(*id),
                version: Some(version.0),
                prior: prior.map(|visibility| visibility_number(visibility).into()),
                accepted: Some(accepted.0),
                after: Some(after.0),
            }),
            Work::Edge { follower, followee, version, following } => WorkKind::Edge(EdgeWorkWire {
                follower: Some(follower.0),
                followee: Some(followee.0),
                version: Some(version.0),
                following: *following,
            }),
            Work::Account { uid, after } => WorkKind::Account(progress(uid, after, None)),
            Work::Addressed { uid, after } => WorkKind::Addressed(AddressedWire {
                uid: Some(uid.0),
                after: after.map(|sort_key| sort_key.to_wire()),
            }),
            Work::Change { uid } => WorkKind::Change(progress(uid, &None, None)),
            Work::Block { owner, other } => {
                WorkKind::Block(BlockWire { owner: Some(owner.0), other: Some(other.0) })
            }
            Work::RemoveFollowed { follower, followee, after } => {
                WorkKind::RemoveFollowed(RemoveFollowedWire {
                    follower: Some(follower.0),
                    followee: Some(followee.0),
                    after: after.map(|sort_key| sort_key.to_wire()),
                })
            }
            Work::Removal { owner, id } => WorkKind::Removal(RemovalWire {
                owner: Some(owner.0),
                id: id_bytes(*id),
                received: None,
                version: None,
            }),
            Work::PrepareFollowers { uid, after } => WorkKind::PrepareFollowers(progress(uid, after, None)),
            Work::BecomeDormant { uid, version, after } => {
                WorkKind::BecomeDormant(progress(uid, after, Some(version.0)))
            }
            Work::CatchUp { uid, version, since, after, within } => WorkKind::CatchUp(CatchUpWire {
                uid: Some(uid.0),
                version: Some(version.0),
                since: Some(since.0),
                after: after.map(|uid| uid.0),
                within: within.map(|(followee, _)| followee.0),
                reached: within.map(|(_, sort_key)| sort_key.to_wire()),
            }),
        };
        WorkWire { kind: Some(kind), trace: None }
    }

    fn from_wire(wire: WorkWire, (): ()) -> Result<Work> {
        Ok(match wire.kind.ok_or_else(|| corrupt("unknown kind of work"))? {
            WorkKind::Version(wire) => Work::Version {
                id: activity_id(wire.id)?,
                version: version(wire.version)?,
                prior: part(wire.prior)?,
                accepted: wire.accepted.map(Position),
            },
            WorkKind::Followers(wire) => Work::Followers {
                id: activity_id(wire.id)?,
                version: version(wire.version)?,
                prior: wire.prior.map(visibility_of).transpose()?,
                accepted: position(wire.accepted)?,
                after: uid(wire.after)?,
            },
            WorkKind::Edge(wire) => Work::Edge {
                follower: uid(wire.follower)?,
                followee: uid(wire.followee)?,
                version: version(wire.version)?,
                following: wire.following,
            },
            WorkKind::Account(wire) => Work::Account { uid: uid(wire.uid)?, after: wire.after.map(Uid) },
            WorkKind::Addressed(wire) => Work::Addressed { uid: uid(wire.uid)?, after: part(wire.after)? },
            WorkKind::Change(wire) => Work::Change { uid: uid(wire.uid)? },
            WorkKind::Block(wire) => Work::Block { owner: uid(wire.owner)?, other: uid(wire.other)? },
            WorkKind::RemoveFollowed(wire) => Work::RemoveFollowed {
                follower: uid(wire.follower)?,
                followee: uid(wire.followee)?,
                after: part(wire.after)?,
            },
            WorkKind::Removal(wire) => Work::Removal { owner: uid(wire.owner)?, id: activity_id(wire.id)? },
            WorkKind::PrepareFollowers(wire) => {
                Work::PrepareFollowers { uid: uid(wire.uid)?, after: wire.after.map(Uid) }
            }
            WorkKind::BecomeDormant(wire) => Work::BecomeDormant {
                uid: uid(wire.uid)?,
                version: version(wire.version)?,
                after: wire.after.map(Uid),
            },
            WorkKind::CatchUp(wire) => Work::CatchUp {
                uid: uid(wire.uid)?,
                version: version(wire.version)?,
                since: position(wire.since)?,
                after: wire.after.map(Uid),
                within: match wire.within {
                    Some(followee) => Some((Uid(followee), required(part(wire.reached)?, "sort key")?)),
                    None => None,
                },
            },
        })
    }
}

impl Encoded for TracedWork {
    type Wire = WorkWire;
    type Beside = ();

    fn to_wire(&self) -> WorkWire {
        traced(&self.work, self.trace)
    }

    /// An invalid context costs the trace, not the work.
    fn from_wire(wire: WorkWire, (): ()) -> Result<TracedWork> {
        let trace = wire.trace.as_deref().and_then(TraceContext::from_bytes);
        Ok(Work::from_wire(wire, ())?.in_trace(trace))
    }
}

fn traced(work: &Work, trace: Option<TraceContext>) -> WorkWire {
    WorkWire { trace: trace.map(|trace| trace.to_bytes().to_vec()), ..work.to_wire() }
}

fn account_name(field: Option<String>) -> Result<AccountName> {
    let name = required(field, "account name")?;
    AccountName::parse(&name).map_err(|_| corrupt("invalid account name"))
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct IntentWire {
    #[prost(oneof = "IntentKind", tags = "1, 2, 3, 4, 5, 6, 7")]
    kind: Option<IntentKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum IntentKind {
    #[prost(message, boxed, tag = "1")]
    Version(Box<AcceptedWire>),
    #[prost(message, tag = "2")]
    Edge(EdgeIntentWire),
    #[prost(message, boxed, tag = "3")]
    Account(Box<AccountIntentWire>),
    #[prost(message, tag = "4")]
    Removal(RemovalWire),
    #[prost(message, tag = "5")]
    Reactivate(ReactivateWire),
    #[prost(message, tag = "6")]
    EdgeFilter(EdgeFilterIntentWire),
    #[prost(message, tag = "7")]
    Decision(DecisionWire),
}

#[derive(Clone, PartialEq, prost::Message)]
struct AcceptedWire {
    #[prost(int64, optional, tag = "1")]
    actor: Option<i64>,
    #[prost(string, optional, tag = "2")]
    service: Option<String>,
    #[prost(string, optional, tag = "3")]
    id: Option<String>,
    #[prost(message, optional, tag = "4")]
    state: Option<StateWire>,
    #[prost(message, optional, tag = "5")]
    body: Option<BodyWire>,
    #[prost(message, optional, tag = "6")]
    prior: Option<PriorAudienceWire>,
    #[prost(message, optional, tag = "7")]
    before: Option<PriorAudienceWire>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EdgeIntentWire {
    #[prost(int64, optional, tag = "1")]
    follower: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    followee: Option<i64>,
    #[prost(message, optional, tag = "3")]
    edge: Option<EdgeWire>,
    /// Absent in an intent of a program that did not know filters: then there is none.
    #[prost(message, optional, tag = "4")]
    filter: Option<EdgeFilterWire>,
    #[prost(int64, optional, tag = "5")]
    filter_version: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EdgeFilterIntentWire {
    #[prost(int64, optional, tag = "1")]
    follower: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    followee: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    version: Option<i64>,
    #[prost(message, optional, tag = "4")]
    filter: Option<EdgeFilterWire>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecisionWire {
    #[prost(int64, optional, tag = "1")]
    owner: Option<i64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    decision: Option<i32>,
    #[prost(string, optional, tag = "4")]
    other: Option<String>,
    #[prost(int64, optional, tag = "5")]
    other_uid: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    version: Option<i64>,
    #[prost(bool, tag = "7")]
    holds: bool,
    #[prost(bytes = "vec", optional, tag = "8")]
    op: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AccountIntentWire {
    #[prost(int64, optional, tag = "1")]
    uid: Option<i64>,
    #[prost(message, optional, tag = "2")]
    account: Option<AccountWire>,
    #[prost(int64, optional, tag = "3")]
    before: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "4")]
    op: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ReactivateWire {
    #[prost(int64, optional, tag = "1")]
    uid: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
    #[prost(uint64, optional, tag = "3")]
    since: Option<u64>,
    #[prost(sint64, optional, tag = "4")]
    at: Option<i64>,
}

impl Encoded for Intent {
    type Wire = IntentWire;
    type Beside = ();

    fn to_wire(&self) -> IntentWire {
        let kind = match self {
            Intent::Version(accepted) => IntentKind::Version(Box::new(AcceptedWire {
                actor: Some(accepted.key.actor.0),
                service: Some(accepted.key.service.clone()),
                id: Some(accepted.key.id.clone()),
                state: Some(accepted.activity.state.to_wire()),
                body: Some(accepted.activity.body.to_wire()),
                prior: accepted.prior.as_ref().map(Encoded::to_wire),
                before: accepted.before.as_ref().map(Encoded::to_wire),
            })),
            Intent::Edge { follower, followee, edge } => IntentKind::Edge(EdgeIntentWire {
                follower: Some(follower.0),
                followee: Some(followee.0),
                edge: Some(edge.to_wire()),
                filter: Some(edge.filter.to_wire()),
                filter_version: Some(edge.filter_version.0),
            }),
            Intent::EdgeFilter { follower, followee, version, filter } => {
                IntentKind::EdgeFilter(EdgeFilterIntentWire {
                    follower: Some(follower.0),
                    followee: Some(followee.0),
                    version: Some(version.0),
                    filter: Some(filter.to_wire()),
                })
            }
            Intent::Decision { change, op } => IntentKind::Decision(DecisionWire {
                owner: Some(change.owner.0),
                name: Some(change.name.as_str().to_owned()),
                decision: Some(decision_number(change.decision).into()),
                other: Some(change.other.as_str().to_owned()),
                other_uid: change.other_uid.map(|uid| uid.0),
                version: Some(change.version.0),
                holds: change.holds,
                op: Some(op.as_bytes().to_vec()),
            }),
            Intent::Account { account, before, op } => IntentKind::Account(Box::new(AccountIntentWire {
                uid: Some(account.uid.0),
                account: Some(account.to_wire()),
                before: Some(before.0),
                op: Some(op.as_bytes().to_vec()),
            })),
            Intent::Removal { owner, id, received, version } => IntentKind::Removal(RemovalWire {
                owner: Some(owner.0),
                id: id_bytes(*id),
                received: Some(received.0),
                version: Some(version.0),
            }),
            Intent::Reactivate { uid, version, since, at } => IntentKind::Reactivate(ReactivateWire {
                uid: Some(uid.0),
                version: Some(version.0),
                since: Some(since.0),
                at: Some(at.0),
            }),
        };
        IntentWire { kind: Some(kind) }
    }

    fn from_wire(wire: IntentWire, (): ()) -> Result<Intent> {
        Ok(match wire.kind.ok_or_else(|| corrupt("unknown kind of intent"))? {
            IntentKind::Version(wire) => {
                let key = ExternalKey {
                    actor: uid(wire.actor)?,
                    service: required(wire.service, "service")?,
                    id: required(wire.id, "identifier of a service")?,
                };
                let state = required(part(wire.state)?, "state")?;
                let activity = Activity { state, body: required(part(wire.body)?, "body")? };
                let (prior, before) = (part(wire.prior)?, part(wire.before)?);
                Intent::Version(Box::new(AcceptedVersion { key, activity, prior, before }))
            }
            IntentKind::Edge(wire) => Intent::Edge {
                follower: uid(wire.follower)?,
                followee: uid(wire.followee)?,
                edge: {
                    let edge = required(wire.edge, "edge")?;
                    let filter = (part(wire.filter)?.unwrap_or_default(), wire.filter_version.map(Version));
                    Edge::from_wire(edge, (filter.0, filter.1.unwrap_or_default()))?
                },
            },
            IntentKind::EdgeFilter(wire) => Intent::EdgeFilter {
                follower: uid(wire.follower)?,
                followee: uid(wire.followee)?,
                version: version(wire.version)?,
                filter: required(part(wire.filter)?, "filter")?,
            },
            IntentKind::Decision(wire) => {
                let number = required(wire.decision, "decision")?;
                let decision =
                    Decision::ALL.into_iter().find(|one| i32::from(decision_number(*one)) == number);
                Intent::Decision {
                    change: DecisionChange {
                        owner: uid(wire.owner)?,
                        name: account_name(wire.name)?,
                        decision: decision.ok_or_else(|| corrupt("invalid decision"))?,
                        other: account_name(wire.other)?,
                        other_uid: wire.other_uid.map(Uid),
                        version: version(wire.version)?,
                        holds: wire.holds,
                    },
                    op: Uuid::from_bytes(exactly(&required(wire.op, "operation id")?)?),
                }
            }
            IntentKind::Account(wire) => Intent::Account {
                account: Account::from_wire(required(wire.account, "account")?, uid(wire.uid)?)?,
                before: version(wire.before)?,
                op: Uuid::from_bytes(exactly(&required(wire.op, "operation id")?)?),
            },
            IntentKind::Removal(wire) => Intent::Removal {
                owner: uid(wire.owner)?,
                id: activity_id(wire.id)?,
                received: millis(wire.received)?,
                version: version(wire.version)?,
            },
            IntentKind::Reactivate(wire) => Intent::Reactivate {
                uid: uid(wire.uid)?,
                version: version(wire.version)?,
                since: position(wire.since)?,
                at: millis(wire.at)?,
            },
        })
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MessageWire {
    #[prost(sint64, optional, tag = "1")]
    minute: Option<i64>,
    #[prost(string, optional, tag = "2")]
    id: Option<String>,
    #[prost(uint32, tag = "3")]
    attempts: u32,
    #[prost(sint64, tag = "4")]
    not_before: i64,
    #[prost(message, optional, tag = "5")]
    work: Option<WorkWire>,
    #[prost(bool, tag = "7")]
    first: bool,
}

impl Encoded for Message {
    type Wire = MessageWire;
    type Beside = ();

    fn to_wire(&self) -> MessageWire {
        MessageWire {
            minute: self.key.as_ref().map(|key| key.minute),
            id: self.key.as_ref().map(|key| key.id.clone()),
            attempts: self.attempts,
            not_before: self.not_before.0,
            work: Some(traced(&self.work, self.trace)),
            first: self.first,
        }
    }

    fn from_wire(wire: MessageWire, (): ()) -> Result<Message> {
        let key = match wire.minute {
            Some(minute) => Some(IntentKey { minute, id: required(wire.id, "identifier of an intent")? }),
            None => None,
        };
        let TracedWork { work, trace } = required(part(wire.work)?, "work")?;
        Ok(Message {
            key,
            first: wire.first,
            work,
            trace,
            attempts: wire.attempts,
            not_before: Millis(wire.not_before),
        })
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NoticeWire {
    #[prost(uint64, optional, tag = "1")]
    arrived: Option<u64>,
    #[prost(int64, repeated, tag = "2")]
    uids: Vec<i64>,
    #[prost(bytes = "vec", optional, tag = "3")]
    failed: Option<Vec<u8>>,
    #[prost(int64, optional, tag = "4")]
    seen: Option<i64>,
    #[prost(int64, optional, tag = "5")]
    hooks: Option<i64>,
    /// Requests of each account in `uids`.
    #[prost(uint32, repeated, tag = "6")]
    requests: Vec<u32>,
}

/// `None` is a notice of a kind that a later version added.
impl Encoded for Option<Notice> {
    type Wire = NoticeWire;
    type Beside = ();

    fn to_wire(&self) -> NoticeWire {
        match self {
            None => NoticeWire::default(),
            Some(Notice::Arrived(at, uids)) => {
                NoticeWire { arrived: Some(at.0), uids: numbers(uids), ..NoticeWire::default() }
            }
            Some(Notice::Failed(key)) => NoticeWire { failed: Some(key.clone()), ..NoticeWire::default() },
            Some(Notice::Seen(uid)) => NoticeWire { seen: Some(uid.0), ..NoticeWire::default() },
            Some(Notice::Hooks(uid)) => NoticeWire { hooks: Some(uid.0), ..NoticeWire::default() },
            Some(Notice::Requests(counts)) => NoticeWire {
                uids: counts.iter().map(|(uid, _)| uid.0).collect(),
                requests: counts.iter().map(|(_, count)| *count).collect(),
                ..NoticeWire::default()
            },
        }
    }

    fn from_wire(wire: NoticeWire, (): ()) -> Result<Option<Notice>> {
        let NoticeWire { arrived, uids: many, failed, seen, hooks, requests } = wire;
        Ok(match arrived {
            Some(at) => Some(Notice::Arrived(Position(at), uids(many))),
            None if !requests.is_empty() => {
                Some(Notice::Requests(uids(many).into_iter().zip(requests).collect()))
            }
            None => failed
                .map(Notice::Failed)
                .or_else(|| seen.map(|uid| Notice::Seen(Uid(uid))))
                .or_else(|| hooks.map(|uid| Notice::Hooks(Uid(uid)))),
        })
    }
}
