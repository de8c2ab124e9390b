//! Checking and hashing passwords without hurting anybody else: off the request threads, few at once, in a queue with an end.

use super::password::{self, PasswordError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

/// Each takes a core and 19 MiB.
const AT_ONCE: usize = 2;
/// How many are in work or wait: about a second's worth.
const QUEUE: usize = 128;

/// What a password is checked against where there is no hash, so that an account that can't sign in costs what one
/// does that can. It opens nothing, whatever its password may be.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$IoSmvYihdBmZAKWvUY8+tQ$4lDkYvnLzXtjR36QL1OUUF+f2TAO0EpyXTBHUYioSYQ";

/// Too many passwords wait already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy;

/// Checks passwords.
pub(super) struct Hashing {
    running: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    computed: AtomicU64,
}

impl Hashing {
    pub(super) fn new() -> Hashing {
        Hashing {
            running: Arc::new(Semaphore::new(AT_ONCE)),
            queue: Arc::new(Semaphore::new(QUEUE)),
            computed: AtomicU64::new(0),
        }
    }

    /// Whether that is the password to the stored hash. Without one it never is, and finding out takes as long.
    pub(super) async fn is_right(&self, password: &str, stored: Option<&str>) -> Result<bool, Busy> {
        let (password, exists) = (Zeroizing::new(password.to_owned()), stored.is_some());
        let hash = stored.unwrap_or(NOBODYS).to_owned();
        Ok(self.in_turn(move || password::verify(&password, &hash)).await? && exists)
    }

    /// The hash to store for a password.
    pub(super) async fn hash(&self, password: &str) -> Result<Result<String, PasswordError>, Busy> {
        let password = Zeroizing::new(password.to_owned());
        self.in_turn(move || password::hash(&password)).await
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Busy> {
        let place = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| Busy)?;
        let turn = Arc::clone(&self.running).acquire_owned().await.map_err(|_| Busy)?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        let done = tokio::task::spawn_blocking(move || {
            // Held here and not by the request: when the client goes away, the work goes on.
            let _held = (place, turn);
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

    #[tokio::test]
    async fn no_hash_is_never_right_and_costs_one_too() {
        let hashing = Hashing::new();
        let stored = password::hash("secret").unwrap();
        assert!(hashing.is_right("secret", Some(&stored)).await.unwrap());
        assert!(!hashing.is_right("wrong", Some(&stored)).await.unwrap());
        assert!(!hashing.is_right("secret", None).await.unwrap());
        assert_eq!(hashing.computed(), 3);
    }

    #[test]
    fn nobodys_hash_costs_what_a_new_one_costs() {
        let cost = |hash: &str| hash.rsplitn(3, '$').last().map(str::to_owned);
        let hashed = password::hash("secret").unwrap();
        assert_eq!((cost(NOBODYS), NOBODYS.len()), (cost(&hashed), hashed.len()));
        assert!(argon2::password_hash::phc::PasswordHash::new(NOBODYS).is_ok());
    }

    #[tokio::test]
    async fn the_queue_has_an_end() {
        let hashing = Hashing::new();
        let _full = hashing.queue.acquire_many(u32::try_from(QUEUE).unwrap()).await.unwrap();
        assert!(hashing.is_right("secret", None).await.is_err());
        assert_eq!(hashing.computed(), 0);
    }
}
