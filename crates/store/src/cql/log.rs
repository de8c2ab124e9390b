//! The delivery log of a cluster: messages in JetStream, and a table of intents.
//!
//! An intent with everything that is needed to finish a write is stored before its message is published. So a write can
//! stop at any point: a worker that takes the message applies the rest of the intent before it executes the work, and a
//! sweep finds intents that never reached the log. The message itself only names the intent.

use super::db::hash_slot;
use super::expiry::INTENT_TTL;
use super::{CqlStore, Db, Outcome, Query, concurrently};
use crate::codec::Encoded;
use crate::jetstream::{DoneMessage, DoneTask, Epochs, FIRST, JetStream, Servers, wall_clock};
use crate::message::{Intent, IntentKey, Message, follows, next_id};
use crate::{Backlog, DeadLetter, Log, Result, StoreError, Task, TracedWork, Work, trace};
use async_trait::async_trait;
use model::{Dormancy, Millis, Position};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// The number of shards of the intents of one minute.
pub(super) const SHARDS: u64 = 4;
/// Intents are written with a timestamp that lies this many milliseconds back, so that what a process with a slower clock
/// writes about them later counts.
pub(super) const TIMESTAMP_MARGIN: i64 = 10 * 60 * 1_000;

/// With `done`, so that the sweep can select by it.
const PUT_INTENT: Query = Query::write(
    "INSERT INTO feed.intent (minute, shard, id, message, done) VALUES (?, ?, ?, ?, false) USING TIMESTAMP ? AND TTL ?",
);
const INTENT: Query =
    Query::read("SELECT message FROM feed.intent WHERE minute = ? AND shard = ? AND id = ?");
const DONE: Query =
    Query::write("UPDATE feed.intent SET done = true WHERE minute = ? AND shard = ? AND id = ?");
/// A done intent keeps no text.
const CLEAR: Query =
    Query::write("UPDATE feed.intent SET message = null WHERE minute = ? AND shard = ? AND id = ?");
const UNDONE: Query =
    Query::write("UPDATE feed.intent SET done = false WHERE minute = ? AND shard = ? AND id = ?");
const PROGRESS: Query =
    Query::write("UPDATE feed.intent SET progress_ms = ? WHERE minute = ? AND shard = ? AND id = ?");

const UNVERIFIED: &str = "the message does not verify: it was not published by this service, or with a key that is no \
                          longer in secret_keys";

const SAVED_FLOOR: Query = Query::read("SELECT position FROM feed.log_floor WHERE stream = ?");

const EPOCH: Query = Query::serial("SELECT fence, op FROM ident.lease WHERE name = ?");
const FIRST_EPOCH: Query =
    Query::conditional("INSERT INTO ident.lease (name, fence, op) VALUES (?, ?, ?) IF NOT EXISTS");
const NEXT_EPOCH: Query =
    Query::conditional("UPDATE ident.lease SET fence = ?, op = ? WHERE name = ? IF fence = ?");

/// An intent that is stored.
pub(super) struct StoredIntent {
    pub(super) intent: Intent,
    key: IntentKey,
    message: Vec<u8>,
}

impl StoredIntent {
    /// The task belongs to the trace of the current span.
    fn new(intent: Intent) -> StoredIntent {
        let message = Message::first(&intent, trace::current()).encoded();
        StoredIntent { key: intent.key(), message, intent }
    }
}

pub(super) async fn connect(db: &Arc<Db>, servers: &Servers) -> Result<Arc<JetStream>> {
    let saved = db.row::<(i64,)>(&SAVED_FLOOR, (&servers.stream,)).await?;
    let saved = saved.map_or(FIRST, |(position,)| Position(position.unsigned_abs()));
    JetStream::connect(servers, Arc::new(counter(db, &servers.stream)), saved).await
}

fn counter(db: &Arc<Db>, stream: &str) -> EpochCounter {
    EpochCounter { db: Arc::clone(db), name: format!("log {stream}") }
}

/// Allocates epochs in a row of the database.
struct EpochCounter {
    db: Arc<Db>,
    name: String,
}

impl EpochCounter {
    /// Makes the next epoch later than this one.
    async fn raise(&self, epoch: u64) -> Result<()> {
        let (db, name, op) = (&self.db, &self.name, Uuid::new_v4());
        let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
        let last = db.row::<(i64, Uuid)>(&EPOCH, (name,)).await?.map(|(fence, _)| fence);
        let outcome = match last {
            Some(last) if last >= epoch => return Ok(()),
            Some(last) => db.conditional(&NEXT_EPOCH, (epoch, op, name, last)).await?,
            None => db.conditional(&FIRST_EPOCH, (name, epoch, op)).await?,
        };
        match outcome {
            Outcome::Applied => Ok(()),
            _ => Err(StoreError::Unavailable("another process is creating the log stream".to_owned())),
        }
    }
}

