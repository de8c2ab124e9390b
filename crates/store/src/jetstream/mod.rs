//! The delivery log in NATS JetStream: a work queue in a stream with three replicas that syncs every write.
//!
//! The position of a task is the epoch of the stream, followed by the message's number in the stream and the task's number
//! in the message. A stream that was lost and created again counts from one in the next epoch, so positions never go back.
//! The epoch is part of the subject: a process that does not know the new stream yet cannot publish to it under an old
//! epoch.
//!
//! `take` does not remove a message. This process holds it until all its tasks are done; other
//! processes get it if this one reports no progress for `ack_wait`.
//!
//! While NATS does not answer, only writes fail: the floor is the last known one.

mod bound;
mod connect;
mod floor;
mod groups;
mod held;
mod keys;
mod limits;
mod liveness;
mod monitor;
mod notices;

pub(crate) use held::{DoneMessage, DoneTask, TakenTask};
pub use keys::MessageKeys;
pub use limits::apply_limits;

use crate::links::{ClientTls, NatsLogin};
use crate::trace::SPANS;
use crate::{Backlog, Notice, Notices, Result, StoreError, telemetry};
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, Context};
use async_trait::async_trait;
use bound::{Bound, MessageStatus};
use floor::Floor;
use futures::{StreamExt, stream};
use groups::GroupQueue;
use held::HeldMessages;
use liveness::Liveness;
use model::{Millis, Position};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::{Instrument, info_span};

/// Bits of a position below the epoch.
const NUMBER_BITS: u32 = 44;
/// The lowest of them are the number of the task in its message.
const TASK_BITS: u32 = 6;
/// Before every position of the first epoch. Earlier positions belong to another log.
pub(crate) const FIRST: Position = Position(1 << NUMBER_BITS);

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How long a read waits for the floor before it takes the last known one.
const FLOOR_TIMEOUT: Duration = Duration::from_millis(500);
/// How often the log is tried again while it does not answer.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Writes wait through the election of a leader. After this time without an answer they fail at once.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// Attempts to store a message. It has an identifier, so it is stored once.
const MAX_ATTEMPTS: usize = 5;
/// Messages per fetch request: with the tasks of more, this process would keep too much from others.
const FETCH_BATCH: usize = 32;
/// How long a fetch waits for a message if there is none.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Delay before a returned message is delivered again.
const REDELIVERY_DELAY: Duration = Duration::from_secs(1);

/// The NATS servers of the log, without `Debug`: an address may contain a password.
#[derive(Clone)]
pub struct Servers {
    /// Server addresses, `host:port`.
    pub servers: Vec<String>,
    /// Addresses of the monitoring endpoints, `host:port`, to check whether every write is synced.
    pub monitor: Vec<String>,
    /// The name of the stream.
    pub stream: String,
    /// How long a worker may report no progress before others get its tasks.
    pub ack_wait: Duration,
    /// The size of the stream beyond which messages are refused. An existing stream keeps its limit.
    pub max_bytes: i64,
    /// The number of replicas of the stream. An existing stream keeps its number.
    pub replicas: usize,
    /// The user of this process. `None`: the servers ask for none, or their addresses contain one.
    pub login: Option<NatsLogin>,
    /// The files for TLS. `None`: plaintext, or the machine's authorities for addresses with `tls://`.
    pub tls: Option<ClientTls>,
    /// How old the floor may be while NATS answers. Processes that deliver and read by turns in one test need zero.
    pub floor_max_age: Duration,
    /// The keys that authenticate messages, the same in all processes.
    pub keys: MessageKeys,
}

/// Allocates epoch numbers, each once.
#[async_trait]
pub(crate) trait Epochs: Send + Sync {
    /// A number larger than all earlier ones.
    async fn next(&self) -> Result<u64>;
}

/// The delivery log.
pub(crate) struct JetStream {
    context: Context,
    servers: Servers,
    epochs: Arc<dyn Epochs>,
    /// `None` until NATS answers for the first time.
    bound: RwLock<Option<Arc<Bound>>>,
    binding: tokio::sync::Mutex<()>,
    floor: Floor,
    floor_requests: AtomicU64,
    held: Arc<HeldMessages>,
    taking: tokio::sync::Mutex<()>,
    queue: GroupQueue,
    liveness: Liveness,
}

/// The last possible position in the message with this one.
fn end_of_message(position: Position) -> Position {
    Position(position.0 | ((1 << TASK_BITS) - 1))
}

