//! What lies in the log: a task, and everything that has to be there before it can be done.

mod work;

use super::credentials::exactly;
use super::db::corrupt;
use crate::bytes::{Put, Take};
use crate::{Acceptance, Result, SourceKey, Work};
use model::{Account, Activity, ActivityId, Body, Edge, Formerly, Millis, Position, State, Uid, Version};
use uuid::Uuid;
pub(super) use work::{follows, next_id};
use work::{put_work, take_work};

/// The first byte of every message; another one is another form.
const FORM: u8 = 1;

/// A message of the log.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// What it belongs to; `None` for what nobody noted.
    pub(super) root: Option<Root>,
    pub(super) ensure: Option<Ensure>,
    pub(super) work: Work,
    pub(super) attempts: u32,
    pub(super) not_before: Millis,
}

/// Names something that was begun: the row in which it is noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) minute: i64,
    pub(super) id: String,
}

/// Something that takes several steps: what has to be there before the work that follows it is done.
#[derive(Clone, Debug)]
pub(super) enum Ensure {
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
    Return {
        uid: Uid,
        version: Version,
        since: Position,
        at: Millis,
    },
}

/// A version that was accepted.
#[derive(Clone, Debug)]
pub(super) struct AcceptedVersion {
    pub(super) source: SourceKey,
    pub(super) activity: Activity,
    /// What the version before it was.
    pub(super) formerly: Option<Formerly>,
    /// What all the versions before it were together.
    pub(super) before: Option<Formerly>,
}

impl Ensure {
    pub(super) fn version(item: &Acceptance, before: Option<Formerly>) -> Ensure {
        Ensure::Version(Box::new(AcceptedVersion {
            source: item.source.clone(),
            activity: item.activity.clone(),
            formerly: item.formerly.clone(),
            before,
        }))
    }

    /// The name under which it is noted and logged.
    pub(super) fn root(&self) -> Root {
        let (version, id) = match self {
            Ensure::Version(one) => {
                let State { id, version, .. } = &one.activity.state;
                return version_root(*id, *version);
            }
            Ensure::Return { uid, version, at, .. } => {
                return Root { minute: minute(at.0), id: format!("b:{}:{}", uid.0, version.0) };
            }
            Ensure::Edge { follower, followee, edge } => {
                (edge.version, format!("e:{}:{}:{}", follower.0, followee.0, edge.version.0))
            }
            // Two competing changes may make the same version of an account: the operation id distinguishes them.
            Ensure::Account { account, op, .. } => {
                (account.version, format!("a:{}:{}", account.uid.0, op.simple()))
            }
            Ensure::Removal { owner, id, version, .. } => {
                (*version, format!("r:{}:{id}:{}", owner.0, version.0))
            }
        };
        Root { minute: minute(version.0), id }
    }

    /// What is to be done then.
    pub(super) fn work(&self) -> Work {
        match self {
            Ensure::Version(one) => Work::Version {
                id: one.activity.state.id,
                version: one.activity.state.version,
                formerly: one.formerly.clone(),
                accepted: None,
            },
            Ensure::Edge { follower, followee, edge } => Work::Edge {
                follower: *follower,
                followee: *followee,
                version: edge.version,
                following: edge.following,
            },
            Ensure::Account { account, .. } => Work::Account { uid: account.uid, after: None },
            Ensure::Removal { owner, id, .. } => Work::Removal { owner: *owner, id: *id },
            Ensure::Return { uid, version, since, .. } => {
                Work::Return { uid: *uid, version: *version, since: *since, after: None, within: None }
            }
        }
    }
}

/// The name of an accepted version.
pub(super) fn version_root(id: ActivityId, version: Version) -> Root {
    Root { minute: minute(version.0), id: format!("v:{id}:{}", version.0) }
}

/// In which minute that is. Most versions are about the time at which they were made.
fn minute(millis: i64) -> i64 {
    millis.div_euclid(60_000)
}

impl Message {
    pub(super) fn first(ensure: Ensure) -> Message {
        Message {
            root: Some(ensure.root()),
            work: ensure.work(),
            ensure: Some(ensure),
            attempts: 0,
            not_before: Millis(0),
        }
    }

