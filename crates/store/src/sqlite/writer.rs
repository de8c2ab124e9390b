//! The thread that executes all writes.
//!
//! A commit waits for the disk, which takes as long for five hundred jobs as for one. So all jobs that queue during a
//! commit share the next one. A job of several statements runs in a savepoint, so a failed job rolls back only its own
//! writes. No caller gets a result before the commit.

use super::changes::ChangeTable;
use super::facets::Facets;
use super::values::count;
use crate::{Result, StoreError};
use rusqlite::Connection;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The maximum number of jobs in one commit.
const MAX_GROUP: usize = 500;

/// How long the writer is idle before it checkpoints the write-ahead log.
const CHECKPOINT_DELAY: Duration = Duration::from_secs(2);

/// A handle to the thread. Dropping it waits for the thread to end.
pub(super) struct Writer {
    jobs: Mutex<Option<Sender<Command>>>,
    /// Bounds the queue: a caller waits here until there is room.
    room: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        facets: Arc<Facets>,
        changes: Arc<ChangeTable>,
        queue: usize,
    ) -> Result<Writer> {
        let (jobs, queued) = channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || serve(connection, &facets, &changes, &queued))
            .map_err(|error| StoreError::Unavailable(format!("cannot start the writer thread: {error}")))?;
        Ok(Writer {
            jobs: Mutex::new(Some(jobs)),
            room: Arc::new(Semaphore::new(queue.clamp(1, Semaphore::MAX_PERMITS))),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs `work` in a transaction and returns when it is durable.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_without_savepoint(move |connection| in_savepoint(connection, work)).await
    }

    /// The same without a savepoint, which copies every page before it is changed. For `work` of a single statement, and
    /// for writes that the caller repeats as a whole until they succeed: if one fails, those before it remain.
    pub(super) async fn write_without_savepoint<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let room = Arc::clone(&self.room).acquire_owned().await.map_err(|_| stopped())?;
        let (reply, answer) = oneshot::channel();
        let job = Work { work: Some(work), result: None, reply, _room: room };
        self.send(Command::Job(Box::new(job)))?;
        answer.await.map_err(|_| StoreError::Unknown("the writer stopped before the commit".to_owned()))?
    }

    /// Checkpoints and truncates the write-ahead log. `false`: a reader is using it.
    pub(super) async fn truncate_log(&self) -> Result<bool> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Truncate(reply))?;
        answer.await.map_err(|_| stopped())
    }

    fn send(&self, command: Command) -> Result<()> {
        let jobs = self.jobs.lock().map_err(|_| stopped())?;
        jobs.as_ref().and_then(|jobs| jobs.send(command).ok()).ok_or_else(stopped)
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the writer has stopped".to_owned())
}

/// A request to the thread.
enum Command {
    Job(Box<dyn Job>),
    Truncate(oneshot::Sender<bool>),
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.lock().map(|mut jobs| jobs.take()));
        if let Ok(Some(thread)) = self.thread.lock().map(|mut thread| thread.take()) {
            // It panics only if a job did, and the caller of that job got an error.
            let _ = thread.join();
        }
    }
}

/// The outcome of the transaction of a group.
enum Outcome {
    Committed,
    /// Nothing was written.
    RolledBack(String),
    /// The commit failed, and may be on the disk nevertheless.
    Unknown(String),
}

trait Job: Send {
    /// Executes the work in the transaction of the group and stores its result.
    fn run(&mut self, connection: &Connection);
    /// Sends the result to the caller.
    fn answer(self: Box<Self>, outcome: &Outcome);
}

struct Work<T, F> {
    work: Option<F>,
    result: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
    _room: OwnedSemaphorePermit,
}

impl<T: Send, F: FnOnce(&Connection) -> Result<T> + Send> Job for Work<T, F> {
    fn run(&mut self, connection: &Connection) {
        self.result = self.work.take().map(|work| work(connection));
    }