#[async_trait]
impl Epochs for EpochCounter {
    async fn next(&self) -> Result<u64> {
        let (db, name, op) = (&self.db, &self.name, Uuid::new_v4());
        let last = db.row::<(i64, Uuid)>(&EPOCH, (name,)).await?.map(|(fence, _)| fence);
        let next = last.unwrap_or(0) + 1;
        let outcome = match last {
            None => db.conditional(&FIRST_EPOCH, (name, next, op)).await?,
            Some(last) => db.conditional(&NEXT_EPOCH, (next, op, name, last)).await?,
        };
        let mine = match outcome {
            Outcome::Applied => true,
            Outcome::Refused => false,
            Outcome::Unknown => db.row::<(i64, Uuid)>(&EPOCH, (name,)).await? == Some((next, op)),
        };
        if mine {
            return Ok(next.unsigned_abs());
        }
        Err(StoreError::Unavailable("another process is creating the log stream".to_owned()))
    }
}

pub(super) fn shard(id: &str) -> i16 {
    i16::try_from(hash_slot(id.as_bytes(), SHARDS)).unwrap_or(0)
}

impl CqlStore {
    /// Stores an intent, publishes its message and applies it. All of that is durable when this returns.
    pub(super) async fn commit_intent(&self, intent: Intent) -> Result<Position> {
        let stored = self.store_intent(intent).await?;
        let position = self.publish(&stored).await?;
        self.apply_intent(&stored.intent, position).await?;
        Ok(position)
    }

    /// Stores an intent, unless the log does not answer.
    pub(super) async fn store_intent(&self, intent: Intent) -> Result<StoredIntent> {
        self.log.demand_answers()?;
        let stored = StoredIntent::new(intent);
        let (key, bytes) = (&stored.key, stored.intent.encoded());
        let ttl = match &stored.intent {
            Intent::Version(accepted) => self.intent_ttl(accepted.activity.state.received),
            _ => INTENT_TTL,
        };
        let timestamp = (wall_clock().0 - TIMESTAMP_MARGIN) * 1_000;
        self.db.write(&PUT_INTENT, (key.minute, shard(&key.id), &key.id, &bytes, timestamp, ttl)).await?;
        Ok(stored)
    }

    /// Marks an intent as done that was not begun.
    pub(super) async fn drop_intent(&self, stored: &StoredIntent) -> Result<()> {
        self.mark_done(&stored.key).await?;
        self.clear_intent(&stored.key).await
    }

    /// Publishes the task of an intent.
    pub(super) async fn publish(&self, stored: &StoredIntent) -> Result<Position> {
        let positions = self.publish_all([stored].into_iter()).await?;
        positions.first().copied().ok_or_else(|| StoreError::Unknown("a task has no position".to_owned()))
    }

    /// Publishes the tasks of several intents, in order.
    pub(super) async fn publish_all(
        &self,
        stored: impl Iterator<Item = &StoredIntent>,
    ) -> Result<Vec<Position>> {
        let messages: Vec<(&str, &[u8])> =
            stored.map(|intent| (intent.key.id.as_str(), intent.message.as_slice())).collect();
        self.log.publish_grouped(&messages).await
    }

    /// The stored intent with this key, if there still is one.
    pub(super) async fn intent(&self, key: &IntentKey) -> Result<Option<Intent>> {
        let row = self.db.row::<(Option<Vec<u8>>,)>(&INTENT, (key.minute, shard(&key.id), &key.id)).await?;
        row.and_then(|(bytes,)| bytes).map(|bytes| Intent::decoded(&bytes)).transpose()
    }

    /// Finishes the intent with this key, if it is still stored. Its message is published under that identifier.
    pub(super) async fn finish_intent(&self, key: &IntentKey, id: &str) -> Result<()> {
        let Some(intent) = self.intent(key).await? else { return Ok(()) };
        let StoredIntent { intent, message, .. } = StoredIntent::new(intent);
        let position = self.log.publish(id, &message).await?;
        self.apply_intent(&intent, position).await
    }

    /// Applies an intent: writes everything that must exist before its work is executed.
    pub(super) async fn apply_intent(&self, intent: &Intent, at: Position) -> Result<()> {
        match intent {
            Intent::Version(accepted) => self.write_version(accepted, at).await,
            Intent::Edge { follower, followee, edge } => {
                self.write_edge(*follower, *followee, edge, at).await
            }
            Intent::EdgeFilter { follower, followee, version, filter } => {
                self.write_edge_filter(*follower, *followee, *version, filter).await
            }
            Intent::Decision { change, .. } => self.write_decision(change).await,
            // Refused if another update came first: then there is nothing to replay.
            Intent::Account { account, before, op } => {
                self.write_account(Some(*before), account, *op).await.map(drop)
            }
            Intent::Removal { owner, id, received, version } => {
                self.write_removal(*owner, *id, *received, *version).await
            }
            Intent::Reactivate { uid, version, since, .. } => {
                self.write_dormancy(*uid, *version, Dormancy::CatchingUp { since: *since }).await
            }
        }
    }

