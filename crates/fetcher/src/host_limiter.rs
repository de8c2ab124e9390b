//! Limits requests to a host: a number of concurrent connections, and a token bucket for the rate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// Idle hosts are not removed below this number of hosts.
const MIN_SWEEP_SIZE: usize = 1_024;
/// When to retry at a host that has a connection.
const BUSY_RETRY: Duration = Duration::from_secs(2);

/// The rate limit of a host.
#[derive(Clone, Copy, Debug)]
pub struct HostBudget {
    /// The number of requests in a burst.
    pub burst: u32,
    /// The time in which one request is refilled.
    pub every: Duration,
}

/// The state of all hosts with recent requests. Idle hosts are removed.
#[derive(Debug)]
pub struct HostLimiter {
    budget: HostBudget,
    /// Concurrent connections to a host.
    connections: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    hosts: HashMap<String, Host>,
    /// The number of hosts at which idle ones are removed.
    sweep_at: usize,
}

#[derive(Debug)]
struct Host {
    semaphore: Arc<Semaphore>,
    /// The time at which the budget is full again. A time in the past means a full budget; each request adds
    /// one interval.
    refilled_at: Instant,
}

/// Permission to send requests to one host. Dropping it releases the host.
#[derive(Debug)]
pub struct HostPermit {
    host: String,
    _permit: OwnedSemaphorePermit,
}

impl HostPermit {
    /// Whether the permit is for this host.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        self.host.eq_ignore_ascii_case(host)
    }
}

/// The host is busy; retry after this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("host is busy, retry in {} s", .0.as_secs())]
pub struct RetryLater(pub Duration);

impl HostLimiter {
    /// A limiter with this budget and one connection for every host.
    #[must_use]
    pub fn new(budget: HostBudget) -> HostLimiter {
        HostLimiter::with_connections(budget, 1)
    }

    /// A limiter with this budget and this many concurrent connections for every host.
    #[must_use]
    pub fn with_connections(budget: HostBudget, connections: usize) -> HostLimiter {
        let table = Mutex::new(Table { hosts: HashMap::new(), sweep_at: MIN_SWEEP_SIZE });
        HostLimiter { budget, connections, table }
    }

    /// Waits for a permit, first come, first served.
    pub async fn enter(&self, host: &str) -> HostPermit {
        let permit = loop {
            // The semaphore is never closed, so the first attempt succeeds.
            if let Ok(permit) = self.semaphore(host).acquire_owned().await {
                break permit;
            }
        };
        while let Err(RetryLater(wait)) = self.spend(host) {
            sleep(wait).await;
        }
        HostPermit { host: host.to_owned(), _permit: permit }
    }

    /// A permit if the host is free, otherwise the time after which to retry. Does not wait.
    pub fn try_enter(&self, host: &str) -> Result<HostPermit, RetryLater> {
        let permit = self.semaphore(host).try_acquire_owned().map_err(|_| RetryLater(BUSY_RETRY))?;
        self.spend(host)?;
        Ok(HostPermit { host: host.to_owned(), _permit: permit })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn semaphore(&self, host: &str) -> Arc<Semaphore> {
        let mut table = self.table();
        table.remove_idle();
        table.host(host, self.connections).semaphore.clone()
    }

    /// Spends one request of the budget.
    fn spend(&self, host: &str) -> Result<(), RetryLater> {
        let now = Instant::now();
        let mut table = self.table();
        let host = table.host(host, self.connections);
        let burst_time = self.budget.every.saturating_mul(self.budget.burst.saturating_sub(1));
        let debt = host.refilled_at.saturating_duration_since(now);
        if debt > burst_time {
            return Err(RetryLater(debt.saturating_sub(burst_time)));
        }
        host.refilled_at = host.refilled_at.max(now) + self.budget.every;
        Ok(())
    }
}

impl Table {
    fn host(&mut self, name: &str, connections: usize) -> &mut Host {
        let new = || Host { semaphore: Arc::new(Semaphore::new(connections)), refilled_at: Instant::now() };
        self.hosts.entry(name.to_ascii_lowercase()).or_insert_with(new)
    }

    /// Runs only when the number of hosts has doubled since the last time, so the amortised cost is small.
    fn remove_idle(&mut self) {
        if self.hosts.len() < self.sweep_at {
            return;
        }
        let now = Instant::now();
        // A holder of a permit, and a waiting task, has a reference to the semaphore.
        self.hosts.retain(|_, host| Arc::strong_count(&host.semaphore) > 1 || host.refilled_at > now);
        self.sweep_at = (self.hosts.len() * 2).max(MIN_SWEEP_SIZE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn idle_hosts_are_removed() {
        let hosts = HostLimiter::new(HostBudget { burst: 3, every: Duration::from_secs(10) });
        let held = hosts.try_enter("held.example").unwrap();
        for round in 0..20 {
            for host in 0..1_000 {
                assert!(hosts.try_enter(&format!("{round}-{host}.example")).is_ok());
            }
            advance(Duration::from_secs(60)).await;
        }
        let remembered = hosts.table().hosts.len();
        assert!(remembered <= 2 * MIN_SWEEP_SIZE, "{remembered}");
        assert!(hosts.try_enter("held.example").is_err(), "a host with a connection is kept");
        drop(held);
    }
}
