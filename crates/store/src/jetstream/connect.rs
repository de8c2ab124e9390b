//! The connection to NATS.

use super::{Servers, TIMEOUT};
use crate::{Result, StoreError};
use async_nats::{Client, ConnectErrorKind, ConnectOptions};

/// Connects. If no server can be reached, the client goes on trying; a refused login is an error.
pub(super) async fn connect(servers: &Servers) -> Result<Client> {
    let connected = match options().connect(&servers.servers).await {
        Err(error) if is_unreachable(error.kind()) => {
            options().retry_on_initial_connect().connect(&servers.servers).await
        }
        connected => connected,
    };
    connected.map_err(|error| StoreError::Unavailable(format!("NATS: {error}")))
}

fn is_unreachable(kind: ConnectErrorKind) -> bool {
    matches!(kind, ConnectErrorKind::Io | ConnectErrorKind::Dns | ConnectErrorKind::TimedOut)
}

fn options() -> ConnectOptions {
    // This process does not need its own notices.
    ConnectOptions::new().name("tofrom").no_echo().connection_timeout(TIMEOUT)
}
