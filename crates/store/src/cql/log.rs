//! The log of a cluster: JetStream in front, and in the tables what was begun, what waits and what was given up.
//!
//! A message carries everything that it takes to finish what it tells of, and the same is stored in `pending` before it
//! is sent. So it does not matter where whoever began it stopped: a worker that takes the message puts the rest in
//! position before it does the work, and what never reached the log is found in `pending`.

use super::db::offset;
use super::message::{Intent, IntentKey, Message, follows, next_id};
use super::{CqlStore, Db, Outcome, Query, together};
use crate::jetstream::{Epochs, JetStream, Servers};
use crate::{Backlog, DeadLetter, Log, Result, StoreError, Task, Work};
use async_trait::async_trait;
use model::{Dormancy, Millis, Position};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// In how many parts what was begun in a minute is stored.
pub(super) const SHARDS: u64 = 4;
/// How much of the time that is past is looked through for tasks that have become due, and in which portions.
const SLOT: i64 = 10 * 60 * 1_000;
const SLOTS: i64 = 3;
/// How many that became due are put into the log at once.
const DUE_AT_ONCE: i32 = 500;

const NOTE: Query = Query::write("INSERT INTO feed.intent (minute, shard, id, message) VALUES (?, ?, ?, ?)");
const NOTED: Query = Query::read("SELECT message FROM feed.intent WHERE minute = ? AND shard = ? AND id = ?");
const DONE: Query =
    Query::write("UPDATE feed.intent SET done = true WHERE minute = ? AND shard = ? AND id = ?");
const UNDONE: Query =
    Query::write("UPDATE feed.intent SET done = false WHERE minute = ? AND shard = ? AND id = ?");
const PROGRESS: Query =
    Query::write("UPDATE feed.intent SET progress_ms = ? WHERE minute = ? AND shard = ? AND id = ?");

const WAIT: Query =
    Query::write("INSERT INTO feed.waiting (slot, not_before_ms, id, message) VALUES (?, ?, ?, ?)");
const DUE: Query = Query::read(
    "SELECT not_before_ms, id, message FROM feed.waiting WHERE slot = ? AND not_before_ms <= ? LIMIT ?",
);
const CAME_DUE: Query =
    Query::write("DELETE FROM feed.waiting WHERE slot = ? AND not_before_ms = ? AND id = ?");

const BURY: Query = Query::write(
    "INSERT INTO feed.dead_letter (shard, number, message, attempts, why, at_ms) VALUES (0, ?, ?, ?, ?, ?)",
);
const LETTERS: Query = Query::read(
    "SELECT number, message, attempts, why, at_ms FROM feed.dead_letter
     WHERE shard = 0 AND number > ? ORDER BY number LIMIT ?",
);
const LETTER: Query = Query::read("SELECT message FROM feed.dead_letter WHERE shard = 0 AND number = ?");
const REPLAYED: Query = Query::write("DELETE FROM feed.dead_letter WHERE shard = 0 AND number = ?");

const EPOCH: Query = Query::serial("SELECT fence, op FROM ident.lease WHERE name = ?");
const FIRST_EPOCH: Query =
    Query::conditional("INSERT INTO ident.lease (name, fence, op) VALUES (?, ?, ?) IF NOT EXISTS");
const NEXT_EPOCH: Query =
    Query::conditional("UPDATE ident.lease SET fence = ?, op = ? WHERE name = ? IF fence = ?");

/// Something that was begun and stored.
pub(super) struct StoredIntent {
    pub(super) message: Message,
    key: IntentKey,
    bytes: Vec<u8>,
}

pub(super) async fn connect(db: &Arc<Db>, servers: &Servers) -> Result<JetStream> {
    JetStream::connect(servers, Arc::new(counter(db, &servers.stream))).await
}

fn counter(db: &Arc<Db>, stream: &str) -> Counter {
    Counter { db: Arc::clone(db), name: format!("log {stream}") }
}

/// Counts epochs in a row of the database.
struct Counter {
    db: Arc<Db>,
    name: String,
}

