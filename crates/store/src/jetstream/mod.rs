//! A log in NATS JetStream: a work queue of messages in a stream of three replicas that syncs every write.
//!
//! A message's position is its number in the stream, with the stream's epoch before it. A stream that was lost and made
//! anew counts from one again, in the next epoch, so positions never go back. The epoch is part of the subject: who does
//! not know of the new stream yet can't publish into it under an old epoch.
//!
//! Taking a message out of the queue (`take`) does not remove it; it is held here until it is acknowledged, and others
//! get it when this process has not shown any progress for a while.

mod bound;
mod monitor;

use crate::{Backlog, Notice, Notices, Result, StoreError};
use async_nats::jetstream::context::{PublishAckFuture, PublishError};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, Context, Message};
use async_trait::async_trait;
use bound::{Bound, Fate};
use futures::{StreamExt, stream};
use model::Position;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How many bits of a position are the message's number; the others are the epoch.
const NUMBER_BITS: u32 = 44;
/// Before everything in the first epoch: what comes before is of another log.
pub(crate) const FIRST: Position = Position(1 << NUMBER_BITS);

/// How long a message may take to be stored.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How often storing it is tried; it has an identifier, so it is stored once.
const TRIES: usize = 5;
/// How many messages are taken in one request.
const FETCH_BATCH: usize = 500;
/// How long somebody waits for the next message when there is none.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// For how long a message that was given back is left to others.
const LEFT_FOR: Duration = Duration::from_secs(1);
/// How long a message is held at most; whoever is not done then has lost it.
const HELD_AT_MOST: Duration = Duration::from_secs(600);

/// Where the log is.
#[derive(Clone, Debug)]
pub struct Servers {
    /// Addresses, `host:port`.
    pub servers: Vec<String>,
    /// The monitors' addresses, `host:port`, to ask whether every write is synced.
    pub monitor: Vec<String>,
    /// The name of the stream.
    pub stream: String,
    /// How long a worker may show no progress before others get its tasks.
    pub ack_wait: Duration,
    /// How many bytes may wait before more are refused. A stream that is there already keeps what it has.
    pub most_bytes: i64,
}

/// Gives out the numbers of epochs, each once.
#[async_trait]
pub(crate) trait Epochs: Send + Sync {
    /// A number that is larger than all before.
    async fn next(&self) -> Result<u64>;
}

/// The log.
pub(crate) struct JetStream {
    context: Context,
    servers: Servers,
    epochs: Arc<dyn Epochs>,
    bound: RwLock<Arc<Bound>>,
    binding: tokio::sync::Mutex<()>,
    held: Arc<Mutex<BTreeMap<Position, Held>>>,
    taking: tokio::sync::Mutex<()>,
}

struct Held {
    message: Message,
    since: Instant,
}

impl JetStream {
    /// Connects, and makes the stream if there is none.
    pub(crate) async fn connect(servers: &Servers, epochs: Arc<dyn Epochs>) -> Result<JetStream> {
        let client = async_nats::ConnectOptions::new()
            .name("tofrom")
            // What this process tells it knows.
            .no_echo()
            .connection_timeout(TIMEOUT)
            .connect(&servers.servers)
            .await
            .map_err(|error| StoreError::Unavailable(format!("NATS: {error}")))?;
        let context = jetstream::ContextBuilder::new()
            .timeout(TIMEOUT)
            .ack_timeout(TIMEOUT)
            .max_ack_inflight(10_000)
            .backpressure_on_inflight(true)
            .build(client);
        let bound = Bound::find_or_make(&context, servers, epochs.as_ref()).await?;
        let held = Arc::default();
        tokio::spawn(show_progress(Arc::downgrade(&held), servers.ack_wait / 3));
        Ok(JetStream {
            context,
            servers: servers.clone(),
            epochs,
            bound: RwLock::new(Arc::new(bound)),
            binding: tokio::sync::Mutex::default(),
            held,
            taking: tokio::sync::Mutex::default(),
        })
    }

