//! How connections come in: the TLS listener, the listener behind a proxy, and what a connection may cost.
//!
//! The accept loop is our own because its limits are: a half-open handshake, a header that trickles in, a client that
//! does not read, an idle connection and one connection too many each end here, before there is a request that a
//! handler could refuse. Everything above sees an [`axum::Router`] and a [`Peer`] on each request.

mod accept;
mod body;
mod certificate;
mod connection;
mod header_lines;
mod per_address;
mod progress;
mod stall;
#[cfg(test)]
mod tests;
mod trusted;
mod validity;

pub use certificate::{CertificateError, ReloadingCertificate, TlsFiles};
pub use trusted::{InvalidNetwork, Network, Trusted};
pub use validity::validity;

use accept::Acceptor;
use per_address::PerAddress;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// The client's address, on every request: that of the connection, or what a trusted proxy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// What a connection may take. All connections of one [`serve`] share the cap.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections; one more is accepted and closed at once, so that it learns of it.
    pub connections: u32,
    /// Open connections of one address, but for trusted proxies and exempt networks.
    pub per_address: u32,
    /// For the TLS handshake.
    pub handshake: Duration,
    /// From a header's first byte to its last, and from the handshake to the end of the first header.
    pub header: Duration,
    /// Between two requests.
    pub idle: Duration,
    /// Between two pieces of a request's body.
    pub body_pause: Duration,
    /// For a request's body as a whole.
    pub body: Duration,
    /// In which a client that is being written to must take something worth mentioning.
    pub write: Duration,
    /// For the requests in flight when the service stops.
    pub drain: Duration,
    /// When the service stops: how long an idle connection stays open for a request that is on its way.
    pub idle_grace: Duration,
    /// The same for a connection that has not sent a request yet.
    pub first_request_grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 20_000,
            per_address: 256,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body_pause: Duration::from_secs(15),
            body: Duration::from_secs(300),
            write: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            idle_grace: Duration::from_millis(200),
            first_request_grace: Duration::from_secs(1),
        }
    }
}

/// The bound sockets of the public service. With neither, [`serve`] waits for the shutdown and nothing else.
#[derive(Default)]
pub struct Listeners {
    /// HTTPS, and nothing but HTTPS.
    pub https: Option<(TcpListener, Arc<ReloadingCertificate>)>,
    /// Plain HTTP from a proxy that ends TLS, and from nobody else.
    pub proxy: Option<(TcpListener, Trusted)>,
    /// Networks whose addresses may have any number of connections.
    pub exempt: Trusted,
}

/// Serves until `shutdown`, then lets the requests in flight end. When it returns, every connection is closed.
pub async fn serve(
    listeners: Listeners,
    service: axum::Router,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> Result<(), CertificateError> {
    let mut doors = Vec::new();
    let mut watching = None;
    if let Some((listener, certificate)) = listeners.https {
        doors.push((listener, Acceptor::tls(Arc::clone(&certificate))?));
        watching = Some(tokio::spawn(certificate.watch()));
    }
    if let Some((listener, trusted)) = listeners.proxy {
        doors.push((listener, Acceptor::Proxy(Arc::new(trusted))));
    }
    open(doors, service, limits, listeners.exempt, shutdown).await;
    if let Some(watching) = watching {
        watching.abort();
    }
    Ok(())
}

/// Serves plain HTTP to every client that can reach the socket, with the same limits: for the admin listener.
pub async fn serve_plain(
    listener: TcpListener,
    service: axum::Router,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    open(vec![(listener, Acceptor::Plain)], service, limits, Trusted::default(), shutdown).await;
}

/// What all listeners of one service share.
#[derive(Clone)]
struct ServerState {
    service: axum::Router,
    limits: Limits,
    places: Arc<Semaphore>,
    per_address: PerAddress,
    stopping: watch::Receiver<bool>,
}

async fn open(
    doors: Vec<(TcpListener, Acceptor)>,
    service: axum::Router,
    limits: Limits,
    exempt: Trusted,
    shutdown: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(usize::try_from(limits.connections).unwrap_or(usize::MAX)));
    let (stop, stopping) = watch::channel(false);
    let per_address = PerAddress::new(limits.per_address, exempt);
    let house = ServerState { service, limits, places: Arc::clone(&places), per_address, stopping };
    let loops: Vec<_> = doors
        .into_iter()
        .map(|(listener, door)| tokio::spawn(accept::accept(listener, door, house.clone())))
        .collect();
    shutdown.await;
    // Nobody is left who would hear of it if every loop and connection is gone already.
    let _ = stop.send(true);
    for accepting in loops {
        let _ = accepting.await;
    }
    // A connection holds its place until it is closed, so having all places means that all are. Connections end
    // themselves after the drain time; the second more is for their tasks to be run.
    let all = places.acquire_many(limits.connections);
    if tokio::time::timeout(limits.drain + Duration::from_secs(1), all).await.is_err() {
        tracing::warn!("some connections did not end in time and are cut off");
    }
}
