//! Updates of versioned states by compare-and-set.
//!
//! [`update`] is the only way to change such a state. It reads the state, lets the caller compute the next one, and
//! writes it on the condition that the stored version is still the one that was read. If another update came first,
//! it starts again from the new state. So an update that was reported as successful is never undone by one that began
//! earlier, in this process or in another.

use crate::{Connection, Hook, Result, Seen, Source, Store, StoreError};
use async_trait::async_trait;
use model::{Account, Collection, Millis, SourceId, Uid, Version};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use uuid::Uuid;

/// Attempts before an update fails. Each failed attempt means that another update succeeded.
const MAX_ATTEMPTS: u32 = 200;
/// The pause after a failed attempt grows by this much, up to [`MAX_PAUSE`].
const PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// The number of locks: updates of different states that one process can run concurrently.
const LOCKS: usize = 256;

/// Locks by key, so that one update per key runs at a time. Keys may share a lock.
///
/// Correctness does not depend on them. Within a process they turn a race, in which one attempt succeeds, into a
/// queue, in which every attempt succeeds.
#[derive(Debug)]
pub struct StripedLocks([tokio::sync::Mutex<()>; LOCKS]);

impl Default for StripedLocks {
    fn default() -> StripedLocks {
        StripedLocks(std::array::from_fn(|_| tokio::sync::Mutex::default()))
    }
}

impl StripedLocks {
    /// The lock of a key.
    pub fn of(&self, key: &impl Debug) -> &tokio::sync::Mutex<()> {
        let mut hasher = DefaultHasher::new();
        format!("{key:?}").hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0);
        let [first, ..] = &self.0;
        self.0.get(at).unwrap_or(first)
    }
}

/// A versioned state that is changed by compare-and-set.
#[async_trait]
pub trait Versioned: Clone + PartialEq + Send + Sync {
    /// Identifies the state.
    type Key: Debug + Send + Sync;

    /// The stored state.
    async fn load(store: &dyn Store, key: &Self::Key) -> Result<Option<Self>>;

    /// Writes `self` on the condition that the stored version is `before` (`None`: nothing is stored). `false`:
    /// another version is stored, and nothing was changed.
    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool>;

    /// The key of this state.
    fn key(&self) -> Self::Key;

    /// The version of this state.
    fn version(&self) -> Version;

    /// The same state with another version.
    #[must_use]
    fn with_version(self, version: Version) -> Self;
}

/// Updates a state by compare-and-set and returns the stored state.
///
/// `change` gets the stored state, if there is one, and returns the state to store; its version is ignored. Nothing
/// is written if it returns the state unchanged, `None` or an error. It may be called several times and must not have
/// side effects.
pub async fn update<S, E>(
    store: &dyn Store,
    key: &S::Key,
    now: Millis,
    mut change: impl FnMut(Option<&S>) -> std::result::Result<Option<S>, E>,
) -> std::result::Result<Option<S>, E>
where
    S: Versioned,
    E: From<StoreError>,
{
    let _queued = store.update_locks().of(&key).lock().await;
    for attempt in 1..=MAX_ATTEMPTS {
        let stored = S::load(store, key).await?;
        let Some(changed) = change(stored.as_ref())? else { return Ok(stored) };
        let before = stored.as_ref().map(S::version);
        let unchanged = stored.filter(|stored| *stored == changed.clone().with_version(stored.version()));
        if let Some(unchanged) = unchanged {
            return Ok(Some(unchanged));
        }
        let changed = changed.with_version(Version::next(now, before));
        if changed.replace(store, before).await? {
            return Ok(Some(changed));
        }
        tokio::time::sleep(pause_after(attempt)).await;
    }
    Err(StoreError::Unavailable("too many concurrent changes of the same state".to_owned()).into())
}

/// A random part of a pause that grows with the attempts, so that competing processes do not collide in step.
fn pause_after(attempt: u32) -> Duration {
    let [random, ..] = Uuid::new_v4().into_bytes();
    (PAUSE * attempt).min(MAX_PAUSE) * u32::from(random) / 256
}

#[async_trait]
impl Versioned for Account {
    type Key = Uid;

    async fn load(store: &dyn Store, key: &Uid) -> Result<Option<Account>> {
        Ok(store.accounts(&[*key]).await?.into_iter().flatten().next())
    }

    /// Accounts are created by [`Accounts::create_account`](crate::Accounts::create_account), never by an update.
    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool> {
        match before {
            Some(before) => store.replace_account(before, self).await,
            None => Ok(false),
        }
    }

    fn key(&self) -> Uid {
        self.uid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn with_version(self, version: Version) -> Account {
        Account { version, ..self }
    }
}

#[async_trait]
impl Versioned for Source {
    type Key = SourceId;

    async fn load(store: &dyn Store, key: &SourceId) -> Result<Option<Source>> {
        store.source(*key).await
    }

    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool> {
        store.replace_source(before, self).await
    }

    fn key(&self) -> SourceId {
        self.id
    }

    fn version(&self) -> Version {
        self.version
    }

    fn with_version(self, version: Version) -> Source {
        Source { version, ..self }
    }
}

#[async_trait]
impl Versioned for Connection {
    type Key = (Uid, String);

    async fn load(store: &dyn Store, (owner, name): &(Uid, String)) -> Result<Option<Connection>> {
        store.connection(*owner, name).await
    }

    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool> {
        store.replace_connection(before, self).await
    }

    fn key(&self) -> (Uid, String) {
        (self.owner, self.name.clone())
    }

    fn version(&self) -> Version {
        self.version
    }

    fn with_version(self, version: Version) -> Connection {
        Connection { version, ..self }
    }
}

#[async_trait]
impl Versioned for Seen {
    type Key = (Uid, Collection);

    async fn load(store: &dyn Store, (owner, collection): &(Uid, Collection)) -> Result<Option<Seen>> {
        store.seen(*owner, *collection).await
    }

    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool> {
        store.replace_seen(before, self).await
    }

    fn key(&self) -> (Uid, Collection) {
        (self.owner, self.collection)
    }

    fn version(&self) -> Version {
        self.version
    }

    fn with_version(self, version: Version) -> Seen {
        Seen { version, ..self }
    }
}

#[async_trait]
impl Versioned for Hook {
    type Key = (Uid, String);

    async fn load(store: &dyn Store, (owner, name): &(Uid, String)) -> Result<Option<Hook>> {
        store.hook(*owner, name).await
    }

    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool> {
        store.replace_hook(before, self).await
    }

    fn key(&self) -> (Uid, String) {
        (self.owner, self.name.clone())
    }

    fn version(&self) -> Version {
        self.version
    }

    fn with_version(self, version: Version) -> Hook {
        Hook { version, ..self }
    }
}
