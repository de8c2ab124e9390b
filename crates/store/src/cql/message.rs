//! What lies in the log: a task, and everything that has to be there before it can be done.

mod work;

use super::credentials::exactly;
use super::db::corrupt;
use crate::bytes::{WireReader, WireWriter};
use crate::{Acceptance, ExternalKey, Result, Work};
use model::{
    Account, Activity, ActivityId, Body, Edge, Millis, Position, PriorAudience, State, Uid, Version,
};
use uuid::Uuid;
pub(super) use work::{follows, next_id};
use work::{put_work, take_work};

/// The first byte of every message; another one is another form.
const FORM: u8 = 1;

/// A message of the log.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// What it belongs to; `None` for what nobody stored.
    pub(super) key: Option<IntentKey>,
    pub(super) intent: Option<Intent>,
    pub(super) work: Work,
    pub(super) attempts: u32,
    pub(super) not_before: Millis,
}

/// Names something that was begun: the row in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IntentKey {
    pub(super) minute: i64,
    pub(super) id: String,
}

/// Something that takes several steps: what has to be there before the work that follows it is done.
#[derive(Clone, Debug)]
pub(super) enum Intent {
    Version(Box<AcceptedVersion>),
    Edge {
        follower: Uid,
        followee: Uid,
        edge: Edge,
    },
    /// A state that replaces that version, by the operation of that id.
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
    /// By that version. As versions of phases are only counted, the time is told besides.
    Reactivate {
        uid: Uid,
        version: Version,
        since: Position,
        at: Millis,
    },
}

/// A version that was accepted.
#[derive(Clone, Debug)]
pub(super) struct AcceptedVersion {
    pub(super) source: ExternalKey,
    pub(super) activity: Activity,
    /// What the version before it was.
    pub(super) prior: Option<PriorAudience>,
    /// What all the versions before it were together.
    pub(super) before: Option<PriorAudience>,
}

impl Intent {
    pub(super) fn version(item: &Acceptance, before: Option<PriorAudience>) -> Intent {
        Intent::Version(Box::new(AcceptedVersion {
            source: item.source.clone(),
            activity: item.activity.clone(),
            prior: item.prior.clone(),
            before,
        }))
    }

    /// The name under which it is stored and logged.
    pub(super) fn key(&self) -> IntentKey {
        let (version, id) = match self {
            Intent::Version(one) => {
                let State { id, version, .. } = &one.activity.state;
                return version_root(*id, *version);
            }
            Intent::Reactivate { uid, version, at, .. } => {
                return IntentKey { minute: minute(at.0), id: format!("b:{}:{}", uid.0, version.0) };
            }
            Intent::Edge { follower, followee, edge } => {
                (edge.version, format!("e:{}:{}:{}", follower.0, followee.0, edge.version.0))
            }
            // Two competing changes may make the same version of an account: the operation id distinguishes them.
            Intent::Account { account, op, .. } => {
                (account.version, format!("a:{}:{}", account.uid.0, op.simple()))
            }
            Intent::Removal { owner, id, version, .. } => {
                (*version, format!("r:{}:{id}:{}", owner.0, version.0))
            }
        };
        IntentKey { minute: minute(version.0), id }
    }

    /// What is to be done then.
    pub(super) fn work(&self) -> Work {
        match self {
            Intent::Version(one) => Work::Version {
                id: one.activity.state.id,
                version: one.activity.state.version,
                prior: one.prior.clone(),
                accepted: None,
            },
            Intent::Edge { follower, followee, edge } => Work::Edge {
                follower: *follower,
                followee: *followee,
                version: edge.version,
                following: edge.following,
            },
            Intent::Account { account, .. } => Work::Account { uid: account.uid, after: None },
            Intent::Removal { owner, id, .. } => Work::Removal { owner: *owner, id: *id },
            Intent::Reactivate { uid, version, since, .. } => {
                Work::CatchUp { uid: *uid, version: *version, since: *since, after: None, within: None }
            }
        }
    }
}

/// The name of an accepted version.
pub(super) fn version_root(id: ActivityId, version: Version) -> IntentKey {
    IntentKey { minute: minute(version.0), id: format!("v:{id}:{}", version.0) }
}

/// In which minute that is. Most versions are about the time at which they were made.
fn minute(millis: i64) -> i64 {
    millis.div_euclid(60_000)
}

impl Message {
    pub(super) fn first(intent: Intent) -> Message {
        Message {
            key: Some(intent.key()),
            work: intent.work(),
            intent: Some(intent),
            attempts: 0,
            not_before: Millis(0),
        }
    }

