//! The audit log: security events, each with its actor and the account it is about.
//!
//! Each process run writes its own chain of records, a shard, and begins a new one after a day without a record: the MAC of a record covers its digest and the MAC of the
//! record before it. The digest is that of a salt and the details, so details can be erased without breaking the chain.
//! Every minute the head of the chain is noted, so a missing end is found too ([`verify`]).
//!
//! Refused passwords are aggregated: the first one of an account from a network is recorded immediately, further ones
//! once a minute with their number. Unknown names are not recorded, because people type passwords there.

use aws_lc_rs::hmac;
use model::network::network_of;
use model::{Account, AuditHead, AuditOffset, AuditRecord, Clock, Millis, Uid};
use seal::{NoRandomness, SecretKeys};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Store, StoreError};

mod verify;

pub use verify::{Verified, verify};

/// A shard ends after this time without a record. So of two consecutive records one does not expire long before the other,
/// and a missing one is not taken for an expired one.
const SHARD_GAP: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum accounts and networks whose refusals are counted between two minutes.
const MAX_REFUSALS: usize = 10_000;

tokio::task_local! {
    static ORIGIN: Origin;
}

/// The request that events of the running task belong to.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The client's address. Only its network is recorded.
    pub remote: IpAddr,
    /// The request id.
    pub request: String,
}

/// Runs a request: events in it are recorded with its origin.
pub async fn within<T>(origin: Origin, request: impl Future<Output = T>) -> T {
    ORIGIN.scope(origin, request).await
}

/// Who caused an event.
#[derive(Clone, Copy, Debug)]
pub enum Actor<'a> {
    /// An account.
    Account(&'a Account),
    /// An operator at the command line.
    CommandLine,
    /// The server itself.
    Server,
}

impl Actor<'_> {
    fn name(&self) -> &str {
        match self {
            Actor::Account(account) => account.name.as_str(),
            Actor::CommandLine => "(command line)",
            Actor::Server => "(server)",
        }
    }
}

/// An event to record.
#[derive(Clone, Debug)]
pub struct Event {
    name: &'static str,
    details: Map<String, Value>,
    accounts: Vec<Uid>,
}

impl Event {
    /// Something that `actor` did.
    pub fn new(name: &'static str, actor: Actor<'_>) -> Event {
        let mut event = Event { name, details: Map::new(), accounts: Vec::new() };
        event.set("actor", actor.name());
        event.set("target", Value::Null);
        event.set("outcome", "done");
        if let Actor::Account(account) = actor {
            event.accounts.push(account.uid);
        }
        event
    }

    /// Something that an account did to itself.
    pub fn own(name: &'static str, account: &Account) -> Event {
        Event::new(name, Actor::Account(account)).on(account)
    }

    /// The account that it happened to.
    #[must_use]
    pub fn on(mut self, target: &Account) -> Event {
        self.set("target", target.name.as_str());
        if !self.accounts.contains(&target.uid) {
            self.accounts.push(target.uid);
        }
        self
    }

    /// The erased account that it happened to. The record does not belong to the account, so a repeated erasure keeps it.
    #[must_use]
    pub fn on_erased(mut self, target: &Account) -> Event {
        self.set("target", target.name.as_str());
        self
    }

    /// What it was about, such as the identifier of a key. Never a secret.
    #[must_use]
    pub fn about(mut self, what: impl Into<String>) -> Event {
        self.set("about", what.into());
        self
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.details.insert(name.to_owned(), value.into());
    }
}

/// Writes the audit log.
pub struct AuditLog {
    store: Arc<dyn Store>,
    clock: Clock,
    keys: Vec<hmac::Key>,
    chain: tokio::sync::Mutex<Chain>,
    refusals: Mutex<HashMap<(Uid, IpAddr), Refusals>>,
    /// Whether records are also written to standard output.
    to_stdout: bool,
}

