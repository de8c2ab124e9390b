//! Messages of accounts, their credentials, sources and connections.

use super::{Encoded, corrupt, exactly, millis, required, uid, version};
use crate::sources::ScheduledSource;
use crate::{Connection, Hook, HookProgress, Result, Source};
use model::{
    AccessToken, Account, AccountName, AddressableBy, Application, HookId, Key, KeyId, Millis, Picture,
    Progress, Purpose, Scopes, SecondFactor, Session, SourceId, Temporary, Ticket, Uid,
};
use prost::Message;

fn scopes(writes: bool) -> Scopes {
    if writes { Scopes::ReadWrite } else { Scopes::Read }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AccountWire {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
    #[prost(string, optional, tag = "3")]
    given_name: Option<String>,
    #[prost(string, optional, tag = "4")]
    family_name: Option<String>,
    #[prost(bool, tag = "5")]
    public: bool,
    #[prost(bool, tag = "6")]
    operator: bool,
    #[prost(string, optional, tag = "7")]
    password: Option<String>,
    #[prost(sint64, optional, tag = "8")]
    created: Option<i64>,
    #[prost(bool, tag = "9")]
    removed: bool,
    #[prost(bool, tag = "10")]
    disabled: bool,
    #[prost(uint32, tag = "11")]
    credential_epoch: u32,
    #[prost(uint32, tag = "12")]
    addressable_by: u32,
}

impl Encoded for Account {
    type Wire = AccountWire;
    type Beside = Uid;

    fn to_wire(&self) -> AccountWire {
        AccountWire {
            name: Some(self.name.as_str().to_owned()),
            version: Some(self.version.0),
            given_name: self.given_name.clone(),
            family_name: self.family_name.clone(),
            public: self.public,
            operator: self.operator,
            password: self.password.clone(),
            created: Some(self.created.0),
            removed: self.removed,
            disabled: self.disabled,
            credential_epoch: self.credential_epoch,
            addressable_by: self.addressable_by.number().into(),
        }
    }

    fn from_wire(wire: AccountWire, uid: Uid) -> Result<Account> {
        let name = required(wire.name, "account name")?;
        Ok(Account {
            uid,
            name: AccountName::parse(&name).map_err(|_| corrupt("invalid account name"))?,
            version: version(wire.version)?,
            given_name: wire.given_name,
            family_name: wire.family_name,
            public: wire.public,
            operator: wire.operator,
            password: wire.password,
            created: millis(wire.created)?,
            removed: wire.removed,
            disabled: wire.disabled,
            credential_epoch: wire.credential_epoch,
            addressable_by: addressable_by(wire.addressable_by)?,
        })
    }
}

pub(crate) fn addressable_by(number: impl TryInto<u8>) -> Result<AddressableBy> {
    let found = number.try_into().ok().and_then(AddressableBy::numbered);
    found.ok_or_else(|| corrupt("invalid number of who may address an account"))
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PictureWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(bytes = "vec", repeated, tag = "2")]
    sizes: Vec<Vec<u8>>,
}

impl Encoded for Picture {
    type Wire = PictureWire;
    type Beside = ();

    fn to_wire(&self) -> PictureWire {
        PictureWire { version: Some(self.version.0), sizes: self.sizes.to_vec() }
    }

    fn from_wire(wire: PictureWire, (): ()) -> Result<Picture> {
        let sizes = wire.sizes.try_into().map_err(|_| corrupt("invalid number of picture sizes"))?;
        Ok(Picture { version: version(wire.version)?, sizes })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyWire {
    #[prost(fixed64, optional, tag = "1")]
    id: Option<u64>,
    #[prost(int64, optional, tag = "2")]
    owner: Option<i64>,
    #[prost(string, optional, tag = "3")]
    name: Option<String>,
    #[prost(bool, tag = "4")]
    writes: bool,
    #[prost(sint64, optional, tag = "5")]
    created: Option<i64>,
    #[prost(sint64, optional, tag = "6")]
    expires: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "7")]
    parent: Option<Vec<u8>>,
}

impl Encoded for Key {
    type Wire = KeyWire;
    /// The hash, the time of revocation, the time of the last use.
    type Beside = ([u8; 32], Option<Millis>, Option<Millis>);

    fn to_wire(&self) -> KeyWire {
        KeyWire {
            id: Some(self.id.0),
            owner: Some(self.owner.0),
            name: Some(self.name.clone()),
            writes: self.scopes.can_write(),
            created: Some(self.created.0),
            expires: self.expires.map(|at| at.0),
            parent: self.parent.map(Vec::from),
        }
    }

