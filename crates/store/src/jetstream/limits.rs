//! Size and replicas of an existing stream, compared with the settings.
//!
//! Processes do not change a stream that exists: a command with old settings would shrink the log of a running
//! service. The operator does, with [`apply_limits`].

use super::connect::connect;
use super::{JetStream, Servers};
use crate::{Result, StoreError};
use async_nats::jetstream;
use async_nats::jetstream::stream::Config;

impl JetStream {
    /// Differences between the stream and the settings.
    pub(crate) async fn setting_warnings(&self) -> Result<Vec<String>> {
        let stream = self.context.get_stream(&self.servers.stream).await.map_err(failed)?;
        let Config { num_replicas, max_bytes, .. } = stream.cached_info().config;
        let name = &self.servers.stream;
        let mut warnings = Vec::new();
        if num_replicas != self.servers.replicas {
            let wanted = self.servers.replicas;
            warnings.push(format!("stream {name} has {num_replicas} replicas, nats.replicas is {wanted}"));
        }
        if max_bytes != self.servers.max_bytes {
            let wanted = self.servers.max_bytes;
            warnings.push(format!("stream {name} holds {max_bytes} bytes, nats.max_bytes is {wanted} bytes"));
        }
        Ok(warnings)
    }
}

/// Gives an existing stream the size and the replicas of the settings. Returns whether it had others.
pub async fn apply_limits(servers: &Servers) -> Result<bool> {
    let context = jetstream::new(connect(servers).await?);
    let stream = match context.get_stream(&servers.stream).await {
        Ok(stream) => stream,
        // The first process creates it, with the settings.
        Err(error) if super::bound::is_not_found(&error) => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    let current = &stream.cached_info().config;
    if current.num_replicas == servers.replicas && current.max_bytes == servers.max_bytes {
        return Ok(false);
    }
    // The servers give the consumers of a work queue as many replicas as the stream has.
    let config = Config { num_replicas: servers.replicas, max_bytes: servers.max_bytes, ..current.clone() };
    context.update_stream(config).await.map_err(failed)?;
    Ok(true)
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("JetStream: {error}"))
}