/// The end of this process's chain.
struct Chain {
    last: AuditOffset,
    mac: [u8; 32],
    /// The number of the noted head.
    noted: u64,
    /// The last record, if it may not have been written. It is written again before the next one.
    unwritten: Option<AuditRecord>,
}

impl Chain {
    fn new() -> Result<Chain, NoRandomness> {
        let last = AuditOffset { time: Millis(i64::MIN), shard: *seal::random::<16>()?, number: 0 };
        Ok(Chain { last, mac: [0; 32], noted: 0, unwritten: None })
    }
}

/// Refused passwords of an account from a network that are not recorded yet.
struct Refusals {
    account: Arc<Account>,
    count: u32,
}

impl AuditLog {
    /// A new shard of the audit log.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        keys: &SecretKeys,
        to_stdout: bool,
    ) -> Result<AuditLog, NoRandomness> {
        Ok(AuditLog {
            store,
            clock,
            keys: keys.derive("audit"),
            chain: tokio::sync::Mutex::new(Chain::new()?),
            refusals: Mutex::default(),
            to_stdout,
        })
    }

    /// Records an event. The event has happened, so a failure is only logged.
    pub async fn record(&self, event: Event) {
        let (name, account) = (event.name, event.accounts.first().map(|uid| uid.0));
        if let Err(error) = self.try_record(event).await {
            tracing::error!(%error, event = name, account, "audit record not written");
        }
    }

    /// Records an event, or says why it cannot.
    pub async fn try_record(&self, mut event: Event) -> Result<(), StoreError> {
        if let Ok(Origin { remote, request }) = ORIGIN.try_with(Clone::clone) {
            event.set("network", network_text(remote));
            event.set("request", request);
        }
        self.append(event).await
    }

    async fn append(&self, event: Event) -> Result<(), StoreError> {
        let unavailable = |_| StoreError::Unavailable("no random bytes".to_owned());
        let salt = *seal::random::<16>().map_err(unavailable)?;
        let details = Value::Object(event.details).to_string();
        let digest = details_digest(&salt, &details);
        let mut chain = self.chain.lock().await;
        self.write_unwritten(&mut chain).await?;
        // The order of a chain is that of its times, also if the clock is set back.
        let time = self.clock.now().max(chain.last.time);
        if chain.last.number > 0 && time >= chain.last.time.later(SHARD_GAP) {
            self.note_head(&mut chain).await?;
            *chain = Chain::new().map_err(unavailable)?;
        }
        let at = AuditOffset { time, shard: chain.last.shard, number: chain.last.number + 1 };
        let key = self.keys.first().ok_or_else(|| StoreError::Unavailable("no secret key".to_owned()))?;
        let mac = signed(key, &record_content(&chain.mac, at, event.name, &digest));
        let record = AuditRecord {
            at,
            event: event.name.to_owned(),
            details: Some(details),
            salt: Some(salt),
            digest,
            mac,
            accounts: event.accounts,
        };
        (chain.last, chain.mac, chain.unwritten) = (at, mac, Some(record.clone()));
        self.write_unwritten(&mut chain).await?;
        drop(chain);
        if self.to_stdout {
            // A reader that went away loses lines, not the record.
            let _ = writeln!(std::io::stdout().lock(), "{}", as_json(&record));
        }
        Ok(())
    }

    async fn write_unwritten(&self, chain: &mut Chain) -> Result<(), StoreError> {
        if let Some(record) = &chain.unwritten {
            self.store.append_audit(record).await?;
            chain.unwritten = None;
        }
        Ok(())
    }

    /// Records that a password of this account was refused. Runs in the background.
    pub(super) fn refused(self: &Arc<Self>, account: &Arc<Account>, remote: IpAddr) {
        let key = (account.uid, network_of(remote));
        {
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = refusals.get_mut(&key) {
                known.count = known.count.saturating_add(1);
                return;
            }
            if refusals.len() >= MAX_REFUSALS {
                return;
            }
            refusals.insert(key, Refusals { account: Arc::clone(account), count: 0 });
        }
        let (log, account) = (Arc::clone(self), Arc::clone(account));
        let origin = ORIGIN.try_with(Clone::clone).ok();
        tokio::spawn(async move {
            let mut event = refusal(&account, remote, 1);
            if let Some(Origin { request, .. }) = origin {
                event.set("request", request);
            }
            if let Err(error) = log.append(event).await {
                tracing::error!(%error, event = "sign-in-refused", "audit record not written");
            }
        });
    }

    /// Records the refusals since the last call, and notes the head of the chain. To be called every minute, and before
    /// the process ends.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let counted = std::mem::take(&mut *self.refusals.lock().unwrap_or_else(PoisonError::into_inner));
        for ((_, network), Refusals { account, count }) in counted {
            if count > 0 {
                self.append(refusal(&account, network, count)).await?;
            }
        }
        let mut chain = self.chain.lock().await;
        self.write_unwritten(&mut chain).await?;
        self.note_head(&mut chain).await
    }

    /// Notes the head of the chain, unless it is noted.
    async fn note_head(&self, chain: &mut Chain) -> Result<(), StoreError> {
        if chain.noted == chain.last.number {
            return Ok(());
        }
        let Some(key) = self.keys.first() else { return Ok(()) };
        let tag = signed(key, &head_content(chain.last, &chain.mac));
        let head = AuditHead { at: chain.last, mac: chain.mac, tag };
        self.store.put_audit_head(&head).await?;
        chain.noted = chain.last.number;
        // For a comparison with a log that is kept elsewhere.
        tracing::info!(
            shard = hex::encode(head.at.shard),
            number = head.at.number,
            mac = hex::encode(head.mac),
            "audit head"
        );
        Ok(())
    }
}

