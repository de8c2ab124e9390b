//! Changes of states that are read, changed and written back.
//!
//! [`update`] is the only way to change such a state. It reads the state, has the caller make the next one of it, and
//! writes that on the condition that the version is still the one that was read. If another change came first, it starts
//! again with what that change left behind. So no change that was answered with success is undone by another one that
//! began earlier, in this process or in another.

use crate::{Connection, Result, Source, Store, StoreError};
use async_trait::async_trait;
use model::{Account, Millis, SourceId, Uid, Version};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use uuid::Uuid;

/// Attempts before a change is refused: each failed one means that another change succeeded.
const MAX_ATTEMPTS: u32 = 200;
/// The pause after a failed attempt grows by this much, up to [`MAX_PAUSE`].
const PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// Changes of different states that may be under way in one process at the same time.
const GATES: usize = 256;

/// Admits one change per key at a time. Keys may share a gate.
///
/// Correctness does not depend on it: within a process it turns a race, which one attempt wins, into a queue, in which
/// every attempt succeeds.
#[derive(Debug)]
pub struct Gates([tokio::sync::Mutex<()>; GATES]);

impl Default for Gates {
    fn default() -> Gates {
        Gates(std::array::from_fn(|_| tokio::sync::Mutex::default()))
    }
}

impl Gates {
    /// The gate of a key.
    pub fn of(&self, key: &impl Debug) -> &tokio::sync::Mutex<()> {
        let mut hasher = DefaultHasher::new();
        format!("{key:?}").hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % GATES as u64).unwrap_or(0);
        let [first, ..] = &self.0;
        self.0.get(at).unwrap_or(first)
    }
}

/// A state with a version that is changed by compare-and-set.
#[async_trait]
pub trait Versioned: Clone + PartialEq + Send + Sync {
    /// Identifies the state.
    type Key: Debug + Send + Sync;

    /// The stored state.
    async fn load(store: &dyn Store, key: &Self::Key) -> Result<Option<Self>>;

    /// Writes `self` on the condition that the stored version is `before` (`None`: nothing is stored). `false`: it is
    /// not, and nothing was changed.
    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool>;

    /// What identifies this state.
    fn key(&self) -> Self::Key;

    /// The version of this state.
    fn version(&self) -> Version;

    /// The same state with another version.
    #[must_use]
    fn with_version(self, version: Version) -> Self;
}

/// Changes a state by compare-and-set and returns what is stored then.
///
/// `change` gets the stored state, if there is one, and returns the state to store; its version does not matter. If it
/// returns the state unchanged, nothing is written. `None` leaves everything as it is, and so does an error. It may be
/// called several times and must not have side effects.
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
    let _queued = store.update_gates().of(&key).lock().await;
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

    /// An account is created by [`Accounts::create_account`](crate::Accounts::create_account), never by a change.
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