    /// Answers when the log can be asked.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.floor().await.map(drop)
    }

    fn bound(&self) -> Arc<Bound> {
        Arc::clone(&self.bound.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Finds the stream again, or makes a new one, unless somebody else here has done so since `old`.
    async fn bind_again(&self, old: &Arc<Bound>) -> Result<()> {
        let _one_at_a_time = self.binding.lock().await;
        if !Arc::ptr_eq(old, &self.bound()) {
            return Ok(());
        }
        let found = Bound::find_or_make(&self.context, &self.servers, self.epochs.as_ref()).await?;
        if found.epoch != old.epoch {
            tracing::warn!(epoch = found.epoch, "the log was lost and begins anew");
            self.held().clear();
        }
        *self.bound.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
        Ok(())
    }

    /// The name of the stream.
    pub(crate) fn stream(&self) -> &str {
        &self.servers.stream
    }

    /// The epoch that a position is of.
    pub(crate) fn epoch_of(position: Position) -> u64 {
        position.0 >> NUMBER_BITS
    }

    /// Before every position of the present stream.
    pub(crate) fn first(&self) -> Position {
        self.bound().position(0)
    }

    /// Throws the stream away and makes a new one, of the next epoch.
    pub(crate) async fn begin_anew(&self) -> Result<()> {
        let deleted = self.context.delete_stream(&self.servers.stream).await;
        deleted.map_err(|error| StoreError::Unavailable(format!("the log: {error}")))?;
        self.bind_again(&self.bound()).await
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Position, Held>> {
        // Nothing that is done under the lock can leave it half done.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a message under an identifier; gives its position, also if it was stored before under that identifier
    /// (as far back as the stream remembers identifiers).
    pub(crate) async fn publish(&self, id: &str, payload: &[u8]) -> Result<Position> {
        let mut why = String::new();
        for _ in 0..TRIES {
            let bound = self.bound();
            match self.try_publish(&bound, id, payload).await {
                Ok(position) => return Ok(position),
                Err(error) => {
                    why = error.to_string();
                    // Servers that are being elected answer soon, a stream that is retracted must be made.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    if let Err(error) = self.bind_again(&bound).await {
                        why = error.to_string();
                    }
                }
            }
        }
        Err(StoreError::Unknown(format!("the log did not take a message: {why}")))
    }

    /// Stores messages in their order.
    pub(crate) async fn publish_all(&self, messages: &[(&str, &[u8])]) -> Result<Vec<Position>> {
        let bound = self.bound();
        let mut sent = Vec::with_capacity(messages.len());
        for (id, payload) in messages {
            sent.push(self.send(&bound, id, payload).await);
        }
        let mut positions = Vec::with_capacity(messages.len());
        for (sent, (id, payload)) in sent.into_iter().zip(messages) {
            let stored = match sent {
                Ok(ack) => ack.await,
                Err(error) => Err(error),
            };
            positions.push(match stored {
                Ok(ack) => bound.position(ack.sequence),
                Err(_) => self.publish(id, payload).await?,
            });
        }
        Ok(positions)
    }

    async fn try_publish(
        &self,
        bound: &Bound,
        id: &str,
        payload: &[u8],
    ) -> std::result::Result<Position, PublishError> {
        let ack = self.send(bound, id, payload).await?.await?;
        Ok(bound.position(ack.sequence))
    }

    async fn send(
        &self,
        bound: &Bound,
        id: &str,
        payload: &[u8],
    ) -> std::result::Result<PublishAckFuture, PublishError> {
        let message = PublishMessage::build().payload(payload.to_vec().into()).message_id(id);
        self.context.send_publish(bound.subject.clone(), message).await
    }

    /// Tells the other processes; nobody makes sure that it arrives.
    pub(crate) async fn broadcast(&self, notice: &Notice) -> Result<()> {
        let client = self.context.client();
        let told = client.publish(self.notices(), notice.encode().into()).await;
        told.map_err(|error| StoreError::Unavailable(format!("NATS: {error}")))
    }

    /// What the other processes tell from now on.
    pub(crate) async fn subscribe(&self) -> Result<Notices> {
        let subscriber = self.context.client().subscribe(self.notices()).await;
        let mut told = subscriber.map_err(|error| StoreError::Unavailable(format!("NATS: {error}")))?;
        let (heard, notices) = tokio::sync::mpsc::channel(1_000);
        tokio::spawn(async move {
            while let Some(message) = told.next().await {
                if let Ok(Some(notice)) = Notice::decode(&message.payload)
                    && heard.send(notice).await.is_err()
                {
                    return;
                }
            }
        });
        Ok(notices)
    }

    fn notices(&self) -> String {
        format!("{}.notices", self.servers.stream)
    }

    /// Why what the log acknowledges might get lost: asks every monitor.
    pub(crate) async fn durability_warnings(&self) -> Vec<String> {
        if self.servers.monitor.is_empty() {
            return vec![
                "nats.monitor names nobody who could be asked whether JetStream syncs always".to_owned(),
            ];
        }
        let mut durability_warnings = Vec::new();
        for address in &self.servers.monitor {
            match monitor::syncs_always(address).await {
                Ok(true) => {}
                Ok(false) => durability_warnings.push(format!(
                    "the NATS server with the monitor {address} does not sync before it acknowledges; \
                     set sync_interval: always in its jetstream block"
                )),
                // Two of three are enough, and a server that is down acknowledges nothing.
                Err(error) => tracing::debug!(address, %error, "a monitor does not answer"),
            }
        }
        durability_warnings
    }

    /// Everything up to here was acknowledged.
    pub(crate) async fn floor(&self) -> Result<Position> {
        let bound = self.bound();
        match bound.consumer.get_info().await {
            Ok(info) => {
                let idle = info.num_pending == 0 && info.num_ack_pending == 0;
                let reached = if idle { info.delivered } else { info.ack_floor };
                Ok(bound.position(reached.stream_sequence))
            }
            Err(error) => {
                self.bind_again(&bound).await?;
                Err(StoreError::Unavailable(format!("the log: {error}")))
            }
        }
    }

    /// How many messages are in the log, and since when the oldest of them is.
    pub(crate) async fn backlog(&self) -> Result<Backlog> {
        self.bound().backlog(&self.context).await
    }

    /// Messages that are not acknowledged, oldest first: those that are held here, and others up to the limit.
    pub(crate) async fn take(&self, limit: usize) -> Result<Vec<(Position, Vec<u8>)>> {
        // What one caller is just being given must not be missing for another.
        let _one_at_a_time = self.taking.lock().await;
        let mut wanted = limit.saturating_sub(self.held().len());
        let mut waited = false;
        while wanted > 0 {
            let asked = wanted.min(FETCH_BATCH);
            let taken = self.take_more(asked, None).await?;
            wanted -= taken.min(wanted);
            if taken == 0 && !waited {
                // Not every server knows at once of what was just stored, and a worker need not ask again and again.
                waited = true;
                wanted -= self.take_more(1, Some(POLL_INTERVAL)).await?.min(wanted);
            } else if taken < asked {
                break;
            }
        }
        let held = self.held();
        Ok(held.iter().take(limit).map(|(at, held)| (*at, held.message.payload.to_vec())).collect())
    }

    /// Takes as many as there are, or waits so long for as many as are wanted.
    async fn take_more(&self, limit: usize, wait: Option<Duration>) -> Result<usize> {
        let bound = self.bound();
        let taken = self.take_from(&bound, limit, wait).await;
        if taken.is_err() {
            self.bind_again(&bound).await?;
        }
        taken
    }

    async fn take_from(&self, bound: &Bound, limit: usize, wait: Option<Duration>) -> Result<usize> {
        let unavailable = |error: String| StoreError::Unavailable(format!("the log: {error}"));
        let batch = match wait {
            None => bound.consumer.fetch().max_messages(limit).messages().await,
            Some(wait) => bound.consumer.batch().max_messages(limit).expires(wait).messages().await,
        };
        let batch = batch.map_err(|error| unavailable(error.to_string()))?;
        let mut taken = 0;
        let mut batch = std::pin::pin!(batch);
        while let Some(message) = batch.next().await {
            let message = message.map_err(|error| unavailable(error.to_string()))?;
            let number = message.info().map_err(|error| unavailable(error.to_string()))?.stream_sequence;
            self.held().insert(bound.position(number), Held { message, since: Instant::now() });
            taken += 1;
        }
        Ok(taken)
    }

    /// Gives a message back, so that another process gets it.
    pub(crate) async fn leave_to_others(&self, at: Position) {
        let held = self.held().remove(&at);
        if let Some(held) = held {
            // Without an answer it comes back by itself.
            let _ = held.message.ack_with(jetstream::AckKind::Nak(Some(LEFT_FOR))).await;
        }
    }

    /// What is held at that position.
    pub(crate) fn holds(&self, at: Position) -> Option<Vec<u8>> {
        self.held().get(&at).map(|held| held.message.payload.to_vec())
    }

    /// Removes messages from the queue. Those that are not held here are not this process's to remove. Gives back those
    /// whose log was lost meanwhile: nobody knows who was told of them.
    pub(crate) async fn acknowledge(&self, done: &[Position]) -> Result<Vec<Position>> {
        let done: BTreeSet<Position> = done.iter().copied().collect();
        let messages: Vec<(Position, Message)> = {
            let held = self.held();
            done.into_iter().filter_map(|at| Some((at, held.get(&at)?.message.clone()))).collect()
        };
        let answers = messages.into_iter().map(|(at, message)| async move {
            let answer = message.double_ack().await;
            (at, answer)
        });
        let answers: Vec<_> = stream::iter(answers).buffer_unordered(64).collect().await;
        let mut lost = Vec::new();
        for (at, answer) in answers {
            if let Err(error) = answer {
                // Whoever acknowledges what somebody else has acknowledged gets no answer.
                match self.bound().fate(&self.context, at).await? {
                    Fate::There => return Err(StoreError::Unknown(format!("the log: {error}"))),
                    Fate::Acknowledged => {}
                    Fate::Lost => lost.push(at),
                }
            }
            self.held().remove(&at);
        }
        Ok(lost)
    }
}

/// Says now and then that what is held is still being worked on, so that nobody else gets it.
async fn show_progress(held: std::sync::Weak<Mutex<BTreeMap<Position, Held>>>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(held) = held.upgrade() else { return };
        let messages: Vec<Message> = {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            held.retain(|_, one| one.since.elapsed() < HELD_AT_MOST);
            held.values().map(|one| one.message.clone()).collect()
        };
        for message in messages {
            let _ = message.ack_with(jetstream::AckKind::Progress).await;
        }
    }
}