impl Counter {
    /// The next epoch that is given is a later one than this.
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
            _ => Err(StoreError::Unavailable("the log is being made by somebody else".to_owned())),
        }
    }
}

#[async_trait]
impl Epochs for Counter {
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
        Err(StoreError::Unavailable("the log is being made by somebody else".to_owned()))
    }
}

pub(super) fn shard(id: &str) -> i16 {
    i16::try_from(offset(id.as_bytes(), SHARDS)).unwrap_or(0)
}

impl CqlStore {
    /// Notes it, has it followed up by the log, and does it; when it returns, all of that is durable.
    pub(super) async fn follow_up(&self, what: Intent) -> Result<Position> {
        let stored = self.store_intent(Message::first(what)).await?;
        let position = self.publish(&stored).await?;
        self.intent(&stored.message, position).await?;
        Ok(position)
    }

    /// Notes what is about to be begun.
    pub(super) async fn store_intent(&self, message: Message) -> Result<StoredIntent> {
        let bytes = message.encode()?;
        let key = message.key.clone().ok_or_else(|| super::db::corrupt("a beginning without a name"))?;
        self.db.write(&NOTE, (key.minute, shard(&key.id), &key.id, &bytes)).await?;
        Ok(StoredIntent { message, key, bytes })
    }

    /// Notes that what was about to be begun was not.
    pub(super) async fn drop_intent(&self, stored: &StoredIntent) -> Result<()> {
        self.note_done(&stored.key).await
    }

    /// Puts what is stored into the log.
    pub(super) async fn publish(&self, stored: &StoredIntent) -> Result<Position> {
        self.log.publish(&stored.key.id, &stored.bytes).await
    }

    /// The same for many, in their order.
    pub(super) async fn publish_all(
        &self,
        stored: impl Iterator<Item = &StoredIntent>,
    ) -> Result<Vec<Position>> {
        let messages: Vec<(&str, &[u8])> =
            stored.map(|one| (one.key.id.as_str(), one.bytes.as_slice())).collect();
        self.log.publish_all(&messages).await
    }

    /// Finishes what was stored under that name, if it still is.
    pub(super) async fn finish(&self, key: &IntentKey) -> Result<()> {
        let row = self.db.row::<(Option<Vec<u8>>,)>(&NOTED, (key.minute, shard(&key.id), &key.id)).await?;
        let Some(bytes) = row.and_then(|(bytes,)| bytes) else { return Ok(()) };
        let stored = StoredIntent { message: Message::decode(&bytes)?, key: key.clone(), bytes };
        let position = self.publish(&stored).await?;
        self.intent(&stored.message, position).await
    }

    /// Puts in place what has to be there before the message's work is done.
    pub(super) async fn intent(&self, message: &Message, at: Position) -> Result<()> {
        match &message.intent {
            None => Ok(()),
            Some(Intent::Version(one)) => self.write_version(one, at).await,
            Some(Intent::Edge { follower, followee, edge }) => {
                self.write_edge(*follower, *followee, edge, at).await
            }
            // Refused where another change came first: then there is nothing to replay.
            Some(Intent::Account { account, before, op }) => {
                self.write_account(Some(*before), account, *op).await.map(drop)
            }
            Some(Intent::Removal { owner, id, received, version }) => {
                self.write_removal(*owner, *id, *received, *version).await
            }
            Some(Intent::Reactivate { uid, version, since, .. }) => {
                self.write_dormancy(*uid, *version, Dormancy::CatchingUp { since: *since }).await
            }
        }
    }

    /// The same for a message that a worker took: mostly it is all there.
    async fn ensure_taken(&self, message: &Message, at: Position) -> Result<()> {
        use crate::Graph;
        let there = match &message.intent {
            None => true,
            Some(Intent::Version(one)) => {
                let state = &one.activity.state;
                self.has_version(state.id, state.version).await?
            }
            Some(Intent::Edge { follower, followee, edge }) => {
                let present = self.edges(*follower, &[*followee]).await?.into_iter().flatten().next();
                present.is_some_and(|present| present.version >= edge.version)
            }
            Some(Intent::Account { account, .. }) => self.has_account(account).await?,
            Some(Intent::Removal { .. } | Intent::Reactivate { .. }) => false,
        };
        if there { Ok(()) } else { self.intent(message, at).await }
    }

