//! The connection to the NATS servers, and their default settings.

use super::{MessageKeys, Servers, TIMEOUT};
use crate::links::NatsLogin;
use crate::{Result, StoreError};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions};
use std::error::Error;
use std::io;
use std::time::Duration;

impl Default for Servers {
    /// No servers, no keys, and the default of every other setting.
    fn default() -> Servers {
        Servers {
            servers: Vec::new(),
            monitor: Vec::new(),
            stream: "tofrom".to_owned(),
            ack_wait: Duration::from_secs(5),
            max_bytes: 1 << 30,
            replicas: 3,
            login: None,
            tls: None,
            floor_max_age: Duration::from_millis(100),
            keys: MessageKeys::new(Vec::new()),
        }
    }
}

/// Connects. If no server can be reached, the client goes on trying; a refused login or certificate is an error.
pub(super) async fn connect(servers: &Servers) -> Result<Client> {
    let connected = match options(servers)?.connect(&servers.servers).await {
        Err(error) if is_unreachable(&error) => {
            options(servers)?.retry_on_initial_connect().connect(&servers.servers).await
        }
        connected => connected,
    };
    connected.map_err(failed)
}

fn is_unreachable(error: &ConnectError) -> bool {
    match error.kind() {
        ConnectErrorKind::Dns | ConnectErrorKind::TimedOut => true,
        // A failed TLS handshake is an I/O error too, with invalid data.
        ConnectErrorKind::Io => {
            let mut source = error.source();
            while let Some(cause) = source {
                if cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::InvalidData)
                {
                    return false;
                }
                source = cause.source();
            }
            true
        }
        _ => false,
    }
}

fn options(servers: &Servers) -> Result<ConnectOptions> {
    let mut options = ConnectOptions::new()
        .name("tofrom")
        // This process does not need its own notices.
        .no_echo()
        .connection_timeout(TIMEOUT);
    if let Some(tls) = &servers.tls {
        // Names an unusable file; the client reads the files again for every connection.
        tls.client_config().map_err(failed)?;
        options = options.add_root_certificates(tls.ca.clone());
        if let Some((certificate, private_key)) = &tls.client {
            options = options.add_client_certificate(certificate.clone(), private_key.clone());
        }
    }
    if servers.tls.is_some() || servers.servers.iter().any(|server| server.starts_with("tls://")) {
        options = options.require_tls(true);
    } else {
        // Plaintext goes only to the addresses in the settings, not to others that a server announces.
        options = options.ignore_discovered_servers();
    }
    Ok(match &servers.login {
        None => options,
        Some(NatsLogin::Password(login)) => {
            options.user_and_password(login.user.clone(), login.password.reveal().to_owned())
        }
        Some(NatsLogin::NKey(seed)) => options.nkey(seed.reveal().to_owned()),
        Some(NatsLogin::Credentials(content)) => options
            .credentials(content.reveal())
            // The parser's error may quote the content.
            .map_err(|_| failed("nats.credentials has no valid JWT and seed"))?,
    })
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("NATS: {error}"))
}
