//! Creates, changes, tests and removes hooks.

use super::hook::{Hook, HookConfig, all_of};
use super::message::Message;
use super::progress::Progress;
use super::{Hooks, secret};
use crate::feed::ReadError;
use crate::sources::is_name;
use fetcher::FetchError;
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, Collection, HookId, Millis, Uid};
use seal::{NoRandomness, SealError, random};
use store::{SHARDS, StoreError};
use url::Url;
use zeroize::Zeroizing;

/// The maximum number of hooks of an account.
pub const MAX_HOOKS: usize = 20;
/// The number of hooks read concurrently.
const CONCURRENCY: usize = 16;
/// The maximum number of values of a filter, and of bytes of a value.
const MAX_VALUES: usize = 100;
const MAX_VALUE: usize = 512;

/// The requested settings of a hook.
#[derive(Clone, Debug, Default)]
pub struct HookRequest {
    /// The address, as typed.
    pub url: String,
    /// The name of the collection.
    pub collection: String,
    /// Only events of these services.
    pub services: Vec<String>,
    /// Only events of these types.
    pub kinds: Vec<String>,
    /// Only events of these verbs.
    pub verbs: Vec<String>,
}

/// A hook that was created or changed.
#[derive(Debug)]
pub struct PutHook {
    /// The hook.
    pub hook: Hook,
    /// The secret of a new hook. It is not shown again.
    pub secret: Option<Zeroizing<String>>,
}

/// A hook, and how far it has come.
#[derive(Clone, Debug)]
pub struct ListedHook {
    /// The hook.
    pub hook: Hook,
    /// How far it has come.
    pub progress: Progress,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PingOutcome {
    /// The receiver responded with this status.
    Status(u16),
    /// There was no response, for this reason.
    Failed(FetchError),
}

impl PingOutcome {
    /// Whether the receiver accepted it.
    pub fn is_success(&self) -> bool {
        matches!(self, PingOutcome::Status(200..=299))
    }
}

/// Why a hook was not changed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The name is invalid.
    #[error("Invalid hook name: expected 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit.")]
    BadName,
    /// A field is invalid.
    #[error("{field}: {detail}")]
    Refused {
        /// The field.
        field: &'static str,
        /// What is wrong, and what was expected.
        detail: String,
    },
    /// The account has the maximum number of hooks.
    #[error("An account has at most {MAX_HOOKS} hooks: remove one first.")]
    Quota,
    /// The account sent too many tests.
    #[error("Too many requests. Try again in 60 seconds.")]
    TooOften,
    /// The collection cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A secret cannot be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// There are no random bytes.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

fn refused(field: &'static str, detail: impl Into<String>) -> HookError {
    HookError::Refused { field, detail: detail.into() }
}

/// What changes of an existing hook.
struct Wanted {
    url: Url,
    collection: Collection,
    services: Vec<String>,
    kinds: Vec<String>,
    verbs: Vec<String>,
}

impl Wanted {
    fn apply(&self, config: &mut HookConfig) {
        if *config.url != self.url {
            config.url = self.url.clone().into();
            // The new address need not wait for what the old one missed.
            config.resumed = config.resumed.wrapping_add(1);
        }
        config.collection = self.collection;
        config.services.clone_from(&self.services);
        config.kinds.clone_from(&self.kinds);
        config.verbs.clone_from(&self.verbs);
    }
}

impl Hooks {
    /// The account's hooks, by name.
    pub async fn list(&self, owner: Uid) -> Result<Vec<ListedHook>, StoreError> {
        let stored = self.store.hooks_of(owner).await?;
        let hooks = stored.iter().filter_map(|stored| Hook::read(stored).transpose());
        self.with_progress(hooks.collect::<Result<_, _>>()?).await
    }

    /// The account's hook with this name.
    pub async fn find(&self, owner: Uid, name: &str) -> Result<Option<ListedHook>, StoreError> {
        let stored = self.store.hook(owner, name).await?;
        let hook = stored.as_ref().map(Hook::read).transpose()?.flatten();
        Ok(self.with_progress(hook.into_iter().collect()).await?.into_iter().next())
    }

    /// Up to `limit` hooks that fail or are disabled, of the first `max_read` hooks.
    pub async fn failing(&self, limit: usize, max_read: usize) -> Result<Vec<ListedHook>, StoreError> {
        let (mut failing, mut read) = (Vec::new(), 0);
        for shard in 0..SHARDS {
            let page = self.store.hooks_in(shard, None, max_read.saturating_sub(read)).await?;
            read += page.len();
            let lookups: Vec<_> =
                page.iter().map(|listed| self.store.hook(listed.owner, &listed.name)).collect();
            let stored: Vec<_> = stream::iter(lookups).buffered(CONCURRENCY).try_collect().await?;
            let hooks = stored.iter().flatten().filter_map(|stored| Hook::read(stored).transpose());
            let hooks = hooks.collect::<Result<_, _>>()?;
            let is_failing = |listed: &ListedHook| {
                listed.hook.config.disabled.is_some() || listed.progress.failing_since.is_some()
            };
            failing.extend(self.with_progress(hooks).await?.into_iter().filter(is_failing));
            if failing.len() >= limit || read >= max_read {
                break;
            }
        }
        failing.truncate(limit);
        Ok(failing)
    }