    /// The log begins above `last`: anew, in an epoch that is, if it must. There must be nothing in it.
    pub(super) async fn begin_log_above(&self, last: Position) -> Result<()> {
        if last >= self.log.first() {
            counter(&self.db, self.log.stream()).raise(JetStream::epoch_of(last)).await?;
            self.log.begin_anew().await?;
        }
        self.note_beginning(self.log.first()).await
    }

    fn held(&self, at: Position) -> Option<Message> {
        self.log.holds(at).and_then(|bytes| Message::decode(&bytes).ok())
    }

    /// Notes that something is done for good.
    pub(super) async fn note_done(&self, key: &IntentKey) -> Result<()> {
        self.db.write(&DONE, (key.minute, shard(&key.id), &key.id)).await
    }

    /// Takes that back.
    async fn note_undone(&self, key: &IntentKey) -> Result<()> {
        self.db.write(&UNDONE, (key.minute, shard(&key.id), &key.id)).await
    }

    /// Notes that it was worked on at that time.
    pub(super) async fn note_progress(&self, key: &IntentKey, at: Millis) -> Result<()> {
        self.db.write(&PROGRESS, (at.0, key.minute, shard(&key.id), &key.id)).await
    }
}

pub(super) fn wall_clock() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Millis(i64::try_from(since).unwrap_or(0))
}

#[async_trait]
impl Log for CqlStore {
    async fn append(&self, work: &Work) -> Result<Position> {
        let (attempts, not_before) = (0, Millis(0));
        let message = Message { key: None, intent: None, work: work.clone(), attempts, not_before };
        self.log.publish(&Uuid::now_v7().to_string(), &message.encode()?).await
    }