    /// Applies the intent of a message that a worker took. Usually everything is written already; for most messages
    /// the intent need not be read to know that.
    async fn ensure_applied(&self, message: &Message, at: Position) -> Result<()> {
        use crate::Graph;
        let Some(key) = message.key.as_ref().filter(|_| message.first) else { return Ok(()) };
        let is_applied = match &message.work {
            Work::Version { id, version, .. } => self.has_version(*id, *version).await?,
            Work::Edge { follower, followee, version, .. } => {
                let current = self.edges(*follower, &[*followee]).await?.into_iter().flatten().next();
                current.is_some_and(|current| current.version >= *version)
            }
            _ => false,
        };
        if is_applied {
            return Ok(());
        }
        match self.intent(key).await? {
            Some(Intent::Account { account, .. }) if self.has_account(&account).await? => Ok(()),
            Some(intent) => self.apply_intent(&intent, at).await,
            // It has expired: after two weeks there is nothing left to apply.
            None => Ok(()),
        }
    }

    /// Turns a message that does not verify into a dead letter without work. If it replaced a genuine one, the sweep
    /// finds the intent of that.
    async fn reject_message(&self, position: Position) -> Result<()> {
        tracing::error!(position = position.0, "{UNVERIFIED}");
        self.put_dead_letter(position, &[], 0, UNVERIFIED, wall_clock()).await?;
        self.leave_log(&[DoneTask { at: position, ends_intent: false }]).await
    }

    /// Removes tasks from the log. The tasks of a message leave it together, when all are done. Nothing is recorded
    /// before, so that all of them are executed again if the log is lost meanwhile.
    async fn leave_log(&self, done: &[DoneTask]) -> Result<()> {
        let finished = self.log.finish(done);
        let removed = self.remove_messages(&finished).await;
        if removed.is_err() {
            self.log.reopen(&finished);
        }
        removed
    }

    async fn remove_messages(&self, messages: &[DoneMessage]) -> Result<()> {
        let ended = messages.iter().flat_map(|message| {
            let keys = message.ended.iter().filter_map(|bytes| Message::decoded(bytes).ok()?.key);
            keys.map(|key| (message.first, key))
        });
        let ended: Vec<(Position, IntentKey)> = ended.collect();
        concurrently(ended.iter().map(|(_, key)| self.mark_done(key))).await?;
        let lost = self.log.acknowledge(messages).await?;
        // They were delivered at a position of the lost log, which readers may have passed: they must be delivered
        // again.
        let (undone, cleared): (Vec<_>, Vec<_>) = ended.iter().partition(|(at, _)| lost.contains(at));
        concurrently(undone.into_iter().map(|(_, key)| self.mark_undone(key))).await?;
        concurrently(cleared.into_iter().map(|(_, key)| self.clear_intent(key))).await.map(drop)
    }

    /// Begins the log above `last`, in a new epoch if necessary. The log must be empty.
    pub(super) async fn begin_log_above(&self, last: Position) -> Result<()> {
        if last >= self.log.first().await? {
            counter(&self.db, self.log.stream()).raise(JetStream::epoch_of(last)).await?;
            self.log.recreate().await?;
        }
        self.record_log_start(self.log.first().await?).await
    }

    /// Appends a task without an intent.
    async fn append_traced(&self, TracedWork { work, trace }: TracedWork) -> Result<Position> {
        let (attempts, not_before) = (0, Millis(0));
        let message = Message { key: None, first: false, work, trace, attempts, not_before };
        self.log.publish(&Uuid::now_v7().to_string(), &message.encoded()).await
    }

    fn held(&self, at: Position) -> Option<Message> {
        self.log.held_task(at).and_then(|bytes| Message::decoded(&bytes).ok())
    }

    /// Marks an intent as done.
    pub(super) async fn mark_done(&self, key: &IntentKey) -> Result<()> {
        self.db.write(&DONE, (key.minute, shard(&key.id), &key.id)).await
    }

    /// Deletes the content of an intent that is done for good.
    async fn clear_intent(&self, key: &IntentKey) -> Result<()> {
        self.db.write(&CLEAR, (key.minute, shard(&key.id), &key.id)).await
    }

    /// Reverts [`mark_done`](CqlStore::mark_done).
    async fn mark_undone(&self, key: &IntentKey) -> Result<()> {
        self.db.write(&UNDONE, (key.minute, shard(&key.id), &key.id)).await
    }

    /// Records the time of the last progress of an intent.
    pub(super) async fn record_progress(&self, key: &IntentKey, at: Millis) -> Result<()> {
        self.db.write(&PROGRESS, (at.0, key.minute, shard(&key.id), &key.id)).await
    }
}