    async fn with_progress(&self, hooks: Vec<Hook>) -> Result<Vec<ListedHook>, StoreError> {
        let ids: Vec<HookId> = hooks.iter().map(|hook| hook.id).collect();
        let stored = self.store.hook_progress(&ids).await?;
        let listed = hooks.into_iter().zip(stored).map(|(hook, stored)| {
            let begun = stored.as_ref().map(Progress::read).transpose()?;
            let progress =
                begun.unwrap_or_else(|| Progress::new(hook.config.start.clone(), hook.config.resumed));
            Ok(ListedHook { hook, progress })
        });
        listed.collect()
    }

    /// Creates a hook that begins now, or changes its settings. A changed one keeps its place and its secret.
    pub async fn put(
        &self,
        account: &Account,
        name: &str,
        request: HookRequest,
    ) -> Result<PutHook, HookError> {
        if !is_name(name) {
            return Err(HookError::BadName);
        }
        let existing = self.find(account.uid, name).await?.map(|found| found.hook);
        let wanted = self.wanted(request, existing.as_ref()).await?;
        if existing.is_none() && self.store.hooks_of(account.uid).await?.len() >= MAX_HOOKS {
            return Err(HookError::Quota);
        }
        let (now, id, plain) = (self.clock.now(), HookId(*random::<16>()?), secret::generate()?);
        let sealed = secret::SealedSecret::seal(plain.as_ref(), id, &self.secret_keys)?;
        // Without filters: what the collection shows now is before the hook under any filter.
        let start = self.feed.seen_now(&all_of(account.uid, wanted.collection)).await?;
        let mut is_new = false;
        let change = |stored: Option<&store::Hook>| {
            let before = stored.map(Hook::read).transpose()?.flatten();
            is_new = before.is_none();
            let mut hook = before.unwrap_or_else(|| Hook {
                owner: account.uid,
                name: name.to_owned(),
                id,
                version: Default::default(),
                config: HookConfig {
                    url: wanted.url.clone().into(),
                    collection: wanted.collection,
                    services: Vec::new(),
                    kinds: Vec::new(),
                    verbs: Vec::new(),
                    created: now,
                    disabled: None,
                    resumed: 0,
                    start: start.clone(),
                    secrets: vec![sealed.clone()],
                },
            });
            wanted.apply(&mut hook.config);
            Ok(Some(hook.to_stored()?))
        };
        let hook = self.update(account.uid, name, change).await?;
        let hook =
            hook.ok_or_else(|| StoreError::Unavailable("the hook was removed meanwhile".to_owned()))?;
        Ok(PutHook { hook, secret: is_new.then(|| secret::text(plain.as_ref())) })
    }

    /// Validates a request. The address is looked up if it is new.
    async fn wanted(&self, request: HookRequest, existing: Option<&Hook>) -> Result<Wanted, HookError> {
        let HookRequest { url, collection, services, kinds, verbs } = request;
        let typed = url.trim();
        if typed.is_empty() {
            return Err(refused("Url", "required: an https address"));
        }
        let is_same = existing.is_some_and(|hook| hook.config.url.as_str() == typed);
        let checked = match is_same {
            true => self.fetcher.check(typed),
            false => self.fetcher.check_host(typed).await,
        };
        let url = checked.map_err(|error| refused("Url", error.to_string()))?;
        if url.scheme() != "https" {
            return Err(refused("Url", "expected an address that begins with https://"));
        }
        Ok(Wanted {
            url,
            collection: Collection::parse(&collection)
                .ok_or_else(|| refused("Collection", "expected to, from or tofrom"))?,
            services: values("Service", services)?,
            kinds: values("Type", kinds)?,
            verbs: values("Verb", verbs)?,
        })
    }

    /// Removes a hook. `false`: there is none.
    pub async fn remove(&self, owner: Uid, name: &str) -> Result<bool, HookError> {
        let mut removed = None;
        let change = |stored: Option<&store::Hook>| {
            let stored = stored.filter(|stored| !stored.removed);
            removed = stored.map(|stored| stored.id);
            Ok(stored.map(|stored| store::Hook { removed: true, state: Vec::new(), ..stored.clone() }))
        };
        self.update(owner, name, change).await?;
        if let Some(id) = removed {
            self.store.delete_hook_progress(id).await?;
        }
        Ok(removed.is_some())
    }

