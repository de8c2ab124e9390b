//! Hooks: the events of an account's collection are sent to an address, one request each, by the Standard Webhooks
//! specification.
//!
//! The state of a hook is one sync token. A response with status 2xx moves it, so every event arrives at least once and in
//! order, across crashes. The identifier of an event is made of its content, so a receiver recognises a repetition.
//!
//! - `manage` creates, changes, tests and removes hooks; `hook` is the stored settings, `progress` how far a hook has come;
//! - `message` is what is sent: the body, its identifier and its signatures; `secret` seals the secrets that sign;
//! - `worker` runs the hooks of the shards that this process has a lease of, each by a `runner`;
//! - `pools` bounds the requests of a process, so that slow receivers do not delay others;
//! - `retry` says when a failed delivery is tried again.

mod hook;
mod manage;
mod message;
mod pools;
mod progress;
mod retry;
mod runner;
mod secret;
pub mod worker;

pub use hook::{Disabled, Hook, HookConfig, has_live_hook};
pub use manage::{HookError, HookRequest, ListedHook, MAX_HOOKS, PingOutcome, PutHook};
pub use message::Payloads;
pub use progress::Progress;
pub use secret::reseal;

use crate::feed::Feed;
use crate::live::Hub;
use crate::outgoing::{self, FetchBudget};
use fetcher::{Fetcher, FetcherError, Network, Rules};
use model::{Clock, Uid};
use seal::SecretKeys;
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Store};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How many test requests a minute an account may cause.
const TESTS_PER_MINUTE: u32 = 30;

/// Where hooks may send to.
#[derive(Clone, Debug, Default)]
pub struct HookSettings {
    /// The public address of this server, if known: the user agent names it, and no hook may send to it.
    pub base_url: Option<String>,
    /// Non-public networks that hooks may send to, on any port.
    pub networks: Vec<Network>,
}

/// The parts of the service that hooks use.
pub struct HookParts {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The cached accounts.
    pub accounts: AccountCache,
    /// The clock.
    pub clock: Clock,
    /// The watchers of collections in this process.
    pub hub: Arc<Hub>,
    /// Reads collections.
    pub feed: Feed,
    /// The keys that seal secrets.
    pub secret_keys: Arc<SecretKeys>,
}

/// Hooks.
#[derive(Clone)]
pub struct Hooks {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    clock: Clock,
    hub: Arc<Hub>,
    feed: Feed,
    fetcher: Arc<Fetcher>,
    secret_keys: Arc<SecretKeys>,
    tests: FetchBudget<Uid>,
}

impl Hooks {
    /// The hooks of a service.
    pub fn new(parts: HookParts, settings: &HookSettings) -> Result<Hooks, FetcherError> {
        let HookParts { store, accounts, clock, hub, feed, secret_keys } = parts;
        let fetcher = Arc::new(outgoing::fetcher(rules(settings))?);
        let tests = FetchBudget::new(TESTS_PER_MINUTE);
        Ok(Hooks { store, accounts, clock, hub, feed, fetcher, secret_keys, tests })
    }
}

fn rules(settings: &HookSettings) -> Rules {
    let mut rules = outgoing::rules(settings.base_url.as_deref());
    rules.ports = vec![443];
    rules.allowed.clone_from(&settings.networks);
    rules.any_port_within_allowed = true;
    (rules.head, rules.total) = (TIMEOUT, TIMEOUT);
    rules
}
