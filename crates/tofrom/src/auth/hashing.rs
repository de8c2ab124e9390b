//! Checking and hashing passwords without hurting anybody else: off the request threads, few at once, in a queue that
//! networks share fairly.

use super::password::{self, PasswordError};
use super::queue::{FairQueue, Full, Limits};
use crate::network::network_of;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroizing;

/// Each hash that runs takes a core and 19 MiB. Of one network half a second's worth waits.
const LIMITS: Limits = Limits { running: 2, per_network: 64, networks: 1_024 };

/// What a password is checked against where there is no hash, so that an account that can't sign in costs what one
/// does that can. It opens nothing, whatever its password may be.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$IoSmvYihdBmZAKWvUY8+tQ$4lDkYvnLzXtjR36QL1OUUF+f2TAO0EpyXTBHUYioSYQ";

/// Too many passwords of the network wait already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy;

/// Checks passwords.
pub(super) struct Hashing {
    queue: Arc<FairQueue>,
    computed: AtomicU64,
}

impl Hashing {
    pub(super) fn new() -> Hashing {
        Hashing { queue: FairQueue::new(LIMITS), computed: AtomicU64::new(0) }
    }

    /// Whether that is the password to the stored hash. Without one it never is, and finding out takes as long.
    pub(super) async fn is_right(
        &self,
        password: &str,
        stored: Option<&str>,
        remote: IpAddr,
    ) -> Result<bool, Busy> {
        let (password, exists) = (Zeroizing::new(password.to_owned()), stored.is_some());
        let hash = stored.unwrap_or(NOBODYS).to_owned();
        Ok(self.in_turn(remote, move || password::verify(&password, &hash)).await? && exists)
    }

    /// The hash to store for a password that is set for an account with these names, if it may be set.
    pub(super) async fn hash_checked(
        &self,
        password: &str,
        names: &[&str],
        remote: IpAddr,
    ) -> Result<Result<String, PasswordError>, Busy> {
        let password = Zeroizing::new(password.to_owned());
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.in_turn(remote, move || {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            password::hash_checked(&password, &names)
        })
        .await
    }

    /// The hash with the present parameters of a password that opens the stored hash.
    pub(super) async fn rehash(
        &self,
        password: &str,
        stored: &str,
        remote: IpAddr,
    ) -> Result<Result<String, PasswordError>, Busy> {
        let (password, stored) = (Zeroizing::new(password.to_owned()), stored.to_owned());
        self.in_turn(remote, move || password::rehash(&password, &stored)).await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        remote: IpAddr,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let turn = self.queue.turn(network_of(remote)).await.map_err(|Full| Busy)?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        let done = tokio::task::spawn_blocking(move || {
            // Held here and not by the request: when the client goes away, the work goes on.
            let _held = turn;
            work()
        });
        // It fails only where the runtime is shutting down.
        done.await.map_err(|_| Busy)
    }

    /// How many passwords were hashed.
    pub(super) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    #[tokio::test]
    async fn no_hash_is_never_right_and_costs_one_too() {
        let hashing = Hashing::new();
        let stored = password::hash("secret").unwrap();
        assert!(hashing.is_right("secret", Some(&stored), HERE).await.unwrap());
        assert!(!hashing.is_right("wrong", Some(&stored), HERE).await.unwrap());
        assert!(!hashing.is_right("secret", None, HERE).await.unwrap());
        assert_eq!(hashing.computed(), 3);
    }

    #[test]
    fn nobodys_hash_costs_what_a_new_one_costs() {
        let cost = |hash: &str| hash.rsplitn(3, '$').last().map(str::to_owned);
        let hashed = password::hash("secret").unwrap();
        assert_eq!((cost(NOBODYS), NOBODYS.len()), (cost(&hashed), hashed.len()));
        assert!(argon2::password_hash::phc::PasswordHash::new(NOBODYS).is_ok());
    }
}