impl JetStream {
    /// Connects, and creates the stream if it does not exist. If NATS does not answer, the floor is `saved` until it
    /// does.
    pub(crate) async fn connect(
        servers: &Servers,
        epochs: Arc<dyn Epochs>,
        saved: Position,
    ) -> Result<Arc<JetStream>> {
        let client = connect::connect(servers).await?;
        let context = jetstream::ContextBuilder::new()
            .timeout(TIMEOUT)
            .ack_timeout(TIMEOUT)
            .max_ack_inflight(10_000)
            .backpressure_on_inflight(true)
            .build(client);
        let floor = Floor::new(saved, servers.floor_max_age);
        let bound = match Bound::find_or_create(&context, servers, epochs.as_ref()).await {
            Ok(bound) => Some(Arc::new(bound)),
            Err(StoreError::Unavailable(error)) => {
                tracing::warn!(error, "the log does not answer: reads work, writes fail until it does");
                floor.no_answer();
                None
            }
            Err(error) => return Err(error),
        };
        let held = Arc::default();
        let (queue, queued) = groups::queue();
        tokio::spawn(show_progress(Arc::downgrade(&held), servers.ack_wait / 3));
        let log = Arc::new(JetStream {
            context,
            servers: servers.clone(),
            epochs,
            bound: RwLock::new(bound),
            binding: tokio::sync::Mutex::default(),
            floor,
            floor_requests: AtomicU64::new(0),
            held,
            taking: tokio::sync::Mutex::default(),
            queue,
            liveness: Liveness::default(),
        });
        tokio::spawn(await_return(Arc::downgrade(&log)));
        tokio::spawn(groups::publish_queued(Arc::downgrade(&log), queued));
        Ok(log)
    }

    /// The current stream. Finds or creates it if NATS did not answer before.
    async fn bound(&self) -> Result<Arc<Bound>> {
        match self.known_bound() {
            Some(bound) => Ok(bound),
            None => self.bind_again(None).await,
        }
    }

