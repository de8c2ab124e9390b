//! Checks and hashes passwords without delaying other requests: on blocking threads, with bounded concurrency, in a
//! queue that is fair between networks.

use super::password::{self, PasswordError};
use super::queue::{FairQueue, Full, Limits};
use model::network::network_of;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroizing;

/// A running hash takes a core and 19 MiB. Half a second's worth of hashes may wait per network.
const LIMITS: Limits = Limits { running: 2, per_network: 64, networks: 1_024 };

/// The hash that stands in for a missing one, so that the check takes as long as for an account with a password. The
/// result is ignored.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$IoSmvYihdBmZAKWvUY8+tQ$4lDkYvnLzXtjR36QL1OUUF+f2TAO0EpyXTBHUYioSYQ";

/// Too many passwords from this network are waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy;

/// Checks and hashes passwords.
pub(super) struct Hashing {
    queue: Arc<FairQueue>,
    computed: AtomicU64,
}

impl Hashing {
    pub(super) fn new() -> Hashing {
        Hashing { queue: FairQueue::new(LIMITS), computed: AtomicU64::new(0) }
    }

    /// Whether the password matches the stored hash. Without a hash it never does, after the same time.
    pub(super) async fn matches(
        &self,
        password: &str,
        stored: Option<&str>,
        remote: IpAddr,
    ) -> Result<bool, Busy> {
        let (password, exists) = (Zeroizing::new(password.to_owned()), stored.is_some());
        let hash = stored.unwrap_or(DUMMY_HASH).to_owned();
        Ok(self.run_queued(remote, move || password::verify(&password, &hash)).await? && exists)
    }

    /// The hash of a new password for an account with these names, if the password is acceptable.
    pub(super) async fn hash_checked(
        &self,
        password: &str,
        names: &[&str],
        remote: IpAddr,
    ) -> Result<Result<String, PasswordError>, Busy> {
        let password = Zeroizing::new(password.to_owned());
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.run_queued(remote, move || {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            password::hash_checked(&password, &names)
        })
        .await
    }

    /// A new hash with the current parameters, of a password that matches the stored hash.
    pub(super) async fn rehash(
        &self,
        password: &str,
        stored: &str,
        remote: IpAddr,
    ) -> Result<Result<String, PasswordError>, Busy> {
        let (password, stored) = (Zeroizing::new(password.to_owned()), stored.to_owned());
        self.run_queued(remote, move || password::rehash(&password, &stored)).await
    }

    async fn run_queued<T: Send + 'static>(
        &self,
        remote: IpAddr,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let turn = self.queue.turn(network_of(remote)).await.map_err(|Full| Busy)?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        let done = tokio::task::spawn_blocking(move || {
            // The turn is held here and not by the request: the work continues when the client disconnects.
            let _held = turn;
            work()
        });
        // Fails only during shutdown of the runtime.
        done.await.map_err(|_| Busy)
    }

    /// Number of passwords hashed.
    pub(super) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    #[tokio::test]
    async fn a_missing_hash_never_matches_and_costs_one_hash() {
        let hashing = Hashing::new();
        let stored = password::hash("secret").unwrap();
        assert!(hashing.matches("secret", Some(&stored), HERE).await.unwrap());
        assert!(!hashing.matches("wrong", Some(&stored), HERE).await.unwrap());
        assert!(!hashing.matches("secret", None, HERE).await.unwrap());
        assert_eq!(hashing.computed(), 3);
    }

    #[test]
    fn the_dummy_hash_costs_as_much_as_a_new_one() {
        let cost = |hash: &str| hash.rsplitn(3, '$').last().map(str::to_owned);
        let hashed = password::hash("secret").unwrap();
        assert_eq!((cost(DUMMY_HASH), DUMMY_HASH.len()), (cost(&hashed), hashed.len()));
        assert!(argon2::password_hash::phc::PasswordHash::new(DUMMY_HASH).is_ok());
    }
}
