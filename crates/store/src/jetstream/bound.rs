//! The current stream and its consumer.

use super::{Epochs, NUMBER_BITS, Servers, TASK_BITS};
use crate::{Backlog, Result, StoreError, telemetry};
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{Context, ErrorCode};
use model::{Millis, Position};
use std::time::Duration;

const EPOCH: &str = "epoch";
/// The window in which the server discards a repeated message.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
const MAX_MESSAGE_SIZE: i32 = 512 * 1024;
/// The maximum number of unacknowledged tasks of all workers together.
const MAX_ACK_PENDING: i64 = 16_384;

/// Attempts to find or create a stream, and the pause after the first; each later pause is longer by as much.
const MAX_ATTEMPTS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(50);

/// A stream of one epoch, with its consumer.
pub(super) struct Bound {
    pub(super) epoch: u64,
    pub(super) subject: String,
    pub(super) consumer: PullConsumer,
    stream: String,
}

/// Where a message is.
pub(super) enum MessageStatus {
    /// In the log.
    Stored,
    /// Acknowledged and therefore deleted.
    Acknowledged,
    /// Lost with an earlier stream.
    Lost,
}

impl Bound {
    pub(super) async fn find_or_create(
        context: &Context,
        servers: &Servers,
        epochs: &dyn Epochs,
    ) -> Result<Bound> {
        let stream = find_or_create_stream(context, servers, epochs).await?;
        let epoch = epoch_of(&stream).ok_or_else(|| {
            StoreError::Corrupt(format!("JetStream stream {} was not created by tofrom", servers.stream))
        })?;
        let consumer = consumer(&stream, servers, epoch).await?;
        Ok(Bound { epoch, subject: subject(servers, epoch), consumer, stream: servers.stream.clone() })
    }

    /// The position of the first task of the message with this number.
    pub(super) fn position(&self, number: u64) -> Position {
        Position(self.epoch << NUMBER_BITS | number << TASK_BITS)
    }

    /// The status of the message at this position.
    pub(super) async fn message_status(&self, context: &Context, at: Position) -> Result<MessageStatus> {
        let stream = context.get_stream(&self.stream).await.map_err(unavailable)?;
        if epoch_of(&stream) != Some(at.0 >> NUMBER_BITS) {
            return Ok(MessageStatus::Lost);
        }
        let number = (at.0 & ((1 << NUMBER_BITS) - 1)) >> TASK_BITS;
        match stream.get_raw_message(number).await {
            Ok(_) => Ok(MessageStatus::Stored),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => {
                Ok(MessageStatus::Acknowledged)
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    pub(super) async fn backlog(&self, context: &Context) -> Result<Backlog> {
        let stream = context.get_stream(&self.stream).await.map_err(unavailable)?;
        let state = &stream.cached_info().state;
        telemetry::stream(state.messages, state.bytes);
        let oldest = i64::try_from(state.first_timestamp.unix_timestamp_nanos() / 1_000_000).ok();
        Ok(Backlog {
            tasks: usize::try_from(state.messages).unwrap_or(usize::MAX),
            oldest: oldest.filter(|_| state.messages > 0).map(Millis),
        })
    }
}

fn epoch_of(stream: &Stream) -> Option<u64> {
    stream.cached_info().config.metadata.get(EPOCH).and_then(|text| text.parse().ok())
}

fn subject(servers: &Servers, epoch: u64) -> String {
    format!("{}.{epoch}.task", servers.stream)
}

async fn find_or_create_stream(context: &Context, servers: &Servers, epochs: &dyn Epochs) -> Result<Stream> {
    let mut attempts = 0;
    loop {
        match context.get_stream(&servers.stream).await {
            Ok(stream) => return Ok(stream),
            Err(error) if is_not_found(&error) => {}
            Err(error) => return Err(unavailable(error)),
        }
        match create(context, servers, epochs).await {
            Ok(stream) => return Ok(stream),
            Err(error) if attempts == MAX_ATTEMPTS => return Err(error),
            // Of several processes that start together one creates the stream, and the others soon find it.
            Err(_) => attempts += 1,
        }
        tokio::time::sleep(PAUSE * attempts).await;
    }
}

async fn create(context: &Context, servers: &Servers, epochs: &dyn Epochs) -> Result<Stream> {
    let epoch = epochs.next().await?;
    let config = Config {
        name: servers.stream.clone(),
        subjects: vec![subject(servers, epoch)],
        retention: RetentionPolicy::WorkQueue,
        storage: StorageType::File,
        num_replicas: servers.replicas,
        discard: DiscardPolicy::New,
        max_bytes: servers.max_bytes,
        max_message_size: MAX_MESSAGE_SIZE,
        duplicate_window: DUPLICATE_WINDOW,
        deny_delete: true,
        deny_purge: true,
        metadata: [(EPOCH.to_owned(), epoch.to_string())].into(),
        ..Config::default()
    };
    match context.create_stream(config).await {
        Ok(stream) => Ok(stream),
        // Another process may have created it first.
        Err(error) => match context.get_stream(&servers.stream).await {
            Ok(stream) => Ok(stream),
            Err(_) => Err(unavailable(error)),
        },
    }
}

async fn consumer(stream: &Stream, servers: &Servers, epoch: u64) -> Result<PullConsumer> {
    // One consumer per epoch: a process that does not know the new stream yet must not take its messages for those of
    // the old one, nor acknowledge them by their numbers.
    let name = format!("worker-{epoch}");
    let config = pull::Config {
        durable_name: Some(name.clone()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: servers.ack_wait,
        // A limit would let the floor pass over a message that is no longer delivered.
        max_deliver: -1,
        max_ack_pending: MAX_ACK_PENDING,
        num_replicas: servers.replicas,
        ..pull::Config::default()
    };
    stream.get_or_create_consumer(&name, config).await.map_err(unavailable)
}

pub(super) fn is_not_found(error: &async_nats::jetstream::context::GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

fn unavailable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("JetStream: {error}"))
}
