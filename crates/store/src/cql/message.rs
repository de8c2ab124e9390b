//! Messages of the log: a task, and the intent that must be applied before it is executed.

mod work;

use super::credentials::exactly;
use super::db::corrupt;
use crate::bytes::{WireReader, WireWriter};
use crate::{Acceptance, ExternalKey, Result, Work};
use model::{
    Account, Activity, ActivityId, Body, Edge, Millis, Position, PriorAudience, State, Uid, Version,
};
use uuid::Uuid;
use work::{decode_work, encode_work};
pub(super) use work::{follows, next_id};

/// The first byte of every message: the version of the format.
const FORMAT: u8 = 1;

/// A message of the log.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// The intent that it belongs to; `None` for a task without one.
    pub(super) key: Option<IntentKey>,
    pub(super) intent: Option<Intent>,
    pub(super) work: Work,
    pub(super) attempts: u32,
    pub(super) not_before: Millis,
}

/// The key of a stored intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IntentKey {
    pub(super) minute: i64,
    pub(super) id: String,
}

/// A write of several steps: everything that must be written before the work is executed.
#[derive(Clone, Debug)]
pub(super) enum Intent {
    Version(Box<AcceptedVersion>),
    Edge {
        follower: Uid,
        followee: Uid,
        edge: Edge,
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
#[derive(Clone, Debug)]
pub(super) struct AcceptedVersion {
    pub(super) key: ExternalKey,
    pub(super) activity: Activity,
    /// The audience of the version before it.
    pub(super) prior: Option<PriorAudience>,
    /// The union of the audiences of all versions before it.
    pub(super) before: Option<PriorAudience>,
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
            Intent::Account { account, .. } => Work::Account { uid: account.uid, after: None },
            Intent::Removal { owner, id, .. } => Work::Removal { owner: *owner, id: *id },
            Intent::Reactivate { uid, version, since, .. } => {
                Work::CatchUp { uid: *uid, version: *version, since: *since, after: None, within: None }
            }
        }
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
    pub(super) fn first(intent: Intent) -> Message {
        Message {
            key: Some(intent.key()),
            work: intent.work(),
            intent: Some(intent),
            attempts: 0,
            not_before: Millis(0),
        }
    }

    /// A message with follow-up work of the same intent.
    pub(super) fn next(&self, work: Work) -> Message {
        Message { key: self.key.clone(), intent: None, work, attempts: 0, not_before: Millis(0) }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let writer = WireWriter::new()
            .byte(FORMAT)
            .option(self.key.as_ref(), |writer, key| writer.signed(key.minute).text(&key.id))
            .number(u64::from(self.attempts))
            .signed(self.not_before.0);
        let writer = encode_work(writer, &self.work);
        match &self.intent {
            None => Ok(writer.byte(0).finish()),
            Some(intent) => encode_intent(writer, intent).map(WireWriter::finish),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Message> {
        let mut reader = WireReader::new(bytes);
        if reader.byte()? != FORMAT {
            return Err(corrupt("unknown message format"));
        }
        let key = reader
            .option(|reader| Ok(IntentKey { minute: reader.signed()?, id: reader.text()?.to_owned() }))?;
        let attempts = u32::try_from(reader.number()?).map_err(|_| corrupt("invalid number of attempts"))?;
        let not_before = reader.millis()?;
        let work = decode_work(&mut reader)?;
        let intent = decode_intent(&mut reader)?;
        Ok(Message { key, intent, work, attempts, not_before })
    }
}

fn encode_intent(writer: WireWriter, intent: &Intent) -> Result<WireWriter> {
    Ok(match intent {
        Intent::Version(accepted) => writer
            .byte(1)
            .signed(accepted.key.actor.0)
            .text(&accepted.key.service)
            .text(&accepted.key.id)
            .state(&accepted.activity.state)
            .blob(&body_bytes(&accepted.activity.body)?)
            .option(accepted.prior.as_ref(), WireWriter::prior_audience)
            .option(accepted.before.as_ref(), WireWriter::prior_audience)
            .trailing_flag(accepted.activity.state.pulled),
        Intent::Edge { follower, followee, edge } => {
            encode_edge(writer.byte(2).signed(follower.0).signed(followee.0), edge)
        }
        Intent::Account { account, before, op } => {
            writer.byte(3).signed(account.uid.0).account(account).signed(before.0).blob(op.as_bytes())
        }
        Intent::Removal { owner, id, received, version } => {
            writer.byte(4).signed(owner.0).id(*id).signed(received.0).signed(version.0)
        }
        Intent::Reactivate { uid, version, since, at } => {
            writer.byte(5).signed(uid.0).signed(version.0).number(since.0).signed(at.0)
        }
    })
}

fn decode_intent(reader: &mut WireReader<'_>) -> Result<Option<Intent>> {
    Ok(Some(match reader.byte()? {
        0 => return Ok(None),
        1 => {
            let key = ExternalKey {
                actor: reader.uid()?,
                service: reader.text()?.to_owned(),
                id: reader.text()?.to_owned(),
            };
            let mut activity = Activity { state: reader.state()?, body: body_of(reader.blob()?)? };
            let (prior, before) =
                (reader.option(WireReader::prior_audience)?, reader.option(WireReader::prior_audience)?);
            activity.state.pulled = reader.trailing_flag()?;
            Intent::Version(Box::new(AcceptedVersion { key, activity, prior, before }))
        }
        2 => Intent::Edge { follower: reader.uid()?, followee: reader.uid()?, edge: decode_edge(reader)? },
        3 => {
            let uid = reader.uid()?;
            let (account, before) = (reader.account(uid)?, reader.version()?);
            let op = Uuid::from_bytes(exactly(reader.blob()?)?);
            Intent::Account { account, before, op }
        }
        4 => Intent::Removal {
            owner: reader.uid()?,
            id: reader.id()?,
            received: reader.millis()?,
            version: reader.version()?,
        },
        5 => Intent::Reactivate {
            uid: reader.uid()?,
            version: reader.version()?,
            since: reader.position()?,
            at: reader.millis()?,
        },
        _ => return Err(corrupt("unknown kind of intent")),
    }))
}

pub(super) fn body_bytes(body: &Body) -> Result<Vec<u8>> {
    serde_json::to_vec(body).map_err(|error| corrupt(error.to_string()))
}

pub(super) fn body_of(bytes: &[u8]) -> Result<Body> {
    serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))
}

pub(super) fn encode_edge(writer: WireWriter, edge: &Edge) -> WireWriter {
    writer
        .signed(edge.version.0)
        .flag(edge.following)
        .signed(edge.since.0)
        .option(edge.from, WireWriter::sort_key)
}

pub(super) fn decode_edge(reader: &mut WireReader<'_>) -> Result<Edge> {
    Ok(Edge {
        version: reader.version()?,
        following: reader.flag()?,
        since: reader.millis()?,
        from: reader.option(WireReader::sort_key)?,
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
        let key = ExternalKey { actor: Uid(7), service: "flickr".to_owned(), id: "1".to_owned() };
        let activity = Activity { state: pulled_state(), body };
        AcceptedVersion { key, activity, prior: None, before: None }
    }

    #[test]
    fn a_version_encoded_by_an_earlier_version_is_not_pulled() {
        let bytes = Message::first(Intent::Version(Box::new(accepted()))).encode().unwrap();
        let state = |bytes: &[u8]| match Message::decode(bytes).unwrap().intent {
            Some(Intent::Version(accepted)) => accepted.activity.state,
            other => panic!("{other:?}"),
        };
        assert_eq!(state(&bytes), pulled_state());
        let (_, older) = bytes.split_last().unwrap();
        assert_eq!(state(older), State { pulled: false, ..pulled_state() });
    }

    #[test]
    fn a_reactivation_is_stored_by_its_time_and_applied_by_its_version() {
        let (uid, version, since) = (Uid(7), Version(3), Position(5));
        let reactivation = Intent::Reactivate { uid, version, since, at: Millis(120_001) };
        let bytes = Message::first(reactivation).encode().unwrap();
        let message = Message::decode(&bytes).unwrap();
        assert_eq!(message.key, Some(IntentKey { minute: 2, id: "b:7:3".to_owned() }));
        assert_eq!(message.work, Work::CatchUp { uid, version, since, after: None, within: None });
        assert_eq!(message.encode().unwrap(), bytes);
    }
}
