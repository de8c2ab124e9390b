//! The one thread that writes.
//!
//! A commit waits for the disk, and that takes as long for five hundred jobs as for one: so whatever waits
//! when the thread comes back from a commit goes into the next one together. Each job of several statements
//! runs in a savepoint, so that one that fails takes back its own writes only. Nobody is answered before the
//! commit is through.

use super::facets::Facets;
use super::values::count;
use crate::{Result, StoreError};
use rusqlite::Connection;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The most jobs in one commit.
const GROUP: usize = 500;

/// How long nothing is written before the write-ahead log is moved into the database.
const IDLE: Duration = Duration::from_secs(2);

/// A handle to the thread; the last one dropped waits for it to end.
pub(super) struct Writer {
    jobs: Mutex<Option<Sender<Box<dyn Job>>>>,
    /// Bounds the queue: a caller waits here until there is room.
    room: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, facets: Arc<Facets>, queue: usize) -> Result<Writer> {
        let (jobs, queued) = channel();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || serve(connection, &facets, &queued))
            .map_err(|error| StoreError::Unavailable(format!("the writer's thread: {error}")))?;
        Ok(Writer {
            jobs: Mutex::new(Some(jobs)),
            room: Arc::new(Semaphore::new(queue.clamp(1, Semaphore::MAX_PERMITS))),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs `work` in a transaction and answers when it is durable.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.queue(move |connection| in_savepoint(connection, work)).await
    }

    /// The same for `work` that is one statement: that takes its own writes back if it fails.
    pub(super) async fn write_one<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.queue(work).await
    }

    async fn queue<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stopped = || StoreError::Unavailable("the writer has stopped".to_owned());
        let room = Arc::clone(&self.room).acquire_owned().await.map_err(|_| stopped())?;
        let (reply, answer) = oneshot::channel();
        let job = Work { work: Some(work), result: None, reply, _room: room };
        {
            let jobs = self.jobs.lock().map_err(|_| stopped())?;
            jobs.as_ref().and_then(|jobs| jobs.send(Box::new(job)).ok()).ok_or_else(stopped)?;
        }
        answer.await.map_err(|_| StoreError::Unknown("the writer stopped before it answered".to_owned()))?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.lock().map(|mut jobs| jobs.take()));
        if let Ok(Some(thread)) = self.thread.lock().map(|mut thread| thread.take()) {
            // It only panics if a job did, and whoever waits for that job has been told.
            let _ = thread.join();
        }
    }
}

/// What became of a group's transaction.
enum Outcome {
    Committed,
    /// It is certain that nothing was written.
    Nothing(String),
    /// The commit failed, and the disk may hold it nevertheless.
    Unknown(String),
}

trait Job: Send {
    /// Does the work inside the group's transaction and keeps the result.
    fn run(&mut self, connection: &Connection);
    /// Tells who waits.
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
            // What failed by itself was taken back by itself, whatever became of the others.
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(done)), Outcome::Committed) => Ok(done),
            (_, Outcome::Unknown(why)) => Err(StoreError::Unknown(why.clone())),
            (_, Outcome::Nothing(why)) => Err(StoreError::Unavailable(why.clone())),
            (None, Outcome::Committed) => Err(StoreError::Unavailable("the job was not run".to_owned())),
        };
        // Who does not wait any more misses nothing.
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
            // Its writes can't be told from the others' any more: give the whole group up.
            let _ = run(connection, "ROLLBACK");
        }
    }
    result
}

fn serve(connection: Connection, facets: &Facets, queued: &Receiver<Box<dyn Job>>) {
    let mut unmoved = false;
    loop {
        let next = if unmoved {
            queued.recv_timeout(IDLE)
        } else {
            queued.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match next {
            Ok(first) => {
                let mut group = vec![first];
                group.extend(queued.try_iter().take(GROUP - 1));
                let outcome = commit(&connection, &mut group);
                if matches!(outcome, Outcome::Committed) {
                    // What is not learned now is looked up again.
                    let _ = facets.catch_up(&connection);
                }
                for job in group {
                    job.answer(&outcome);
                }
                unmoved = true;
            }
            Err(RecvTimeoutError::Timeout) => {
                move_log(&connection);
                unmoved = false;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    move_log(&connection);
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "closing the database");
    }
}

fn commit(connection: &Connection, group: &mut [Box<dyn Job>]) -> Outcome {
    if let Err(error) = run(connection, "BEGIN IMMEDIATE") {
        return Outcome::Nothing(error.to_string());
    }
    for job in group.iter_mut() {
        job.run(connection);
        // Some errors, a full disk among them, make SQLite take back the whole transaction.
        if connection.is_autocommit() {
            return Outcome::Nothing("a write beside this one failed and took it along".to_owned());
        }
    }
    match run(connection, "COMMIT") {
        Ok(()) => Outcome::Committed,
        Err(error) => {
            tracing::error!(%error, jobs = count(group.len()), "commit");
            if !connection.is_autocommit() {
                let _ = run(connection, "ROLLBACK");
            }
            Outcome::Unknown(error.to_string())
        }
    }
}

/// Moves the write-ahead log into the database and cuts it, unless somebody is reading it: nothing waits for
/// that.
fn move_log(connection: &Connection) {
    let moved = (|| {
        let patience: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
        connection.busy_timeout(Duration::ZERO)?;
        let result = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        connection.busy_timeout(Duration::from_millis(u64::try_from(patience).unwrap_or(0)))?;
        result
    })();
    if let Err(error) = moved {
        tracing::debug!(%error, "the write-ahead log stays for now");
    }
}

fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}
