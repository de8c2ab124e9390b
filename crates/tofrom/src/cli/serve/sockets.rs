//! Where the service listens.

use crate::config::Config;
use anyhow::Context;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// The sockets of a service, bound before anything is started: whoever asks for port 0 learns the port from here.
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
    /// Binds what the settings name.
    pub async fn bind(config: &Config) -> anyhow::Result<Sockets> {
        let https = config.https.as_ref().map(|https| https.listen);
        let proxy = config.proxy.as_ref().map(|proxy| proxy.listen);
        Ok(Sockets {
            https: bind("listen", https).await?,
            proxy: bind("proxy.listen", proxy).await?,
            admin: bind("admin_listen", config.admin_listen).await?,
        })
    }

    /// Where HTTPS listens.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https.as_ref().and_then(|socket| socket.local_addr().ok())
    }

    /// Where the admin listener is.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().and_then(|socket| socket.local_addr().ok())
    }
}

pub(super) async fn bind(name: &str, address: Option<SocketAddr>) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    let bound = listen(address);
    let bound = bound
        .with_context(|| format!("{name} {address} is not free; end what listens there or set another"))?;
    tracing::info!(address = %bound.local_addr().unwrap_or(address), "{name}");
    Ok(Some(bound))
}

/// What the system may hold for a client that does not read. Left to itself it takes megabytes for each, and a thousand
/// such clients take all that it has for everybody; connections inherit this from the socket.
const SEND_BUFFER: u32 = 128 * 1024;
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart must not wait for the connections of the process before.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
