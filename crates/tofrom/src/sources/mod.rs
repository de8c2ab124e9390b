//! What people do elsewhere, collected.
//!
//! A **source** is the address of a feed. It is fetched once however many accounts share it. A **connection** is an
//! account's settings that what a source tells becomes its activities, under the name of a service.
//!
//! - `connect` finds the feed behind what somebody typed, shows what would come in, and makes, pauses and ends
//!   connections;
//! - `look` looks at a source: fetches it, brings what is new to whoever is connected, and plans the next look;
//! - `moving` follows feeds to their new addresses;
//! - `worker` does that whenever a source's time has come, for the shards that this process has a lease of;
//! - `websub` has hubs tell of news, `hub_secret` seals what they sign with;
//! - `bring` makes activities of items. They come in by the same door as everything else, so that nothing is there
//!   twice, whatever is fetched again;
//! - `people` has what pages need besides: lists of feed readers, counted looks, verified pages;
//! - `source` and `connection` are what is known of each, `health` says how a source is, in words.

mod address;
mod connect;
mod connection;
mod fetch_budget;
mod health;
mod hub_secret;
mod import;
mod moving;
mod people;
mod poll;
mod source;
mod websub;
pub mod worker;

pub use address::Address;
pub use connect::{Connected, Listed, NotConnected, Preview};
pub use connection::{Connection, MAX_CONNECTIONS};
pub use health::Health;
pub use hub_secret::reseal;
pub use people::free_name;
pub use poll::PollOutcome;
pub use source::Source;
pub use websub::Told;

use crate::accounts::AccountCache;
use crate::auth::SecretKeys;
use crate::clock::Clock;
use crate::ingest::Ingest;
use crate::live::Hub;
use fetch_budget::FetchBudget;
use fetcher::{Fetcher, FetcherError, Network, Rules, SystemResolver};
use model::{SourceId, Uid};
use std::sync::Arc;
use store::Store;
use tokio::sync::Notify;

/// How often a minute an account may have something fetched.
const FETCHED_FOR_EACH: u32 = 30;
/// How often a minute a hub may tell of news.
const TOLD_BY_EACH: u32 = 60;

/// How sources are fetched.
#[derive(Clone, Debug, Default)]
pub struct SourceSettings {
    /// The public address of this service, where it is known: who is asked sees who asks, and hubs tell their news there.
    pub base_url: Option<String>,
    /// Networks that are not public and may be asked all the same.
    pub networks: Vec<Network>,
    /// Ports that may be asked besides those of http and https.
    pub ports: Vec<u16>,
}

/// Sources, and all that is done with them.
#[derive(Clone)]
pub struct Sources {
    store: Arc<dyn Store>,
    accounts: AccountCache,
    ingest: Ingest,
    clock: Clock,
    hub: Arc<Hub>,
    fetcher: Arc<Fetcher>,
    base_url: Option<String>,
    /// Seal the secrets that hubs sign with.
    secret_keys: Arc<SecretKeys>,
    /// Nothing for whom it does not matter how often.
    asked: Option<FetchBudget<Uid>>,
    told: FetchBudget<SourceId>,
    /// Wakes the worker of this process.
    due_now: Arc<Notify>,
}

impl Sources {
    /// The sources in that store; whoever waits for news at `hub` is woken.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        hub: Arc<Hub>,
        settings: SourceSettings,
        secret_keys: Arc<SecretKeys>,
    ) -> anyhow::Result<Sources> {
        Ok(Sources {
            accounts: AccountCache::new(Arc::clone(&store)),
            ingest: Ingest::new(Arc::clone(&store), clock.clone()),
            fetcher: Arc::new(fetcher(&settings)?),
            base_url: settings.base_url,
            secret_keys,
            asked: Some(FetchBudget::new(FETCHED_FOR_EACH)),
            told: FetchBudget::new(TOLD_BY_EACH),
            due_now: Arc::default(),
            store,
            clock,
            hub,
        })
    }

    /// The same for an operator, who has as many feeds fetched as there are in a list.
    pub fn for_operator(self) -> Sources {
        Sources { asked: None, ..self }
    }
}

fn fetcher(settings: &SourceSettings) -> anyhow::Result<Fetcher> {
    match Fetcher::new(rules(settings), Arc::new(SystemResolver)) {
        Err(FetcherError::NoAuthorities) => {
            tracing::warn!("{}; until then nothing is fetched by https", FetcherError::NoAuthorities);
            let none = rustls::RootCertStore::empty();
            Ok(Fetcher::with_roots(rules(settings), Arc::new(SystemResolver), none)?)
        }
        made => Ok(made?),
    }
}

fn rules(settings: &SourceSettings) -> Rules {
    let version = env!("CARGO_PKG_VERSION");
    let user_agent = match &settings.base_url {
        Some(base) => format!("tofrom/{version} (+{base})"),
        None => format!("tofrom/{version}"),
    };
    let mut rules = Rules::new(user_agent);
    rules.ports.extend(&settings.ports);
    rules.allowed.clone_from(&settings.networks);
    let own = settings.base_url.as_deref().and_then(|base| url::Url::parse(base).ok());
    rules.own_hosts.extend(own.as_ref().and_then(url::Url::host_str).map(str::to_owned));
    rules
}

/// A number from 0 to 1, so that what is planned together does not come together.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    match aws_lc_rs::rand::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
