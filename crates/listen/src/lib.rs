//! The TLS listener, the listener behind a proxy, and the limits of connections.
//!
//! The accept loop is our own because of its limits: a half-open handshake, a header that trickles in, a client that does
//! not read, an idle connection and an excess connection all end here, before there is a request that a handler could
//! reject. The layers above see a [`Peer`] on each request.

mod accept;
mod acme;
mod body;
mod certificate;
mod certificate_source;
mod connection;
mod header_lines;
mod per_address;
mod progress;
mod stall;
mod telemetry;
#[cfg(test)]
mod tests;
mod trusted;

pub use acme::{AcmeCertificate, AcmeSettings};
pub use certificate::{CertificateError, ReloadingCertificate, TlsFiles, validity};
pub use certificate_source::{Certificate, CertificateSource};
pub use telemetry::describe_metrics;
pub use trusted::{InvalidNetwork, Trusted, parse_network};

use accept::Acceptor;
use axum::extract::Request;
use axum::response::Response;
use per_address::PerAddress;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::Service;

/// The client's address, on every request: that of the connection, or the one that a trusted proxy reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// What responds to requests: an [`axum::Router`], or a service around one.
pub trait Responder:
    Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

impl<S> Responder for S where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

/// The limits of connections. All connections of one [`serve`] share the maximum.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of open connections. An excess connection is accepted and closed, so that the client notices.
    pub connections: u32,
    /// The maximum number of open connections of one address, except for trusted proxies and exempt networks.
    pub per_address: u32,
    /// The time limit of the TLS handshake.
    pub handshake: Duration,
    /// The time limit of a header from its first byte, and of the first header from the handshake.
    pub header: Duration,
    /// The time limit between two requests.
    pub idle: Duration,
    /// The time limit between two parts of a request body.
    pub body_pause: Duration,
    /// The time limit of a whole request body.
    pub body: Duration,
    /// The time in which a client must receive a minimum of data while it is written to.
    pub write: Duration,
    /// The time limit of requests in flight when the server stops.
    pub drain: Duration,
    /// When the server stops: how long an idle connection stays open for a request that is on its way.
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

/// The bound sockets of the public server. With neither, [`serve`] only waits for the shutdown.
#[derive(Default)]
pub struct Listeners {
    /// HTTPS only.
    pub https: Option<(TcpListener, Certificate)>,
    /// Plain HTTP, only from a proxy that terminates TLS.
    pub proxy: Option<(TcpListener, Trusted)>,
    /// Networks whose addresses have no connection limit.
    pub exempt: Trusted,
}

/// Serves until `shutdown`, then waits for the requests in flight. On return every connection is closed.
pub async fn serve(
    listeners: Listeners,
    service: impl Responder,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) -> Result<(), CertificateError> {
    let mut acceptors = Vec::new();
    let mut watching = None;
    if let Some((listener, certificate)) = listeners.https {
        acceptors.push((listener, Acceptor::tls(&certificate)?));
        watching = Some(tokio::spawn(certificate.watch()));
    }
    if let Some((listener, trusted)) = listeners.proxy {
        acceptors.push((listener, Acceptor::Proxy(Arc::new(trusted))));
    }
    run(acceptors, service, limits, listeners.exempt, shutdown).await;
    if let Some(watching) = watching {
        watching.abort();
    }
    Ok(())
}

/// Serves plain HTTP to every client that can reach the socket, with the same limits: for the admin listener.
pub async fn serve_plain(
    listener: TcpListener,
    service: impl Responder,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    run(vec![(listener, Acceptor::Plain)], service, limits, Trusted::default(), shutdown).await;
}

/// The state that all listeners share.
#[derive(Clone)]
struct ServerState<S> {
    service: S,
    limits: Limits,
    slots: Arc<Semaphore>,
    per_address: PerAddress,
    stopping: CancellationToken,
}

async fn run(
    acceptors: Vec<(TcpListener, Acceptor)>,
    service: impl Responder,
    limits: Limits,
    exempt: Trusted,
    shutdown: impl Future<Output = ()>,
) {
    let slots = Arc::new(Semaphore::new(usize::try_from(limits.connections).unwrap_or(usize::MAX)));
    let stopping = CancellationToken::new();
    // Also stops the connections if the caller drops this future.
    let stop = stopping.clone().drop_guard();
    let per_address = PerAddress::new(limits.per_address, exempt);
    let server = ServerState { service, limits, slots: Arc::clone(&slots), per_address, stopping };
    let loops: Vec<_> = acceptors
        .into_iter()
        .map(|(listener, acceptor)| tokio::spawn(accept::accept(listener, acceptor, server.clone())))
        .collect();
    shutdown.await;
    drop(stop);
    for accepting in loops {
        let _ = accepting.await;
    }
    // A connection holds its slot until it is closed, so acquiring all slots means that all are closed. Connections end
    // by themselves after the drain time; the extra second is for their tasks to run.
    let all = slots.acquire_many(limits.connections);
    if tokio::time::timeout(limits.drain + Duration::from_secs(1), all).await.is_err() {
        tracing::warn!("drain timeout, closing remaining connections");
    }
}