    fn known_bound(&self) -> Option<Arc<Bound>> {
        self.bound.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Finds or creates the stream again, unless another task of this process has done so since `old`.
    async fn bind_again(&self, old: Option<&Arc<Bound>>) -> Result<Arc<Bound>> {
        let _guard = self.binding.lock().await;
        match self.known_bound() {
            Some(known) if old.is_none_or(|old| !Arc::ptr_eq(old, &known)) => return Ok(known),
            _ => {}
        }
        let found = Bound::find_or_create(&self.context, &self.servers, self.epochs.as_ref()).await?;
        if old.is_some_and(|old| old.epoch != found.epoch) {
            tracing::warn!(epoch = found.epoch, "log stream lost and recreated");
            self.held.clear();
        }
        let found = Arc::new(found);
        *self.bound.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&found));
        Ok(found)
    }

    /// Fails if the log has not answered for a while. A write that calls this first leaves nothing unfinished.
    pub(crate) fn demand_answers(&self) -> Result<()> {
        if self.floor.is_away_for(WRITE_TIMEOUT) {
            return Err(StoreError::Unavailable("NATS JetStream does not answer".to_owned()));
        }
        Ok(())
    }

    /// The number of requests for the floor since the start.
    pub(crate) fn floor_requests(&self) -> u64 {
        self.floor_requests.load(Ordering::Relaxed)
    }

    /// The name of the stream.
    pub(crate) fn stream(&self) -> &str {
        &self.servers.stream
    }

    /// The epoch of a position.
    pub(crate) fn epoch_of(position: Position) -> u64 {
        position.0 >> NUMBER_BITS
    }

    /// Before every position of the current stream.
    pub(crate) async fn first(&self) -> Result<Position> {
        Ok(self.bound().await?.position(0))
    }

    /// Deletes the stream and creates a new one in the next epoch.
    pub(crate) async fn recreate(&self) -> Result<()> {
        let deleted = self.context.delete_stream(&self.servers.stream).await;
        deleted.map_err(|error| StoreError::Unavailable(format!("JetStream: {error}")))?;
        self.bind_again(self.known_bound().as_ref()).await.map(drop)
    }

    /// Stores a message and returns the position of its first task. A message with a known identifier is not stored again: the result
    /// is the position of the first one, if that is within the duplicate window.
    pub(crate) async fn publish(&self, id: &str, payload: &[u8]) -> Result<Position> {
        self.demand_answers()?;
        let mut last_error = String::new();
        for _ in 0..MAX_ATTEMPTS {
            let bound = self.bound().await?;
            match self.try_publish(&bound, id, payload).await {
                Ok(position) => return Ok(position),
                Err(error) => {
                    last_error = error.to_string();
                    // A leader election ends soon; a stream that is missing must be created.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    if let Err(error) = self.bind_again(Some(&bound)).await {
                        last_error = error.to_string();
                    }
                    if self.demand_answers().is_err() {
                        break;
                    }
                }
            }
        }
        Err(StoreError::Unknown(format!("JetStream did not store the message: {last_error}")))
    }

    /// Stores tasks in order, together with those of other callers, and returns their positions. `id` identifies the
    /// message of a task that is stored alone.
    pub(crate) async fn publish_grouped(&self, tasks: &[(&str, &[u8])]) -> Result<Vec<Position>> {
        self.demand_answers()?;
        let span =
            info_span!(target: SPANS, "publish", otel.kind = "producer", tofrom.tasks = tasks.len() as i64);
        groups::publish(&self.queue, tasks).instrument(span).await
    }

    async fn try_publish(
        &self,
        bound: &Bound,
        id: &str,
        payload: &[u8],
    ) -> std::result::Result<Position, PublishError> {
        let started = Instant::now();
        let stored = async { self.send(bound, id, payload).await?.await }.await;
        telemetry::published(started.elapsed(), stored.is_err());
        Ok(bound.position(stored?.sequence))
    }

    async fn send(
        &self,
        bound: &Bound,
        id: &str,
        payload: &[u8],
    ) -> std::result::Result<PublishAckFuture, PublishError> {
        let signed = self.servers.keys.sign(&bound.subject, payload);
        let signed = signed.ok_or_else(|| PublishError::with_source(PublishErrorKind::Other, NO_KEYS))?;
        let message = PublishMessage::build().payload(signed.into()).message_id(id);
        self.context.send_publish(bound.subject.clone(), message).await
    }

    /// Sends a notice to the other processes, without any guarantee.
    pub(crate) async fn broadcast(&self, notice: &Notice) -> Result<()> {
        let (client, subject) = (self.context.client(), self.notices());
        let signed = notices::signed(&self.servers.keys, &subject, notice, wall_clock());
        let signed = signed.ok_or_else(|| StoreError::Unavailable(NO_KEYS.to_owned()))?;
        let sent = client.publish(subject, signed.into()).await;
        sent.map_err(|error| StoreError::Unavailable(format!("NATS: {error}")))
    }

    /// Notices of other processes from now on.
    pub(crate) async fn subscribe(&self) -> Result<Notices> {
        let subscriber = self.context.client().subscribe(self.notices()).await;
        let mut messages = subscriber.map_err(|error| StoreError::Unavailable(format!("NATS: {error}")))?;
        let (sender, notices) = tokio::sync::mpsc::channel(1_000);
        let receiver = notices::Receiver::new(self.servers.keys.clone());
        tokio::spawn(async move {
            while let Some(message) = messages.next().await {
                if let Some(notice) = receiver.accept(&message.subject, &message.payload, wall_clock())
                    && sender.send(notice).await.is_err()
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

    /// Settings under which an acknowledged write could be lost, according to the monitoring endpoints.
    pub(crate) async fn durability_warnings(&self) -> Vec<String> {
        if self.servers.monitor.is_empty() {
            return vec!["nats.monitor is empty: cannot check that JetStream syncs every write".to_owned()];
        }
        let mut durability_warnings = Vec::new();
        for address in &self.servers.monitor {
            match monitor::syncs_always(address, self.servers.tls.as_ref()).await {
                Ok(true) => {}
                Ok(false) => durability_warnings.push(format!(
                    "the NATS server monitored at {address} acknowledges writes before they are synced: \
                     set sync_interval: always in its jetstream block"
                )),
                // Two of three servers are enough, and a server that is down acknowledges nothing.
                Err(error) => tracing::debug!(address, %error, "NATS monitoring endpoint unreachable"),
            }
        }
        durability_warnings
    }

    /// The floor: everything up to this position is acknowledged. At most
    /// `floor_max_age` old while NATS answers, and the last known one while it does not.
    pub(crate) async fn floor(&self) -> Position {
        if let Some(position) = self.floor.current() {
            return position;
        }
        let _asking = self.floor.asking.lock().await;
        if let Some(position) = self.floor.current() {
            return position;
        }
        let error = match tokio::time::timeout(FLOOR_TIMEOUT, self.read_floor()).await {
            Ok(Ok(position)) => return self.floor.answered(position),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "timed out".to_owned(),
        };
        tracing::warn!(error, "the log does not answer: reads take the last known floor");
        self.floor.no_answer()
    }

    /// Asks NATS for the floor.
    async fn read_floor(&self) -> Result<Position> {
        let bound = self.bound().await?;
        self.floor_requests.fetch_add(1, Ordering::Relaxed);
        match bound.consumer.get_info().await {
            Ok(info) => {
                let idle = info.num_pending == 0 && info.num_ack_pending == 0;
                let reached = if idle { info.delivered } else { info.ack_floor };
                Ok(end_of_message(bound.position(reached.stream_sequence)))
            }
            Err(error) => {
                self.bind_again(Some(&bound)).await?;
                Err(StoreError::Unavailable(format!("JetStream: {error}")))
            }
        }
    }

    /// The number of messages in the log, and the time of the oldest.
    pub(crate) async fn backlog(&self) -> Result<Backlog> {
        telemetry::floor_age(self.floor.age());
        self.demand_answers()?;
        self.bound().await?.backlog(&self.context).await
    }

    /// Tasks that are not done, oldest first: those held by this process, and more up to the limit.
    pub(crate) async fn take(&self, limit: usize) -> Result<Vec<TakenTask>> {
        // Concurrent callers must not divide the messages between them.
        let _guard = self.taking.lock().await;
        let mut waited = false;
        loop {
            let requested = limit.saturating_sub(self.held.waiting()).min(FETCH_BATCH);
            if requested == 0 {
                break;
            }
            let taken = self.take_more(requested, None).await?;
            if taken == 0 && !waited {
                // A server may learn late of a message that was just stored. Waiting also keeps workers from polling
                // in a tight loop.
                waited = true;
                self.take_more(1, Some(POLL_INTERVAL)).await?;
            } else if taken < requested {
                break;
            }
        }
        Ok(self.held.first_waiting(limit))
    }

    /// Takes the available messages, or waits up to `wait` for them.
    async fn take_more(&self, limit: usize, wait: Option<Duration>) -> Result<usize> {
        let bound = self.bound().await?;
        let taken = self.take_from(&bound, limit, wait).await;
        if taken.is_err() {
            self.bind_again(Some(&bound)).await?;
        }
        taken
    }

    async fn take_from(&self, bound: &Bound, limit: usize, wait: Option<Duration>) -> Result<usize> {
        let unavailable = |error: String| StoreError::Unavailable(format!("JetStream: {error}"));
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
            let first = bound.position(number);
            let payloads = match self.servers.keys.verify(&bound.subject, &message.payload) {
                Some(payload) => groups::split(first, payload).into_iter().map(Some).collect(),
                None => vec![None],
            };
            self.held.insert(first, message, payloads);
            taken += 1;
        }
        Ok(taken)
    }

    /// Returns the message of this task, so that another process gets it.
    pub(crate) async fn return_to_queue(&self, at: Position) {
        if let Some(message) = self.held.remove(at) {
            // If this fails, the message is delivered again after `ack_wait`.
            let _ = message.ack_with(jetstream::AckKind::Nak(Some(REDELIVERY_DELAY))).await;
        }
    }

    /// The payload of the task that is held at this position.
    pub(crate) fn held_task(&self, at: Position) -> Option<Vec<u8>> {
        self.held.payload(at)
    }

    /// Marks tasks as done, except those that this process does not hold. Returns the messages of which no task is left:
    /// they can be acknowledged.
    pub(crate) fn finish(&self, done: &[DoneTask]) -> Vec<DoneMessage> {
        self.held.finish(done)
    }

    /// Lets the tasks of messages that could not be acknowledged be executed again.
    pub(crate) fn reopen(&self, messages: &[DoneMessage]) {
        self.held.reopen(messages);
    }

    /// Removes messages from the queue. Returns the positions of those whose stream was lost in the meantime: other
    /// processes may have read past their tasks or not.
    pub(crate) async fn acknowledge(&self, messages: &[DoneMessage]) -> Result<Vec<Position>> {
        let messages: Vec<_> =
            messages.iter().map(|message| (message.first, message.message.clone())).collect();
        let responses = messages.into_iter().map(|(first, message)| async move {
            let response = message.double_ack().await;
            (first, response)
        });
        let responses: Vec<_> = stream::iter(responses).buffer_unordered(64).collect().await;
        let mut lost = Vec::new();
        for (first, response) in responses {
            if let Err(error) = response {
                // There is no response if another process has acknowledged the message already.
                match self.bound().await?.message_status(&self.context, first).await? {
                    MessageStatus::Stored => return Err(StoreError::Unknown(format!("JetStream: {error}"))),
                    MessageStatus::Acknowledged => {}
                    MessageStatus::Lost => lost.push(first),
                }
            }
            self.held.remove(first);
        }
        self.floor.expire();
        Ok(lost)
    }
}

const NO_KEYS: &str = "messages cannot be authenticated: secret_keys is not set";

/// Asks for the floor while NATS does not answer, so that no read has to wait for it.
async fn await_return(log: Weak<JetStream>) {
    loop {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let Some(log) = log.upgrade() else { return };
        if log.floor.is_away_for(Duration::ZERO)
            && let Ok(Ok(position)) = tokio::time::timeout(TIMEOUT, log.read_floor()).await
        {
            log.floor.answered(position);
            tracing::info!("the log answers again");
        }
    }
}

pub(crate) fn wall_clock() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    Millis(i64::try_from(since).unwrap_or(0))
}

/// Reports progress for held messages regularly, so that other processes do not get them.
async fn show_progress(held: Weak<HeldMessages>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(held) = held.upgrade() else { return };
        for message in held.in_progress() {
            let _ = message.ack_with(jetstream::AckKind::Progress).await;
        }
    }
}