    fn from_wire(wire: KeyWire, (hash, revoked, used): Self::Beside) -> Result<Key> {
        Ok(Key {
            id: KeyId(required(wire.id, "key identifier")?),
            hash,
            owner: uid(wire.owner)?,
            name: required(wire.name, "name of a key")?,
            scopes: scopes(wire.writes),
            created: millis(wire.created)?,
            expires: wire.expires.map(Millis),
            revoked,
            used,
            parent: wire.parent.map(|hash| exactly(&hash)).transpose()?,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ApplicationWire {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    callback: Option<String>,
    #[prost(bytes = "vec", optional, tag = "3")]
    rsa_key: Option<Vec<u8>>,
    #[prost(sint64, optional, tag = "4")]
    created: Option<i64>,
    #[prost(int64, optional, tag = "5")]
    owner: Option<i64>,
}

impl Encoded for Application {
    type Wire = ApplicationWire;
    /// The consumer key, the sealed secret, the time of removal.
    type Beside = (String, Vec<u8>, Option<Millis>);

    fn to_wire(&self) -> ApplicationWire {
        ApplicationWire {
            name: Some(self.name.clone()),
            callback: Some(self.callback.clone()),
            rsa_key: self.rsa_key.clone(),
            created: Some(self.created.0),
            owner: self.owner.map(|uid| uid.0),
        }
    }

    fn from_wire(wire: ApplicationWire, (key, sealed_secret, removed): Self::Beside) -> Result<Application> {
        Ok(Application {
            key,
            sealed_secret,
            name: required(wire.name, "name of an application")?,
            callback: required(wire.callback, "callback of an application")?,
            rsa_key: wire.rsa_key,
            created: millis(wire.created)?,
            removed,
            owner: wire.owner.map(Uid),
        })
    }
}

/// Numbers of the [`Progress`] of temporary credentials.
pub(crate) mod progress {
    use model::Progress;

    pub(crate) const REQUESTED: i8 = 0;
    pub(crate) const ALLOWED: i8 = 1;
    pub(crate) const REFUSED: i8 = 2;
    pub(crate) const EXCHANGED: i8 = 3;

    pub(crate) fn number(progress: &Progress) -> i8 {
        match progress {
            Progress::Requested => REQUESTED,
            Progress::Allowed { .. } => ALLOWED,
            Progress::Refused => REFUSED,
            Progress::Exchanged { .. } => EXCHANGED,
        }
    }
}

/// The content of the last step. A repeated call has the same bytes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProgressWire {
    #[prost(int64, optional, tag = "1")]
    by: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    verifier: Option<Vec<u8>>,
    #[prost(uint32, tag = "3")]
    epoch: u32,
    #[prost(string, optional, tag = "4")]
    token: Option<String>,
}

impl Encoded for Progress {
    type Wire = ProgressWire;
    /// The [number](progress::number).
    type Beside = i8;

    fn to_wire(&self) -> ProgressWire {
        match self {
            Progress::Requested | Progress::Refused => ProgressWire::default(),
            Progress::Allowed { by, epoch, verifier } => {
                let (by, verifier) = (Some(by.0), Some(verifier.to_vec()));
                ProgressWire { by, verifier, epoch: *epoch, token: None }
            }
            Progress::Exchanged { token } => {
                ProgressWire { token: Some(token.clone()), ..ProgressWire::default() }
            }
        }
    }

    fn from_wire(wire: ProgressWire, number: i8) -> Result<Progress> {
        match number {
            progress::REQUESTED => Ok(Progress::Requested),
            progress::ALLOWED => {
                let verifier = exactly(&required(wire.verifier, "verifier")?)?;
                Ok(Progress::Allowed { by: uid(wire.by)?, epoch: wire.epoch, verifier })
            }
            progress::REFUSED => Ok(Progress::Refused),
            progress::EXCHANGED => Ok(Progress::Exchanged { token: required(wire.token, "access token")? }),
            _ => Err(corrupt("invalid progress of temporary credentials")),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TemporaryWire {
    #[prost(bytes = "vec", optional, tag = "1")]
    sealed_secret: Option<Vec<u8>>,
    #[prost(string, optional, tag = "2")]
    consumer: Option<String>,
    #[prost(string, optional, tag = "3")]
    callback: Option<String>,
    #[prost(bool, tag = "4")]
    writes: bool,
    #[prost(sint64, optional, tag = "5")]
    expires: Option<i64>,
}

impl Encoded for Temporary {
    type Wire = TemporaryWire;
    /// The key and the progress.
    type Beside = (String, Progress);

    fn to_wire(&self) -> TemporaryWire {
        TemporaryWire {
            sealed_secret: Some(self.sealed_secret.clone()),
            consumer: Some(self.consumer.clone()),
            callback: self.callback.clone(),
            writes: self.scopes.can_write(),
            expires: Some(self.expires.0),
        }
    }

    fn from_wire(wire: TemporaryWire, (key, progress): Self::Beside) -> Result<Temporary> {
        Ok(Temporary {
            key,
            sealed_secret: required(wire.sealed_secret, "secret")?,
            consumer: required(wire.consumer, "consumer key")?,
            callback: wire.callback,
            scopes: scopes(wire.writes),
            expires: millis(wire.expires)?,
            progress,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TokenWire {
    #[prost(string, optional, tag = "1")]
    consumer: Option<String>,
    #[prost(int64, optional, tag = "2")]
    owner: Option<i64>,
    #[prost(bool, tag = "3")]
    writes: bool,
    #[prost(sint64, optional, tag = "4")]
    created: Option<i64>,
    #[prost(sint64, optional, tag = "5")]
    expires: Option<i64>,
    #[prost(uint32, tag = "6")]
    epoch: u32,
}

impl Encoded for AccessToken {
    type Wire = TokenWire;
    /// The key, the sealed secret, the time of revocation, the time of the last use.
    type Beside = (String, Vec<u8>, Option<Millis>, Option<Millis>);

    fn to_wire(&self) -> TokenWire {
        TokenWire {
            consumer: Some(self.consumer.clone()),
            owner: Some(self.owner.0),
            writes: self.scopes.can_write(),
            created: Some(self.created.0),
            expires: self.expires.map(|at| at.0),
            epoch: self.epoch,
        }
    }

    fn from_wire(wire: TokenWire, (key, sealed_secret, revoked, used): Self::Beside) -> Result<AccessToken> {
        Ok(AccessToken {
            key,
            sealed_secret,
            consumer: required(wire.consumer, "consumer key")?,
            owner: uid(wire.owner)?,
            epoch: wire.epoch,
            scopes: scopes(wire.writes),
            created: millis(wire.created)?,
            expires: wire.expires.map(Millis),
            revoked,
            used,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SessionWire {
    #[prost(int64, optional, tag = "1")]
    owner: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    password: Option<Vec<u8>>,
    #[prost(sint64, optional, tag = "3")]
    created: Option<i64>,
    #[prost(sint64, optional, tag = "4")]
    expires: Option<i64>,
    #[prost(string, tag = "5")]
    device: String,
    #[prost(sint64, optional, tag = "6")]
    used: Option<i64>,
    #[prost(uint32, tag = "7")]
    epoch: u32,
}

impl Encoded for Session {
    type Wire = SessionWire;
    /// The hash, and a later use.
    type Beside = ([u8; 32], Option<Millis>);

    fn to_wire(&self) -> SessionWire {
        SessionWire {
            owner: Some(self.owner.0),
            password: Some(self.password.to_vec()),
            created: Some(self.created.0),
            expires: Some(self.expires.0),
            device: self.device.clone(),
            used: Some(self.used.0),
            epoch: self.epoch,
        }
    }

    fn from_wire(wire: SessionWire, (hash, used): Self::Beside) -> Result<Session> {
        let created = millis(wire.created)?;
        let first_used = wire.used.map_or(created, Millis);
        Ok(Session {
            hash,
            owner: uid(wire.owner)?,
            epoch: wire.epoch,
            password: exactly(&required(wire.password, "hash of a password")?)?,
            created,
            expires: millis(wire.expires)?,
            device: wire.device,
            used: used.map_or(first_used, |used| used.max(first_used)),
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SecondFactorWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    sealed_secret: Option<Vec<u8>>,
    #[prost(uint64, tag = "3")]
    last_step: u64,
    #[prost(bytes = "vec", repeated, tag = "4")]
    recovery_codes: Vec<Vec<u8>>,
    #[prost(bool, tag = "5")]
    refuses_basic: bool,
    #[prost(uint32, tag = "6")]
    wrong: u32,
    #[prost(sint64, tag = "7")]
    wrong_since: i64,
}

impl Encoded for SecondFactor {
    type Wire = SecondFactorWire;
    /// The account.
    type Beside = Uid;

    fn to_wire(&self) -> SecondFactorWire {
        SecondFactorWire {
            version: Some(self.version.0),
            sealed_secret: self.sealed_secret.clone(),
            last_step: self.last_step,
            recovery_codes: self.recovery_codes.iter().map(|hash| hash.to_vec()).collect(),
            refuses_basic: self.refuses_basic,
            wrong: self.wrong,
            wrong_since: self.wrong_since.0,
        }
    }

    fn from_wire(wire: SecondFactorWire, owner: Uid) -> Result<SecondFactor> {
        Ok(SecondFactor {
            owner,
            version: version(wire.version)?,
            sealed_secret: wire.sealed_secret,
            last_step: wire.last_step,
            recovery_codes: wire.recovery_codes.iter().map(|hash| exactly(hash)).collect::<Result<_>>()?,
            refuses_basic: wire.refuses_basic,
            wrong: wire.wrong,
            wrong_since: Millis(wire.wrong_since),
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TicketWire {
    /// The account whose password is reset; absent in an invitation.
    #[prost(int64, optional, tag = "1")]
    reset: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    by: Option<i64>,
    #[prost(sint64, optional, tag = "3")]
    created: Option<i64>,
    #[prost(sint64, optional, tag = "4")]
    expires: Option<i64>,
}

impl Encoded for Ticket {
    type Wire = TicketWire;
    /// The hash.
    type Beside = [u8; 32];

    fn to_wire(&self) -> TicketWire {
        let reset = match self.purpose {
            Purpose::Invitation => None,
            Purpose::Reset(uid) => Some(uid.0),
        };
        let (created, expires) = (Some(self.created.0), Some(self.expires.0));
        TicketWire { reset, by: self.by.map(|uid| uid.0), created, expires }
    }

    fn from_wire(wire: TicketWire, hash: [u8; 32]) -> Result<Ticket> {
        Ok(Ticket {
            hash,
            purpose: wire.reset.map_or(Purpose::Invitation, |uid| Purpose::Reset(Uid(uid))),
            by: wire.by.map(Uid),
            created: millis(wire.created)?,
            expires: millis(wire.expires)?,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SourceWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(uint32, optional, tag = "2")]
    shard: Option<u32>,
    #[prost(sint64, optional, tag = "3")]
    due: Option<i64>,
    #[prost(sint64, optional, tag = "4")]
    slot: Option<i64>,
    #[prost(bytes = "vec", tag = "5")]
    state: Vec<u8>,
}

impl Encoded for ScheduledSource {
    type Wire = SourceWire;
    type Beside = SourceId;

    fn to_wire(&self) -> SourceWire {
        let Source { version, shard, due, state, .. } = &self.source;
        SourceWire {
            version: Some(version.0),
            shard: Some((*shard).into()),
            due: due.map(|at| at.0),
            slot: self.slot.map(|at| at.0),
            state: state.clone(),
        }
    }

    fn from_wire(wire: SourceWire, id: SourceId) -> Result<ScheduledSource> {
        let shard = required(wire.shard, "shard")?.try_into().map_err(|_| corrupt("invalid shard"))?;
        let (version, due) = (version(wire.version)?, wire.due.map(Millis));
        let source = Source { id, version, shard, due, state: wire.state };
        Ok(ScheduledSource { source, slot: wire.slot.map(Millis) })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ConnectionWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    source: Option<Vec<u8>>,
    #[prost(bool, tag = "3")]
    removed: bool,
    #[prost(bytes = "vec", tag = "4")]
    state: Vec<u8>,
}

impl Encoded for Connection {
    type Wire = ConnectionWire;
    /// Owner and name.
    type Beside = (Uid, String);

    fn to_wire(&self) -> ConnectionWire {
        let (version, source) = (Some(self.version.0), Some(self.source.0.to_vec()));
        ConnectionWire { version, source, removed: self.removed, state: self.state.clone() }
    }

    fn from_wire(wire: ConnectionWire, (owner, name): Self::Beside) -> Result<Connection> {
        Ok(Connection {
            owner,
            name,
            version: version(wire.version)?,
            source: SourceId(exactly(&required(wire.source, "source")?)?),
            removed: wire.removed,
            state: wire.state,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HookWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "2")]
    id: Option<Vec<u8>>,
    #[prost(bool, tag = "3")]
    removed: bool,
    #[prost(bytes = "vec", tag = "4")]
    state: Vec<u8>,
}

impl Encoded for Hook {
    type Wire = HookWire;
    /// Owner and name.
    type Beside = (Uid, String);

    fn to_wire(&self) -> HookWire {
        let (version, id) = (Some(self.version.0), Some(self.id.0.to_vec()));
        HookWire { version, id, removed: self.removed, state: self.state.clone() }
    }

    fn from_wire(wire: HookWire, (owner, name): Self::Beside) -> Result<Hook> {
        Ok(Hook {
            owner,
            name,
            version: version(wire.version)?,
            id: HookId(exactly(&required(wire.id, "hook identifier")?)?),
            removed: wire.removed,
            state: wire.state,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HookProgressWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(bytes = "vec", tag = "2")]
    state: Vec<u8>,
}

impl Encoded for HookProgress {
    type Wire = HookProgressWire;
    type Beside = HookId;

    fn to_wire(&self) -> HookProgressWire {
        HookProgressWire { version: Some(self.version.0), state: self.state.clone() }
    }

    fn from_wire(wire: HookProgressWire, id: HookId) -> Result<HookProgress> {
        Ok(HookProgress { id, version: version(wire.version)?, state: wire.state })
    }
}
