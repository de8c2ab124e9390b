//! The requests that a process has under way, in two pools. A hook that fails, or whose receiver took long, waits in the
//! pool of slow ones. A request that turns out to be slow moves there too, as far as there is room. So slow receivers
//! hold up each other, not the rest.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Concurrent requests of each pool.
const SIZE: usize = 128;
/// Concurrent reads of collections.
const READS: usize = 16;
/// A request that takes longer is slow.
pub(super) const SLOW: Duration = Duration::from_secs(1);

/// The pools of a process.
pub(super) struct Pools {
    swift: Arc<Semaphore>,
    slow: Arc<Semaphore>,
    pub(super) reads: Semaphore,
}

impl Pools {
    pub(super) fn new() -> Pools {
        let pool = || Arc::new(Semaphore::new(SIZE));
        Pools { swift: pool(), slow: pool(), reads: Semaphore::new(READS) }
    }

    /// Whether swift requests have to wait.
    pub(super) fn is_full(&self) -> bool {
        self.swift.available_permits() == 0
    }

    /// Waits for a permit. `None`: the pools are never closed, so this does not happen.
    async fn enter(&self, slow: bool) -> Option<OwnedSemaphorePermit> {
        let pool = if slow { &self.slow } else { &self.swift };
        Arc::clone(pool).acquire_owned().await.ok()
    }

    /// Runs a request within the pools, and says whether it was slow.
    pub(super) async fn run<T>(&self, slow: bool, request: impl Future<Output = T>) -> (T, bool) {
        let mut permit = self.enter(slow).await;
        tokio::pin!(request);
        tokio::select! {
            done = &mut request => return (done, false),
            () = tokio::time::sleep(SLOW) => {}
        }
        if !slow && let Ok(room) = Arc::clone(&self.slow).try_acquire_owned() {
            permit = Some(room);
        }
        let done = request.await;
        drop(permit);
        (done, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn slow_requests_leave_room_for_others() {
        let pools = Arc::new(Pools::new());
        for _ in 0..SIZE {
            let pools = Arc::clone(&pools);
            tokio::spawn(async move { pools.run(false, tokio::time::sleep(SLOW * 15)).await });
        }
        tokio::time::sleep(SLOW / 2).await;
        assert!(pools.is_full());
        tokio::time::sleep(SLOW).await;
        assert!(!pools.is_full(), "the slow ones have moved");
        let started = tokio::time::Instant::now();
        assert!(!pools.run(false, async {}).await.1);
        assert_eq!(started.elapsed(), Duration::ZERO);
        pools.run(true, async {}).await;
        assert!(started.elapsed() >= SLOW * 10, "it waited");
    }
}