    /// What is still to be done for the same thing.
    pub(super) fn next(&self, work: Work) -> Message {
        Message { root: self.root.clone(), ensure: None, work, attempts: 0, not_before: Millis(0) }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let put = Put::new()
            .byte(FORM)
            .option(self.root.as_ref(), |put, root| put.signed(root.minute).text(&root.id))
            .number(u64::from(self.attempts))
            .signed(self.not_before.0);
        let put = put_work(put, &self.work);
        match &self.ensure {
            None => Ok(put.byte(0).finish()),
            Some(ensure) => put_ensure(put, ensure).map(Put::finish),
        }
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Message> {
        let mut take = Take::new(bytes);
        if take.byte()? != FORM {
            return Err(corrupt("a message of an unknown form"));
        }
        let root = take.option(|take| Ok(Root { minute: take.signed()?, id: take.text()?.to_owned() }))?;
        let attempts = u32::try_from(take.number()?).map_err(|_| corrupt("too many attempts"))?;
        let not_before = take.millis()?;
        let work = take_work(&mut take)?;
        let ensure = take_ensure(&mut take)?;
        Ok(Message { root, ensure, work, attempts, not_before })
    }
}

fn put_ensure(put: Put, ensure: &Ensure) -> Result<Put> {
    Ok(match ensure {
        Ensure::Version(one) => put
            .byte(1)
            .signed(one.source.actor.0)
            .text(&one.source.service)
            .text(&one.source.id)
            .state(&one.activity.state)
            .blob(&body_bytes(&one.activity.body)?)
            .option(one.formerly.as_ref(), Put::formerly)
            .option(one.before.as_ref(), Put::formerly)
            .mark(one.activity.state.pulled),
        Ensure::Edge { follower, followee, edge } => {
            put_edge(put.byte(2).signed(follower.0).signed(followee.0), edge)
        }
        Ensure::Account { account, before, op } => {
            put.byte(3).signed(account.uid.0).account(account).signed(before.0).blob(op.as_bytes())
        }
        Ensure::Removal { owner, id, received, version } => {
            put.byte(4).signed(owner.0).id(*id).signed(received.0).signed(version.0)
        }
        Ensure::Return { uid, version, since, at } => {
            put.byte(5).signed(uid.0).signed(version.0).number(since.0).signed(at.0)
        }
    })
}

fn take_ensure(take: &mut Take<'_>) -> Result<Option<Ensure>> {
    Ok(Some(match take.byte()? {
        0 => return Ok(None),
        1 => {
            let source = SourceKey {
                actor: take.uid()?,
                service: take.text()?.to_owned(),
                id: take.text()?.to_owned(),
            };
            let mut activity = Activity { state: take.state()?, body: body_of(take.blob()?)? };
            let (formerly, before) = (take.option(Take::formerly)?, take.option(Take::formerly)?);
            activity.state.pulled = take.mark()?;
            Ensure::Version(Box::new(AcceptedVersion { source, activity, formerly, before }))
        }
        2 => Ensure::Edge { follower: take.uid()?, followee: take.uid()?, edge: take_edge(take)? },
        3 => {
            let uid = take.uid()?;
            let (account, before) = (take.account(uid)?, take.version()?);
            let op = Uuid::from_bytes(exactly(take.blob()?)?);
            Ensure::Account { account, before, op }
        }
        4 => Ensure::Removal {
            owner: take.uid()?,
            id: take.id()?,
            received: take.millis()?,
            version: take.version()?,
        },
        5 => Ensure::Return {
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

pub(super) fn put_edge(put: Put, edge: &Edge) -> Put {
    put.signed(edge.version.0).flag(edge.following).signed(edge.since.0).option(edge.from, Put::spot)
}

pub(super) fn take_edge(take: &mut Take<'_>) -> Result<Edge> {
    Ok(Edge {
        version: take.version()?,
        following: take.flag()?,
        since: take.millis()?,
        from: take.option(Take::spot)?,
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
            brought_by: None,
            to: Vec::new(),
        };
        let source = SourceKey { actor: Uid(7), service: "flickr".to_owned(), id: "1".to_owned() };
        let activity = Activity { state: pulled_state(), body };
        AcceptedVersion { source, activity, formerly: None, before: None }
    }

    #[test]
    fn a_version_of_an_older_node_is_not_pulled() {
        let bytes = Message::first(Ensure::Version(Box::new(accepted()))).encode().unwrap();
        let state = |bytes: &[u8]| match Message::decode(bytes).unwrap().ensure {
            Some(Ensure::Version(one)) => one.activity.state,
            other => panic!("{other:?}"),
        };
        assert_eq!(state(&bytes), pulled_state());
        let (_, older) = bytes.split_last().unwrap();
        assert_eq!(state(older), State { pulled: false, ..pulled_state() });
    }

    #[test]
    fn a_return_is_noted_by_its_time_and_ensured_by_its_version() {
        let (uid, version, since) = (Uid(7), Version(3), Position(5));
        let returns = Ensure::Return { uid, version, since, at: Millis(120_001) };
        let bytes = Message::first(returns).encode().unwrap();
        let message = Message::decode(&bytes).unwrap();
        assert_eq!(message.root, Some(Root { minute: 2, id: "b:7:3".to_owned() }));
        assert_eq!(message.work, Work::Return { uid, version, since, after: None, within: None });
        assert_eq!(message.encode().unwrap(), bytes);
    }
}
