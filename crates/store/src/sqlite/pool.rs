//! Connections for reading, lent one at a time.

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

    /// Runs `work` right here. For what takes microseconds: handing it to another thread would cost more than
    /// that.
    pub(super) async fn inline<T>(&self, work: impl FnOnce(&Connection) -> Result<T> + Send) -> Result<T> {
        let _permit = self.free.acquire().await.map_err(|_| closed())?;
        self.lend(work)
    }

    /// Runs `work` on a thread that may block. For what takes milliseconds or more.
    pub(super) async fn aside<T: Send + 'static>(
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
        // Popping and pushing leave nothing half done.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings the connection back, also when the work panics.
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

/// Runs `work` so that all its statements see one moment, and the lock is taken once for all of them.
pub(super) fn at_one_moment<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let result = work();
    connection.prepare_cached("COMMIT")?.execute([])?;
    result
}

fn closed() -> StoreError {
    StoreError::Unavailable("no connection".to_owned())
}