    /// What is still to be done for the same thing.
    pub(super) fn next(&self, work: Work) -> Message {
        Message { key: self.key.clone(), intent: None, work, attempts: 0, not_before: Millis(0) }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let put = WireWriter::new()
            .byte(FORM)
            .option(self.key.as_ref(), |put, key| put.signed(key.minute).text(&key.id))
            .number(u64::from(self.attempts))
            .signed(self.not_before.0);
        let put = put_work(put, &self.work);
        match &self.intent {
            None => Ok(put.byte(0).finish()),
            Some(intent) => put_ensure(put, intent).map(WireWriter::finish),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Message> {
        let mut take = WireReader::new(bytes);
        if take.byte()? != FORM {
            return Err(corrupt("a message of an unknown form"));
        }
        let key =
            take.option(|take| Ok(IntentKey { minute: take.signed()?, id: take.text()?.to_owned() }))?;
        let attempts = u32::try_from(take.number()?).map_err(|_| corrupt("too many attempts"))?;
        let not_before = take.millis()?;
        let work = take_work(&mut take)?;
        let intent = take_ensure(&mut take)?;
        Ok(Message { key, intent, work, attempts, not_before })
    }
}

fn put_ensure(put: WireWriter, intent: &Intent) -> Result<WireWriter> {
    Ok(match intent {
        Intent::Version(one) => put
            .byte(1)
            .signed(one.source.actor.0)
            .text(&one.source.service)
            .text(&one.source.id)
            .state(&one.activity.state)
            .blob(&body_bytes(&one.activity.body)?)
            .option(one.prior.as_ref(), WireWriter::prior_audience)
            .option(one.before.as_ref(), WireWriter::prior_audience)
            .mark(one.activity.state.pulled),
        Intent::Edge { follower, followee, edge } => {
            put_edge(put.byte(2).signed(follower.0).signed(followee.0), edge)
        }
        Intent::Account { account, before, op } => {
            put.byte(3).signed(account.uid.0).account(account).signed(before.0).blob(op.as_bytes())
        }
        Intent::Removal { owner, id, received, version } => {
            put.byte(4).signed(owner.0).id(*id).signed(received.0).signed(version.0)
        }
        Intent::Reactivate { uid, version, since, at } => {
            put.byte(5).signed(uid.0).signed(version.0).number(since.0).signed(at.0)
        }
    })
}

fn take_ensure(take: &mut WireReader<'_>) -> Result<Option<Intent>> {
    Ok(Some(match take.byte()? {
        0 => return Ok(None),
        1 => {
            let source = ExternalKey {
                actor: take.uid()?,
                service: take.text()?.to_owned(),
                id: take.text()?.to_owned(),
            };
            let mut activity = Activity { state: take.state()?, body: body_of(take.blob()?)? };
            let (prior, before) =
                (take.option(WireReader::prior_audience)?, take.option(WireReader::prior_audience)?);
            activity.state.pulled = take.mark()?;
            Intent::Version(Box::new(AcceptedVersion { source, activity, prior, before }))
        }
        2 => Intent::Edge { follower: take.uid()?, followee: take.uid()?, edge: take_edge(take)? },
        3 => {
            let uid = take.uid()?;
            let (account, before) = (take.account(uid)?, take.version()?);
            let op = Uuid::from_bytes(exactly(take.blob()?)?);
            Intent::Account { account, before, op }
        }
        4 => Intent::Removal {
            owner: take.uid()?,
            id: take.id()?,
            received: take.millis()?,
            version: take.version()?,
        },
        5 => Intent::Reactivate {
            uid: take.uid()?,
            version: take.version()?,
            since: take.position()?,
            at: take.millis()?,
        },
        _ => return Err(corrupt("not a kind of message")),
    }))
}

pub(super) fn body_bytes(body: &Body) -> Result<Vec<u8>> {
    serde_json::to_vec(body).map_err(|error| corrupt(error.to_string()))
}

pub(super) fn body_of(bytes: &[u8]) -> Result<Body> {
    serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))
}

pub(super) fn put_edge(put: WireWriter, edge: &Edge) -> WireWriter {
    put.signed(edge.version.0)
        .flag(edge.following)
        .signed(edge.since.0)
        .option(edge.from, WireWriter::sort_key)
}

pub(super) fn take_edge(take: &mut WireReader<'_>) -> Result<Edge> {
    Ok(Edge {
        version: take.version()?,
        following: take.flag()?,
        since: take.millis()?,
        from: take.option(WireReader::sort_key)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::activities::tests::pulled_state;
    use super::*;
    use model::{Comments, Object, Service, ServiceName};

    fn accepted() -> AcceptedVersion {
        let service = Service { name: ServiceName::parse("Flickr").unwrap(), icon: None, website: None };
        let body = Body {
            source_id: "1".to_owned(),
            title: "A title".to_owned(),
            summary: None,
            service,
            comments: Comments::Available(false),
            object: Object::default(),
            imported_by: None,
            to: Vec::new(),
        };
        let source = ExternalKey { actor: Uid(7), service: "flickr".to_owned(), id: "1".to_owned() };
        let activity = Activity { state: pulled_state(), body };
        AcceptedVersion { source, activity, prior: None, before: None }
    }

    #[test]
    fn a_version_of_an_older_node_is_not_pulled() {
        let bytes = Message::first(Intent::Version(Box::new(accepted()))).encode().unwrap();
        let state = |bytes: &[u8]| match Message::decode(bytes).unwrap().intent {
            Some(Intent::Version(one)) => one.activity.state,
            other => panic!("{other:?}"),
        };
        assert_eq!(state(&bytes), pulled_state());
        let (_, older) = bytes.split_last().unwrap();
        assert_eq!(state(older), State { pulled: false, ..pulled_state() });
    }

    #[test]
    fn a_return_is_noted_by_its_time_and_ensured_by_its_version() {
        let (uid, version, since) = (Uid(7), Version(3), Position(5));
        let returns = Intent::Reactivate { uid, version, since, at: Millis(120_001) };
        let bytes = Message::first(returns).encode().unwrap();
        let message = Message::decode(&bytes).unwrap();
        assert_eq!(message.key, Some(IntentKey { minute: 2, id: "b:7:3".to_owned() }));
        assert_eq!(message.work, Work::CatchUp { uid, version, since, after: None, within: None });
        assert_eq!(message.encode().unwrap(), bytes);
    }
}
