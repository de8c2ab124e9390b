//! Import of activities from feeds of other sites.
//!
//! A **source** is the address of a feed. It is fetched once for all accounts that use it. A **connection** makes the
//! items of a source activities of an account, on a named service.
//!
//! - `connect` finds the feed behind a typed address, previews it, and creates, pauses and removes connections;
//! - `poll` fetches a source, imports new items for all connections, and schedules the next poll;
//! - `worker` polls due sources of the shards that this process has a lease of;
//! - `websub` subscribes to hubs and takes their notifications, `hub_secret` seals the secrets they sign with;
//! - `import` turns items into activities. It uses `ingest` like every other writer, so importing an item again creates
//!   no duplicate;
//! - `people` has further operations of pages: OPML lists, rate-limited polls, verified pages;
//! - `source` and `connection` are the stored records, `health` describes the status of a source. `source` also follows
//!   feeds to their new addresses.

mod connect;
mod connection;
mod health;
mod hub_secret;
mod import;
mod people;
mod poll;
mod source;
mod websub;
pub mod worker;

pub use connect::{Connected, Listed, NotConnected, Preview};
pub use connection::Connection;
pub(crate) use connection::is_name;
pub use health::Health;
pub use hub_secret::{ResealError, reseal};
pub use people::free_name;
pub use poll::PollOutcome;
pub use source::{Address, Source};
pub use websub::NotificationOutcome;

pub use crate::outgoing::fetcher;

use crate::ingest::Ingest;
use crate::live::Hub;
use crate::outgoing::{self, FetchBudget};
use fetcher::{Fetcher, FetcherError, Network, Rules};
use model::{Clock, Quotas, SourceId, Uid};
use seal::SecretKeys;
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Store};
use tokio::sync::Notify;

/// How many fetches a minute an account may cause.
const ACCOUNT_FETCHES_PER_MINUTE: u32 = 30;
/// How many notifications a minute a hub may send.
const HUB_NOTIFICATIONS_PER_MINUTE: u32 = 60;

/// How sources are fetched.
#[derive(Clone, Debug, Default)]
pub struct SourceSettings {
    /// The public address of this server, if known: the user agent names it, and hubs send notifications to it.
    pub base_url: Option<String>,
    /// Non-public networks that may be fetched from.
    pub networks: Vec<Network>,
    /// Ports that may be fetched from, besides those of http and https.
    pub ports: Vec<u16>,
    /// How much an account may store.
    pub quotas: Quotas,
    /// Activities older than this do not count.
    pub retention: Option<Duration>,
}

/// Sources and connections.
#[derive(Clone)]
pub struct Sources {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    ingest: Ingest,
    clock: Clock,
    hub: Arc<Hub>,
    fetcher: Arc<Fetcher>,
    base_url: Option<String>,
    quotas: Quotas,
    /// The keys that seal hub secrets.
    secret_keys: Arc<SecretKeys>,
    /// The fetch budgets of accounts; `None` for an operator, who has no limit.
    account_budget: Option<FetchBudget<Uid>>,
    hub_budget: FetchBudget<SourceId>,
    /// Wakes the worker of this process.
    due_now: Arc<Notify>,
}

impl Sources {
    /// The sources in that store. Imports wake the watchers of `hub`.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        hub: Arc<Hub>,
        settings: SourceSettings,
        secret_keys: Arc<SecretKeys>,
    ) -> Result<Sources, FetcherError> {
        Ok(Sources {
            accounts: AccountCache::new(Arc::clone(&store)),
            ingest: Ingest::new(Arc::clone(&store), clock.clone())
                .with_quotas(settings.quotas, settings.retention),
            quotas: settings.quotas,
            fetcher: Arc::new(fetcher(rules(&settings))?),
            base_url: settings.base_url,
            secret_keys,
            account_budget: Some(FetchBudget::new(ACCOUNT_FETCHES_PER_MINUTE)),
            hub_budget: FetchBudget::new(HUB_NOTIFICATIONS_PER_MINUTE),
            due_now: Arc::default(),
            store,
            clock,
            hub,
        })
    }

    /// The same for an operator, without a fetch budget.
    pub fn for_operator(self) -> Sources {
        Sources { account_budget: None, ..self }
    }
}

/// The limits of fetches from other sites: the guard that the settings describe.
pub fn rules(settings: &SourceSettings) -> Rules {
    let mut rules = outgoing::rules(settings.base_url.as_deref());
    rules.ports.extend(&settings.ports);
    rules.allowed.clone_from(&settings.networks);
    rules
}
