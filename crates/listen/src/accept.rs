//! The accept loop.

use super::acme::VALIDATION;
use super::certificate::CertificateError;
use super::certificate_source::Certificate;
use super::stall::Stall;
use super::telemetry;
use super::{Peer, Responder, ServerState, Trusted, connection};
use socket2::SockRef;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The pause after a failed accept. Another connection may release its file descriptor meanwhile.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// A lasting failure is logged once per interval.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The response to plain HTTP on a TLS port.
const USE_HTTPS: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 58\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Connection: close\r\n\r\n\
    This port speaks HTTPS only: use https:// in the address.\n";
/// How many bytes of such a request are read before the connection is closed. Unread bytes would reset the connection, and
/// the client would lose the response.
const MAX_DRAINED: u64 = 64 * 1024;

/// The kind of a listener.
#[derive(Clone)]
pub(super) enum Acceptor {
    Tls(TlsAcceptor),
    Proxy(Arc<Trusted>),
    Plain,
}

impl Acceptor {
    pub(super) fn tls(certificate: &Certificate) -> Result<Acceptor, CertificateError> {
        let config = certificate.server_config()?;
        Ok(Acceptor::Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

pub(super) async fn accept<S: Responder>(
    listener: TcpListener,
    acceptor: Acceptor,
    mut server: ServerState<S>,
) {
    let mut logged: Option<Instant> = None;
    let stopping = server.stopping.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => {
                accept_waiting(listener, &acceptor, &mut server);
                return;
            }
        };
        match accepted {
            Ok((stream, from)) => admit(stream, from, &acceptor, &mut server),
            // The client went away while it waited in the queue: the socket is fine.
            Err(error) if is_client_error(&error) => {}
            Err(error) => {
                if logged.is_none_or(|at| at.elapsed() > LOG_INTERVAL) {
                    tracing::error!(%error, "accepting connections failed: check the limit of open files");
                    logged = Some(Instant::now());
                }
                sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// Takes the connections that the system has already accepted. Closing the socket would reset them, and requests that were
/// already sent would be lost.
fn accept_waiting<S: Responder>(listener: TcpListener, acceptor: &Acceptor, server: &mut ServerState<S>) {
    // Asks the system directly: the runtime notices a connection only after a while.
    let Ok(listener) = listener.into_std() else { return };
    // Shrinks the queue, so that this loop ends and few connections slip in before the socket closes.
    let _ = SockRef::from(&listener).listen(0);
    while let Ok((stream, from)) = listener.accept() {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        if let Ok(stream) = stream {
            admit(stream, from, acceptor, server);
        }
    }
}

fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Serves the connection in a task, if there is a free connection slot. Otherwise dropping the stream closes it.
fn admit<S: Responder>(
    stream: TcpStream,
    from: SocketAddr,
    acceptor: &Acceptor,
    server: &mut ServerState<S>,
) {
    let peer = Peer(from.ip().to_canonical());
    if let Acceptor::Proxy(trusted) = acceptor
        && !trusted.contains(peer.0)
    {
        telemetry::connection_refused("untrusted");
        return;
    }
    let counted = match acceptor {
        Acceptor::Tls(_) => match server.per_address.admit(peer.0) {
            Some(counted) => Some(counted),
            None => {
                telemetry::connection_refused("address");
                return;
            }
        },
        // A proxy connects for many clients, and the admin listener is not public.
        Acceptor::Proxy(_) | Acceptor::Plain => None,
    };
    let Ok(slot) = Arc::clone(&server.slots).try_acquire_owned() else {
        telemetry::connection_refused("full");
        return;
    };
    let (acceptor, server) = (acceptor.clone(), server.clone());
    tokio::spawn(async move {
        let _open = telemetry::OpenConnection::new();
        // Responses are written as a whole, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let write = server.limits.write;
        match acceptor {
            Acceptor::Tls(acceptor) => {
                match timeout(server.limits.handshake, handshake(stream, &acceptor, write)).await {
                    Ok(Ok(None)) => telemetry::handshake_failed("plain-http"),
                    Ok(Ok(Some(stream))) => match stream.get_ref().1.alpn_protocol() {
                        // The authority has seen what it wanted.
                        Some(VALIDATION) => {}
                        protocol => {
                            let h2 = protocol == Some(b"h2");
                            connection::serve(stream, h2, peer, None, server).await;
                        }
                    },
                    Ok(Err(error)) => {
                        tracing::debug!(peer = %peer.0, %error, "TLS handshake failed");
                        telemetry::handshake_failed("refused");
                    }
                    Err(_) => telemetry::handshake_failed("timeout"),
                }
            }
            Acceptor::Proxy(trusted) => {
                connection::serve(Stall::new(stream, write), false, peer, Some(trusted), server).await;
            }
            Acceptor::Plain => connection::serve(Stall::new(stream, write), false, peer, None, server).await,
        }
        drop((counted, slot));
    });
}

/// The TLS handshake. `None` if the client sent plain HTTP and got the response to that.
async fn handshake(
    mut stream: TcpStream,
    acceptor: &TlsAcceptor,
    write: Duration,
) -> io::Result<Option<TlsStream<Stall<TcpStream>>>> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    // An HTTP method begins with a letter, a TLS record does not.
    if !first.iter().all(u8::is_ascii_alphabetic) {
        return acceptor.accept(Stall::new(stream, write)).await.map(Some);
    }
    stream.write_all(USE_HTTPS).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(MAX_DRAINED), &mut sink()).await?;
    Ok(None)
}