fn refusal(account: &Account, remote: IpAddr, count: u32) -> Event {
    let mut event = Event::new("sign-in-refused", Actor::Server).on(account);
    // The caller has not proved to be the account.
    event.set("actor", Value::Null);
    event.set("outcome", "refused");
    event.set("network", network_text(remote));
    event.set("count", count);
    event
}

/// The network of an address: /24 or /48.
fn network_text(remote: IpAddr) -> String {
    let network = network_of(remote);
    format!("{network}/{}", if network.is_ipv4() { 24 } else { 48 })
}

/// A record as JSON, as it is printed.
pub fn as_json(record: &AuditRecord) -> Value {
    let AuditOffset { time, shard, number } = record.at;
    let details =
        record.details.as_deref().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let is_erased = details.is_none();
    let mut json = details.unwrap_or_default();
    for name in ["actor", "target", "outcome", "network", "request"] {
        json.entry(name).or_insert(Value::Null);
    }
    json.insert("time".to_owned(), time.zulu().into());
    json.insert("event".to_owned(), record.event.clone().into());
    json.insert("id".to_owned(), format!("{}-{number}", hex::encode(shard)).into());
    if is_erased {
        json.insert("erased".to_owned(), true.into());
    }
    Value::Object(json)
}

fn details_digest(salt: &[u8; 16], details: &str) -> [u8; 32] {
    seal::sha256(&[&salt[..], details.as_bytes()].concat())
}

/// What the MAC of a record covers. All parts but the event have a fixed length.
fn record_content(before: &[u8; 32], at: AuditOffset, event: &str, digest: &[u8; 32]) -> Vec<u8> {
    let place = [&at.shard[..], &at.number.to_be_bytes(), &at.time.0.to_be_bytes()].concat();
    [b"record", &before[..], &place, digest, event.as_bytes()].concat()
}

/// What the tag of a head covers.
fn head_content(at: AuditOffset, mac: &[u8; 32]) -> Vec<u8> {
    [b"head", &at.shard[..], &at.number.to_be_bytes(), &at.time.0.to_be_bytes(), mac].concat()
}

fn signed(key: &hmac::Key, content: &[u8]) -> [u8; 32] {
    let mut mac = [0; 32];
    mac.copy_from_slice(hmac::sign(key, content).as_ref());
    mac
}
