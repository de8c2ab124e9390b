//! The accept loop: takes connections from a socket, as many as there is room for.

use super::certificate::{CertificateError, ReloadingCertificate};
use super::stall::Stall;
use super::{Peer, ServerState, Trusted, connection};
use crate::telemetry::metrics;
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

/// How long to wait when accepting fails; by then some other connection may have given its file descriptor back.
const AFTER_FAILURE: Duration = Duration::from_millis(100);
/// A failure that lasts is logged once in so long.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The answer to plain HTTP on a port that speaks TLS.
const USE_HTTPS: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 58\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Connection: close\r\n\r\n\
    This port speaks HTTPS only: use https:// in the address.\n";
/// What is read of such a request before the connection is closed. Unread bytes would reset the connection, and the client
/// would lose the answer.
const MAX_DRAINED: u64 = 64 * 1024;

/// What a connection has to go through first.
#[derive(Clone)]
pub(super) enum Acceptor {
    Tls(TlsAcceptor),
    Proxy(Arc<Trusted>),
    Plain,
}

impl Acceptor {
    pub(super) fn tls(certificate: Arc<ReloadingCertificate>) -> Result<Acceptor, CertificateError> {
        let config = certificate.server_config()?;
        Ok(Acceptor::Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

pub(super) async fn accept(listener: TcpListener, door: Acceptor, mut house: ServerState) {
    let mut logged: Option<Instant> = None;
    let mut stopping = house.stopping.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stop| *stop) => {
                accept_waiting(listener, &door, &mut house);
                return;
            }
        };
        match accepted {
            Ok((stream, from)) => admit(stream, from, &door, &mut house),
            // The client went away while it waited in the queue: nothing is wrong with the socket.
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                if logged.is_none_or(|at| at.elapsed() > LOG_EVERY) {
                    tracing::error!(%error, "connections can't be accepted; is the limit of open files too low?");
                    logged = Some(Instant::now());
                }
                sleep(AFTER_FAILURE).await;
            }
        }
    }
}

/// Takes the connections that the system has accepted for us already. Closing the socket would reset them, and with them
/// requests that were sent.
fn accept_waiting(listener: TcpListener, door: &Acceptor, house: &mut ServerState) {
    // Asks the system itself: the runtime notices a connection only after a while.
    let Ok(listener) = listener.into_std() else { return };
    // The queue takes almost nothing more, so that this ends and hardly a connection slips in before the socket closes.
    let _ = SockRef::from(&listener).listen(0);
    while let Ok((stream, from)) = listener.accept() {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        if let Ok(stream) = stream {
            admit(stream, from, door, house);
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Gives the connection a place and a task of its own; without a place, dropping the stream closes it.
fn admit(stream: TcpStream, from: SocketAddr, door: &Acceptor, house: &mut ServerState) {
    let peer = Peer(from.ip().to_canonical());
    if let Acceptor::Proxy(trusted) = door
        && !trusted.contains(peer.0)
    {
        metrics::connection_refused("untrusted");
        return;
    }
    let counted = match door {
        Acceptor::Tls(_) => match house.per_address.admit(peer.0) {
            Some(counted) => Some(counted),
            None => {
                metrics::connection_refused("address");
                return;
            }
        },
        // A proxy connects for many clients, and the admin listener is not for the public.
        Acceptor::Proxy(_) | Acceptor::Plain => None,
    };
    let Ok(place) = Arc::clone(&house.places).try_acquire_owned() else {
        metrics::connection_refused("full");
        return;
    };
    let (door, house) = (door.clone(), house.clone());
    tokio::spawn(async move {
        let _open = metrics::OpenConnection::new();
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let write = house.limits.write;
        match door {
            Acceptor::Tls(acceptor) => {
                match timeout(house.limits.handshake, handshake(stream, &acceptor, write)).await {
                    Ok(Ok(None)) => metrics::handshake_failed("plain-http"),
                    Ok(Ok(Some(stream))) => {
                        let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                        connection::serve(stream, h2, peer, None, house).await;
                    }
                    Ok(Err(error)) => {
                        tracing::debug!(peer = %peer.0, %error, "TLS handshake failed");
                        metrics::handshake_failed("refused");
                    }
                    Err(_) => metrics::handshake_failed("timeout"),
                }
            }
            Acceptor::Proxy(trusted) => {
                connection::serve(Stall::new(stream, write), false, peer, Some(trusted), house).await;
            }
            Acceptor::Plain => connection::serve(Stall::new(stream, write), false, peer, None, house).await,
        }
        drop((counted, place));
    });
}

/// The TLS handshake. `None`: the client spoke plain HTTP and got the answer to that.
async fn handshake(
    mut stream: TcpStream,
    acceptor: &TlsAcceptor,
    write: Duration,
) -> io::Result<Option<TlsStream<Stall<TcpStream>>>> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    // A method of HTTP begins with a letter, and no record of TLS does.
    if !first.iter().all(u8::is_ascii_alphabetic) {
        return acceptor.accept(Stall::new(stream, write)).await.map(Some);
    }
    stream.write_all(USE_HTTPS).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(MAX_DRAINED), &mut sink()).await?;
    Ok(None)
}
