//! What all requests to other servers have in common: the fetcher, and limits for those who cause them.

use fetcher::{Fetcher, FetcherError, Rules, SystemResolver};
use moka::sync::Cache;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The maximum number of accounts or hubs whose fetch budget is in memory.
const MAX_BUDGETS: u64 = 100_000;

/// A fetcher that trusts the machine's certificate authorities.
pub fn fetcher(rules: Rules) -> Result<Fetcher, FetcherError> {
    match Fetcher::new(rules.clone(), Arc::new(SystemResolver)) {
        Err(FetcherError::NoAuthorities) => {
            tracing::warn!(reason = %FetcherError::NoAuthorities, "fetching by https disabled");
            Fetcher::with_roots(rules, Arc::new(SystemResolver), rustls::RootCertStore::empty())
        }
        fetcher => fetcher,
    }
}

/// The rules of a server with that public address: the user agent names it, and requests to it are refused.
pub(crate) fn rules(base_url: Option<&str>) -> Rules {
    let version = env!("CARGO_PKG_VERSION");
    let user_agent = match base_url {
        Some(base) => format!("tofrom/{version} (+{base})"),
        None => format!("tofrom/{version}"),
    };
    let mut rules = Rules::new(user_agent);
    let own = base_url.and_then(|base| url::Url::parse(base).ok());
    rules.own_hosts.extend(own.as_ref().and_then(url::Url::host_str).map(str::to_owned));
    rules
}

/// A random number from 0 to 1, which spreads out scheduled times.
pub(crate) fn random_fraction() -> f64 {
    let mut bytes = [0; 4];
    match aws_lc_rs::rand::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

/// A limit of actions a minute for each key.
#[derive(Clone)]
pub(crate) struct FetchBudget<K: Hash + Eq + Send + Sync + 'static> {
    limit: u32,
    counts: Cache<K, Arc<AtomicU32>>,
}

impl<K: Hash + Eq + Send + Sync + 'static> FetchBudget<K> {
    pub(crate) fn new(limit: u32) -> FetchBudget<K> {
        let counts = Cache::builder().max_capacity(MAX_BUDGETS).time_to_live(Duration::from_secs(60)).build();
        FetchBudget { limit, counts }
    }

    /// Counts an action. `false` if it exceeds the limit.
    pub(crate) fn try_spend(&self, key: K) -> bool {
        let count = self.counts.get_with(key, || Arc::new(AtomicU32::new(0)));
        count.fetch_add(1, Ordering::Relaxed) < self.limit
    }
}
