//! The gate before other people's servers: one connection to a host at a time, and not too many in a row.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// Below this number of hosts nobody looks which of them are idle.
const FEW_HOSTS: usize = 1_024;
/// When to try again at a host that somebody else is asking.
const SOON: Duration = Duration::from_secs(2);

/// How many requests a host gets.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// How many in a row, after a rest.
    pub burst: u32,
    /// How long a host rests for each one more.
    pub every: Duration,
}

/// Who is asked at the moment, and who was lately. Hosts that had their rest are forgotten.
#[derive(Debug)]
pub struct Hosts {
    budget: Budget,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    hosts: HashMap<String, Host>,
    /// How many there may be before the idle ones are looked for.
    sweep_at: usize,
}

#[derive(Debug)]
struct Host {
    gate: Arc<Semaphore>,
    /// When the host has had its rest from all requests so far. A time in the past is a full budget; each request moves
    /// it on by one share.
    rested: Instant,
}

/// The right to ask one host. It is given back when it is dropped.
#[derive(Debug)]
pub struct Turn {
    host: String,
    _permit: OwnedSemaphorePermit,
}

impl Turn {
    /// Whether it is that host's.
    pub(crate) fn is_at(&self, host: &str) -> bool {
        self.host.eq_ignore_ascii_case(host)
    }
}

/// Not now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this host is asked again in {} s", .0.as_secs())]
pub struct Later(pub Duration);

impl Hosts {
    /// A gate where every host gets that budget.
    #[must_use]
    pub fn new(budget: Budget) -> Hosts {
        Hosts { budget, table: Mutex::new(Table { hosts: HashMap::new(), sweep_at: FEW_HOSTS }) }
    }

    /// Waits until it is one's turn. Who came first goes first.
    pub async fn enter(&self, host: &str) -> Turn {
        let permit = loop {
            // Nobody closes a gate, so the first round is the last.
            if let Ok(permit) = self.gate(host).acquire_owned().await {
                break permit;
            }
        };
        while let Err(Later(wait)) = self.spend(host) {
            sleep(wait).await;
        }
        Turn { host: host.to_owned(), _permit: permit }
    }

    /// The turn if it is free, or when it is worth another try. For who has other things to do meanwhile.
    pub fn try_enter(&self, host: &str) -> Result<Turn, Later> {
        let permit = self.gate(host).try_acquire_owned().map_err(|_| Later(SOON))?;
        self.spend(host)?;
        Ok(Turn { host: host.to_owned(), _permit: permit })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gate(&self, host: &str) -> Arc<Semaphore> {
        let mut table = self.table();
        table.forget_idle();
        table.host(host).gate.clone()
    }

    /// Takes one share of the budget.
    fn spend(&self, host: &str) -> Result<(), Later> {
        let now = Instant::now();
        let mut table = self.table();
        let host = table.host(host);
        let in_advance = self.budget.every.saturating_mul(self.budget.burst.saturating_sub(1));
        let debt = host.rested.saturating_duration_since(now);
        if debt > in_advance {
            return Err(Later(debt.saturating_sub(in_advance)));
        }
        host.rested = host.rested.max(now) + self.budget.every;
        Ok(())
    }
}

impl Table {
    fn host(&mut self, name: &str) -> &mut Host {
        let new = || Host { gate: Arc::new(Semaphore::new(1)), rested: Instant::now() };
        self.hosts.entry(name.to_ascii_lowercase()).or_insert_with(new)
    }

    /// Looked for only when there are twice as many hosts as were in use the last time, so that it costs nothing much.
    fn forget_idle(&mut self) {
        if self.hosts.len() < self.sweep_at {
            return;
        }
        let now = Instant::now();
        // Who holds or waits for a turn has the gate as well.
        self.hosts.retain(|_, host| Arc::strong_count(&host.gate) > 1 || host.rested > now);
        self.sweep_at = (self.hosts.len() * 2).max(FEW_HOSTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn idle_hosts_are_forgotten() {
        let hosts = Hosts::new(Budget { burst: 3, every: Duration::from_secs(10) });
        let held = hosts.try_enter("held.example").unwrap();
        for round in 0..20 {
            for host in 0..1_000 {
                assert!(hosts.try_enter(&format!("{round}-{host}.example")).is_ok());
            }
            advance(Duration::from_secs(60)).await;
        }
        let remembered = hosts.table().hosts.len();
        assert!(remembered <= 2 * FEW_HOSTS, "{remembered}");
        assert!(hosts.try_enter("held.example").is_err(), "who is asked is not forgotten");
        drop(held);
    }
}