    /// Enables a disabled hook, and delivers at once without waiting for the next try. `false`: there is no such hook.
    pub async fn resume(&self, owner: Uid, name: &str) -> Result<bool, HookError> {
        let changed = self.change(owner, name, |config| {
            config.disabled = None;
            config.resumed = config.resumed.wrapping_add(1);
        });
        Ok(changed.await?.is_some())
    }

    /// Replaces the secret of a hook and returns the new one, which is not shown again. Both sign for a day. `None`: there
    /// is no such hook.
    pub async fn rotate(&self, owner: Uid, name: &str) -> Result<Option<Zeroizing<String>>, HookError> {
        let Some(ListedHook { hook, .. }) = self.find(owner, name).await? else { return Ok(None) };
        let (now, plain) = (self.clock.now(), secret::generate()?);
        let sealed = secret::SealedSecret::seal(plain.as_ref(), hook.id, &self.secret_keys)?;
        let changed = self.change(owner, name, |config| {
            config.secrets = secret::rotated(sealed.clone(), &config.secrets, now);
        });
        // The secret is sealed for this hook. Another one of its name cannot open it.
        let changed = changed.await?.filter(|changed| changed.id == hook.id);
        Ok(changed.map(|_| secret::text(plain.as_ref())))
    }

    /// Sends a signed ping. `None`: there is no such hook.
    pub async fn test(&self, owner: Uid, name: &str) -> Result<Option<PingOutcome>, HookError> {
        let Some(ListedHook { hook, .. }) = self.find(owner, name).await? else { return Ok(None) };
        if !self.tests.try_spend(owner) {
            return Err(HookError::TooOften);
        }
        let sent = self.send(&hook, &Message::ping(&hook)?).await?;
        Ok(Some(match sent {
            Ok(status) => PingOutcome::Status(status),
            Err(error) => PingOutcome::Failed(error),
        }))
    }

    /// Sends a message and returns the status of the response.
    pub(super) async fn send(
        &self,
        hook: &Hook,
        message: &Message,
    ) -> Result<Result<u16, FetchError>, SealError> {
        let now = self.clock.now();
        let body = message.body(now);
        let headers = message.headers(&body, hook, &self.secret_keys, now)?;
        Ok(self.fetcher.post(&hook.config.url, "application/json", &headers, body.into()).await)
    }

    /// Disables a hook, unless it was resumed since it was read.
    pub(super) async fn disable(&self, hook: &Hook, reason: &str, at: Millis) -> Result<(), HookError> {
        let change = |stored: Option<&store::Hook>| {
            let current = stored.map(Hook::read).transpose()?.flatten();
            let same =
                |current: &Hook| current.id == hook.id && current.config.resumed == hook.config.resumed;
            let Some(mut current) = current.filter(same) else { return Ok(None) };
            let disabled = super::Disabled { at, reason: reason.to_owned() };
            current.config.disabled.get_or_insert(disabled);
            Ok(Some(current.to_stored()?))
        };
        self.update(hook.owner, &hook.name, change).await.map(drop)
    }

    async fn change(
        &self,
        owner: Uid,
        name: &str,
        change: impl Fn(&mut HookConfig),
    ) -> Result<Option<Hook>, HookError> {
        let change = |stored: Option<&store::Hook>| {
            let Some(mut hook) = stored.map(Hook::read).transpose()?.flatten() else { return Ok(None) };
            change(&mut hook.config);
            Ok(Some(hook.to_stored()?))
        };
        self.update(owner, name, change).await
    }

    /// Changes a hook by compare-and-set, and notifies its worker.
    async fn update(
        &self,
        owner: Uid,
        name: &str,
        change: impl FnMut(Option<&store::Hook>) -> Result<Option<store::Hook>, HookError>,
    ) -> Result<Option<Hook>, HookError> {
        let key = (owner, name.to_owned());
        let stored = store::update(self.store.as_ref(), &key, self.clock.now(), change).await?;
        self.hub.hooks_changed(self.store.as_ref(), owner).await;
        Ok(stored.as_ref().map(Hook::read).transpose()?.flatten())
    }
}

/// The values of a filter.
fn values(field: &'static str, values: Vec<String>) -> Result<Vec<String>, HookError> {
    let values: Vec<String> =
        values.iter().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()).collect();
    if values.len() > MAX_VALUES || values.iter().any(|value| value.len() > MAX_VALUE || value.contains(','))
    {
        let detail = format!(
            "expected at most {MAX_VALUES} values of at most {MAX_VALUE} bytes each, without a comma"
        );
        return Err(refused(field, detail));
    }
    Ok(values)
}
