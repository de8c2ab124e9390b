//! The stream as it is at present, and its one consumer.

use super::{Epochs, NUMBER_BITS, Servers};
use crate::{Backlog, Result, StoreError};
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{Context, ErrorCode};
use model::{Millis, Position};
use std::time::Duration;

const EPOCH: &str = "epoch";
const REPLICAS: usize = 3;
/// For so long a message that is stored again under its identifier is known.
const REMEMBERED: Duration = Duration::from_secs(120);
const LARGEST_MESSAGE: i32 = 512 * 1024;
/// Tasks that all workers together may have in hand.
const MAX_IN_HAND: i64 = 16_384;

/// How often a stream that is not there is looked for again, and how long after the first look; each time as much longer.
const LOOKS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(50);

/// A stream of one epoch.
pub(super) struct Bound {
    pub(super) epoch: u64,
    pub(super) subject: String,
    pub(super) consumer: PullConsumer,
    stream: String,
}

/// What became of a message.
pub(super) enum Fate {
    /// It is in the log.
    There,
    /// Somebody acknowledged it.
    Acknowledged,
    /// The log with it is no more.
    Lost,
}

impl Bound {
    pub(super) async fn find_or_make(
        context: &Context,
        servers: &Servers,
        epochs: &dyn Epochs,
    ) -> Result<Bound> {
        let stream = found_or_made(context, servers, epochs).await?;
        let epoch = epoch_of(&stream).ok_or_else(|| {
            StoreError::Unavailable(format!("the stream {} is not one of tofrom's", servers.stream))
        })?;
        let consumer = consumer(&stream, servers, epoch).await?;
        Ok(Bound { epoch, subject: subject(servers, epoch), consumer, stream: servers.stream.clone() })
    }

    pub(super) fn position(&self, number: u64) -> Position {
        Position(self.epoch << NUMBER_BITS | number)
    }

    /// What became of the message at that position.
    pub(super) async fn fate(&self, context: &Context, at: Position) -> Result<Fate> {
        let stream = context.get_stream(&self.stream).await.map_err(unavailable)?;
        if epoch_of(&stream) != Some(at.0 >> NUMBER_BITS) {
            return Ok(Fate::Lost);
        }
        let number = at.0 & ((1 << NUMBER_BITS) - 1);
        match stream.get_raw_message(number).await {
            Ok(_) => Ok(Fate::There),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => {
                Ok(Fate::Acknowledged)
            }
            Err(error) => Err(unavailable(error)),
        }
    }

    pub(super) async fn backlog(&self, context: &Context) -> Result<Backlog> {
        let stream = context.get_stream(&self.stream).await.map_err(unavailable)?;
        let state = &stream.cached_info().state;
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

async fn found_or_made(context: &Context, servers: &Servers, epochs: &dyn Epochs) -> Result<Stream> {
    let mut looks = 0;
    loop {
        match context.get_stream(&servers.stream).await {
            Ok(stream) => return Ok(stream),
            Err(error) if is_not_there(&error) => {}
            Err(error) => return Err(unavailable(error)),
        }
        match make(context, servers, epochs).await {
            Ok(stream) => return Ok(stream),
            Err(error) if looks == LOOKS => return Err(error),
            // Of several that start at once one makes it, and the others find it soon.
            Err(_) => looks += 1,
        }
        tokio::time::sleep(PAUSE * looks).await;
    }
}

async fn make(context: &Context, servers: &Servers, epochs: &dyn Epochs) -> Result<Stream> {
    let epoch = epochs.next().await?;
    let config = Config {
        name: servers.stream.clone(),
        subjects: vec![subject(servers, epoch)],
        retention: RetentionPolicy::WorkQueue,
        storage: StorageType::File,
        num_replicas: REPLICAS,
        discard: DiscardPolicy::New,
        max_bytes: servers.most_bytes,
        max_message_size: LARGEST_MESSAGE,
        duplicate_window: REMEMBERED,
        deny_delete: true,
        deny_purge: true,
        metadata: [(EPOCH.to_owned(), epoch.to_string())].into(),
        ..Config::default()
    };
    match context.create_stream(config).await {
        Ok(stream) => Ok(stream),
        // Somebody else was faster; theirs is as good.
        Err(error) => match context.get_stream(&servers.stream).await {
            Ok(stream) => Ok(stream),
            Err(_) => Err(unavailable(error)),
        },
    }
}

async fn consumer(stream: &Stream, servers: &Servers, epoch: u64) -> Result<PullConsumer> {
    // One of each epoch: who does not know of the new stream yet must not take its messages for those of the old one, nor
    // acknowledge them by their numbers.
    let name = format!("worker-{epoch}");
    let config = pull::Config {
        durable_name: Some(name.clone()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: servers.ack_wait,
        // The floor would pass over a message that is not delivered any more.
        max_deliver: -1,
        max_ack_pending: MAX_IN_HAND,
        num_replicas: REPLICAS,
        ..pull::Config::default()
    };
    stream.get_or_create_consumer(&name, config).await.map_err(unavailable)
}

fn is_not_there(error: &async_nats::jetstream::context::GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

fn unavailable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("the log: {error}"))
}