    async fn floor(&self) -> Result<Position> {
        self.log.floor().await
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Task>> {
        let taken = self.log.take(limit).await?;
        let asked = taken.len();
        let looked_after = taken.into_iter().map(|(position, bytes)| async move {
            let Ok(message) = Message::decode(&bytes) else {
                // Of a later version of this service, which others may know.
                self.log.leave_to_others(position).await;
                return Ok(None);
            };
            match self.ensure_taken(&message, position).await {
                Ok(()) => {
                    let Message { work, attempts, not_before, .. } = message;
                    Ok(Some(Task { position, work, attempts, not_before }))
                }
                // It stays here, and one that can't be done must not keep the others from being done.
                Err(error) => {
                    tracing::warn!(%error, id = ?message.key, "what a task needs could not be put in offset");
                    Ok(None)
                }
            }
        });
        let tasks: Vec<Task> = together(looked_after).await?.into_iter().flatten().collect();
        if tasks.is_empty() && asked > 0 {
            return Err(StoreError::Unavailable("none of the log's tasks can be done now".to_owned()));
        }
        Ok(tasks)
    }

    async fn backlog(&self, most: usize) -> Result<Backlog> {
        // What is pending here is taken from the others, so that is not the way to ask.
        let backlog = self.log.backlog().await?;
        Ok(Backlog { tasks: backlog.tasks.min(most), ..backlog })
    }

    async fn acknowledge(&self, done: &[Position], next: &[Work]) -> Result<()> {
        let held: Vec<(Position, Message)> =
            done.iter().filter_map(|at| Some((*at, self.held(*at)?))).collect();
        let mut going_on = HashSet::new();
        for work in next {
            let before = held.iter().find(|(_, message)| follows(work, &message.work));
            let key = before.and_then(|(_, message)| message.key.as_ref());
            let Some(((_, message), key)) = before.zip(key) else {
                self.append(work).await?;
                continue;
            };
            self.log.publish(&next_id(key, work), &message.next(work.clone()).encode()?).await?;
            // By the clock of this process: it only says that what follows is in the log since about now.
            self.note_progress(key, wall_clock()).await?;
            going_on.insert(key.id.clone());
        }
        let ended = held.into_iter().filter_map(|(at, message)| Some((at, message.key?)));
        let ended: Vec<(Position, IntentKey)> =
            ended.filter(|(_, key)| !going_on.contains(&key.id)).collect();
        together(ended.iter().map(|(_, key)| self.note_done(key))).await?;
        let lost = self.log.acknowledge(done).await?;
        // They were delivered at a position of the lost log, which whoever watches may have passed: they are delivered anew.
        let undone = ended.iter().filter(|(at, _)| lost.contains(at));
        together(undone.map(|(_, key)| self.note_undone(key))).await.map(drop)
    }

    async fn requeue_due(&self, now: Millis) -> Result<()> {
        let last = now.0.div_euclid(SLOT);
        for slot in last - SLOTS + 1..=last {
            for (not_before, id, bytes) in
                self.db.rows::<(i64, String, Vec<u8>)>(&DUE, (slot, now.0, DUE_AT_ONCE)).await?
            {
                self.log.publish(&format!("w:{id}:{not_before}"), &bytes).await?;
                self.db.write(&CAME_DUE, (slot, not_before, &id)).await?;
            }
        }
        Ok(())
    }

    async fn sweep(&self, now: Millis) -> Result<usize> {
        self.sweep_once(now).await
    }

    async fn oldest(&self, now: Millis) -> Result<Position> {
        self.oldest_kept(now).await
    }

    async fn retry(&self, task: &Task, not_before: Millis) -> Result<()> {
        // Whoever acknowledged it meanwhile did what is to be done.
        let Some(message) = self.held(task.position) else { return Ok(()) };
        let work = task.work.moved_from(task.position);
        let again = Message { intent: None, work, attempts: task.attempts, not_before, ..message };
        let (slot, id) = (not_before.0.div_euclid(SLOT), task.position.0.to_string());
        self.db.write(&WAIT, (slot, not_before.0, id, again.encode()?)).await?;
        if let Some(key) = &again.key {
            self.note_progress(key, not_before).await?;
        }
        self.log.acknowledge(&[task.position]).await.map(drop)
    }

    async fn dead_letter(&self, task: &Task, why: &str, at: Millis) -> Result<()> {
        let Some(message) = self.held(task.position) else { return Ok(()) };
        let work = task.work.moved_from(task.position);
        let letter = Message { intent: None, work, attempts: 0, not_before: Millis(0), ..message };
        let number = at.0 << 20 | (task.position.0 & 0xf_ffff).cast_signed();
        let attempts = i32::try_from(task.attempts).unwrap_or(i32::MAX);
        self.db.write(&BURY, (number, letter.encode()?, attempts, why, at.0)).await?;
        // It is the operator's now.
        if let Some(key) = &letter.key {
            self.note_done(key).await?;
        }
        self.log.acknowledge(&[task.position]).await.map(drop)
    }

    async fn dead_letters(&self, after: Option<u64>, limit: usize) -> Result<Vec<DeadLetter>> {
        let after = after.map_or(-1, |number| i64::try_from(number).unwrap_or(i64::MAX));
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let rows = self.db.rows::<(i64, Vec<u8>, i32, String, i64)>(&LETTERS, (after, limit)).await?;
        rows.into_iter()
            .map(|(number, bytes, attempts, why, at)| {
                Ok(DeadLetter {
                    number: number.unsigned_abs(),
                    work: Message::decode(&bytes)?.work,
                    attempts: attempts.unsigned_abs(),
                    why,
                    at: Millis(at),
                })
            })
            .collect()
    }

    async fn replay(&self, number: u64) -> Result<bool> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let Some((bytes,)) = self.db.row::<(Vec<u8>,)>(&LETTER, (number,)).await? else { return Ok(false) };
        self.log.publish(&format!("l:{number}"), &bytes).await?;
        self.db.write(&REPLAYED, (number,)).await?;
        Ok(true)
    }
}
