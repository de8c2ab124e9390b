//! The listening sockets.

use crate::config::Config;
use anyhow::Context;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// The sockets of a server, bound before anything starts. They know the actual port if port 0 was configured.
#[derive(Default)]
pub struct Sockets {
    /// HTTPS.
    pub https: Option<TcpListener>,
    /// Plain HTTP behind a proxy.
    pub proxy: Option<TcpListener>,
    /// The admin listener.
    pub admin: Option<TcpListener>,
}

impl Sockets {
    /// Binds the configured addresses.
    pub async fn bind(config: &Config) -> anyhow::Result<Sockets> {
        let https = config.https.as_ref().map(|https| https.listen);
        let proxy = config.proxy.as_ref().map(|proxy| proxy.listen);
        Ok(Sockets {
            https: bind("listen", https).await?,
            proxy: bind("proxy.listen", proxy).await?,
            admin: bind("admin_listen", config.admin_listen).await?,
        })
    }

    /// The address of the HTTPS listener.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https.as_ref().and_then(|socket| socket.local_addr().ok())
    }

    /// The address of the admin listener.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().and_then(|socket| socket.local_addr().ok())
    }
}

pub(super) async fn bind(name: &str, address: Option<SocketAddr>) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    let bound = listen(address);
    let bound = bound.with_context(|| {
        format!("cannot listen on {name} {address}; stop the process that uses it or set another address")
    })?;
    tracing::info!(address = %bound.local_addr().unwrap_or(address), "{name}");
    Ok(Some(bound))
}

/// Send buffer for a client that does not read. By default the kernel uses megabytes for each, and a thousand such
/// clients exhaust the memory for all. Connections inherit this from the socket.
const SEND_BUFFER: u32 = 128 * 1024;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart must not wait for connections of the previous process.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
