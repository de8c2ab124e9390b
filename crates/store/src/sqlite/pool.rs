//! The pool of connections for reading.

use crate::{Result, StoreError};
use rusqlite::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) struct Pool {
    idle: Mutex<Vec<Connection>>,
    free: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new(connections: Vec<Connection>) -> Arc<Pool> {
        let free = Arc::new(Semaphore::new(connections.len()));
        Arc::new(Pool { idle: Mutex::new(connections), free })
    }

    /// Runs `work` on the calling thread. For reads of microseconds: handing them to another thread would cost more.
    pub(super) async fn inline<T>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send) -> Result<T> {
        let _permit = self.free.acquire().await.map_err(|_| closed())?;
        self.lend(work)
    }

    /// Runs `work` on a blocking thread. For reads of milliseconds or more.
    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Pool>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit: OwnedSemaphorePermit =
            Arc::clone(&self.free).acquire_owned().await.map_err(|_| closed())?;
        let pool = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            pool.lend(work)
        });
        done.await.map_err(|error| StoreError::Unavailable(error.to_string()))?
    }

    fn lend<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let lent = Lent { connection: self.idle().pop(), pool: self };
        work(lent.connection.as_ref().ok_or_else(closed)?)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // Push and pop cannot leave it inconsistent.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the connection to the pool, also if the work panics.
struct Lent<'a> {
    connection: Option<Connection>,
    pool: &'a Pool,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            if !connection.is_autocommit() {
                let _ = connection.execute_batch("ROLLBACK");
            }
            self.pool.idle().push(connection);
        }
    }
}

/// Runs `work` in a read transaction, so that all its statements see one snapshot and the lock is taken once.
pub(super) fn snapshot<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let result = work();
    connection.prepare_cached("COMMIT")?.execute([])?;
    result
}

fn closed() -> StoreError {
    StoreError::Unavailable("the connection pool is closed".to_owned())
}