    fn answer(self: Box<Self>, outcome: &Outcome) {
        let answer = match (self.result, outcome) {
            // A failed job has rolled back its own writes, regardless of the group.
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(done)), Outcome::Committed) => Ok(done),
            (_, Outcome::Unknown(why)) => Err(StoreError::Unknown(why.clone())),
            (_, Outcome::RolledBack(why)) => Err(StoreError::Unavailable(why.clone())),
            (None, Outcome::Committed) => Err(StoreError::Unavailable("the job was not run".to_owned())),
        };
        // The caller may have stopped waiting.
        let _ = self.reply.send(answer);
    }
}

fn in_savepoint<T>(connection: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    run(connection, "SAVEPOINT job")?;
    let result =
        work(connection).and_then(|done| run(connection, "RELEASE job").map(|()| done).map_err(Into::into));
    if result.is_err() {
        let back = run(connection, "ROLLBACK TO job").and_then(|()| run(connection, "RELEASE job"));
        if back.is_err() && !connection.is_autocommit() {
            // Its writes cannot be separated from those of the other jobs: roll back the whole group.
            let _ = run(connection, "ROLLBACK");
        }
    }
    result
}

fn serve(connection: Connection, facets: &Facets, changes: &Arc<ChangeTable>, queued: &Receiver<Command>) {
    changes.attach();
    let mut checkpoint_due = false;
    loop {
        let next = if checkpoint_due {
            queued.recv_timeout(CHECKPOINT_DELAY)
        } else {
            queued.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match next {
            Ok(first) => {
                let (mut group, mut truncations) = (Vec::new(), Vec::new());
                for command in std::iter::once(first).chain(queued.try_iter().take(MAX_GROUP - 1)) {
                    match command {
                        Command::Job(job) => group.push(job),
                        Command::Truncate(reply) => truncations.push(reply),
                    }
                }
                let outcome = changes.around(&connection, || commit(&connection, &mut group));
                if matches!(outcome, Outcome::Committed) {
                    // A facet that is not cached now is looked up later.
                    let _ = facets.catch_up(&connection);
                }
                for job in group {
                    job.answer(&outcome);
                }
                checkpoint_due = true;
                if !truncations.is_empty() {
                    let truncated = changes.around(&connection, || checkpoint(&connection));
                    checkpoint_due = !truncated;
                    for reply in truncations {
                        // The caller may have stopped waiting.
                        let _ = reply.send(truncated);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                changes.around(&connection, || checkpoint(&connection));
                checkpoint_due = false;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    checkpoint(&connection);
    changes.stop();
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "closing the database failed");
    }
}

fn commit(connection: &Connection, group: &mut [Box<dyn Job>]) -> Outcome {
    if let Err(error) = run(connection, "BEGIN IMMEDIATE") {
        return Outcome::RolledBack(error.to_string());
    }
    for job in group.iter_mut() {
        job.run(connection);
        // Some errors, such as a full disk, make SQLite roll back the whole transaction.
        if connection.is_autocommit() {
            return Outcome::RolledBack("another write of the same transaction failed".to_owned());
        }
    }
    match run(connection, "COMMIT") {
        Ok(()) => Outcome::Committed,
        Err(error) => {
            tracing::error!(%error, jobs = count(group.len()), "commit failed");
            if !connection.is_autocommit() {
                let _ = run(connection, "ROLLBACK");
            }
            Outcome::Unknown(error.to_string())
        }
    }
}

/// Checkpoints and truncates the write-ahead log. `false`: a reader is using it. It never waits for a reader.
fn checkpoint(connection: &Connection) -> bool {
    let result = (|| {
        let busy_timeout: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
        connection.busy_timeout(Duration::ZERO)?;
        let result = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        connection.busy_timeout(Duration::from_millis(u64::try_from(busy_timeout).unwrap_or(0)))?;
        result
    })();
    match result {
        Ok(busy) => !busy,
        Err(error) => {
            tracing::debug!(%error, "checkpoint of the write-ahead log skipped");
            false
        }
    }
}

fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}