#[async_trait]
impl Log for CqlStore {
    async fn append(&self, work: &Work) -> Result<Position> {
        self.append_traced(work.clone().in_trace(trace::current())).await
    }

    async fn floor(&self) -> Result<Position> {
        Ok(self.log.floor().await)
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Task>> {
        let taken = self.log.take(limit).await?;
        let (count, rejected) = (taken.len(), taken.iter().filter(|(_, payload)| payload.is_none()).count());
        let tasks = taken.into_iter().map(|(position, payload)| async move {
            let Some(bytes) = payload else {
                self.reject_message(position).await?;
                return Ok(None);
            };
            let Ok(message) = Message::decoded(&bytes) else {
                // From a node with a later version; other nodes may know it.
                self.log.return_to_queue(position).await;
                return Ok(None);
            };
            match self.ensure_applied(&message, position).await {
                Ok(()) => {
                    let Message { work, trace, attempts, not_before, .. } = message;
                    Ok(Some(Task { position, work, trace, attempts, not_before }))
                }
                // The message stays held. One failure must not stop the other tasks.
                Err(error) => {
                    tracing::warn!(%error, id = ?message.key, "applying the intent of a task failed");
                    Ok(None)
                }
            }
        });
        let tasks: Vec<Task> = concurrently(tasks).await?.into_iter().flatten().collect();
        if tasks.is_empty() && count > rejected {
            return Err(StoreError::Unavailable("no task of the log can be executed now".to_owned()));
        }
        Ok(tasks)
    }

    async fn backlog(&self, max: usize) -> Result<Backlog> {
        // `pending` would take tasks from other processes, so it cannot count them.
        let backlog = self.log.backlog().await?;
        Ok(Backlog { tasks: backlog.tasks.min(max), ..backlog })
    }

    async fn acknowledge(&self, done: &[Position], next: &[TracedWork]) -> Result<()> {
        let held: Vec<(Position, Message)> =
            done.iter().filter_map(|at| Some((*at, self.held(*at)?))).collect();
        let mut continued = HashSet::new();
        for next in next {
            let work = &next.work;
            let before = held.iter().find(|(_, message)| follows(work, &message.work));
            let key = before.and_then(|(_, message)| message.key.as_ref());
            let Some(((_, message), key)) = before.zip(key) else {
                self.append_traced(next.clone()).await?;
                continue;
            };
            self.log.publish(&next_id(key, work), &message.next(next.clone()).encoded()).await?;
            // By the clock of this process: it only records that the follow-up is in the log since about now.
            self.record_progress(key, wall_clock()).await?;
            continued.insert(key.id.clone());
        }
        let done = held.iter().map(|(at, message)| {
            let key = message.key.as_ref();
            DoneTask { at: *at, ends_intent: key.is_some_and(|key| !continued.contains(&key.id)) }
        });
        self.leave_log(&done.collect::<Vec<_>>()).await
    }

    async fn requeue_due(&self, now: Millis) -> Result<()> {
        self.publish_due(now).await
    }

    async fn sweep(&self, now: Millis) -> Result<usize> {
        self.sweep_once(now).await
    }

    async fn oldest(&self, now: Millis) -> Result<Position> {
        self.oldest_arrival(now).await
    }

    async fn retry(&self, task: &Task, not_before: Millis) -> Result<()> {
        // If it is no longer held, another process has acknowledged it.
        let Some(message) = self.held(task.position) else { return Ok(()) };
        let work = task.work.moved_from(task.position);
        let again = Message { first: false, work, attempts: task.attempts, not_before, ..message };
        self.put_retry(task.position, &again).await?;
        if let Some(key) = &again.key {
            self.record_progress(key, not_before).await?;
        }
        self.leave_log(&[DoneTask { at: task.position, ends_intent: false }]).await
    }

    async fn dead_letter(&self, task: &Task, error: &str, at: Millis) -> Result<()> {
        let Some(message) = self.held(task.position) else { return Ok(()) };
        let work = task.work.moved_from(task.position);
        let letter = Message { first: false, work, attempts: 0, not_before: Millis(0), ..message };
        self.put_dead_letter(task.position, &letter.encoded(), task.attempts, error, at).await?;
        // The sweep ignores it from now on: an operator decides.
        if let Some(key) = &letter.key {
            self.mark_done(key).await?;
        }
        self.leave_log(&[DoneTask { at: task.position, ends_intent: false }]).await
    }

    async fn dead_letters(&self, after: Option<u64>, limit: usize) -> Result<Vec<DeadLetter>> {
        self.list_dead_letters(after, limit).await
    }

    async fn replay(&self, number: u64) -> Result<bool> {
        self.replay_dead_letter(number).await
    }
}
