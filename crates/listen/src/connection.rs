//! A connection, from the end of its handshake to its close.

use super::body::{CountedBody, Timed};
use super::header_lines::HeaderLines;
use super::progress::{Deadline, Http1, Progress, Watched};
use super::{Limits, Peer, Responder, ServerState, Trusted};
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tower::ServiceExt;

/// The time limit of an orderly shutdown of a connection.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client has to notice that the connection closes.
const LINGER: Duration = Duration::from_secs(1);

/// Serves requests until the client leaves, a deadline passes or the server stops. `trusted`: the connection comes from a
/// proxy, and its forwarding headers count.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    h2: bool,
    peer: Peer,
    trusted: Option<Arc<Trusted>>,
    server: ServerState<impl Responder>,
) {
    let ServerState { service, limits, stopping, .. } = server;
    let progress = Progress::new();
    let (requests, closing) = (progress.clone(), stopping.clone());
    let answer = service_fn(move |request: Request<Incoming>| {
        let in_flight = requests.request();
        let peer = match &trusted {
            Some(trusted) => Peer(trusted.client(peer.0, request.headers())),
            None => peer,
        };
        let mut request = request.map(|body| Timed::wrap(body, limits));
        request.extensions_mut().insert(peer);
        let answer = service.clone().oneshot(request);
        let closing = closing.clone();
        async move {
            let mut response = answer.await?;
            if !h2 && closing.is_cancelled() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response.map(|body| CountedBody::new(body, in_flight)))
        }
    });
    let http1 = (!h2).then(|| Http1 { progress: progress.clone(), lines: HeaderLines::default() });
    let (stream, returned) = Watched::new(stream, http1);
    {
        let builder = builder(h2, &limits);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answer));
        let mut deadline = pin!(sleep_until(Instant::now() + limits.header));
        let end = tokio::select! {
            // The connection is polled first, because its progress decides about the deadline.
            biased;
            end = poll_fn(|cx| match connection.as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(End::Itself(result)),
                Poll::Pending => poll_deadline(&progress, &limits, deadline.as_mut(), cx),
            }) => end,
            () = stopping.cancelled() => End::Stop,
        };
        match end {
            End::Itself(Ok(())) => {}
            End::Itself(Err(error)) => {
                tracing::debug!(peer = %peer.0, %error, "connection ended");
                // Unreadable requests get a 400. After any other error the client is gone or does not read.
                if !error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
                    return;
                }
            }
            End::HangUp => return,
            End::Farewell => {
                connection.as_mut().graceful_shutdown();
                // Requests that are still running are aborted when the connection is dropped.
                let _ = timeout(SHUTDOWN_TIMEOUT, connection).await;
            }
            End::Stop => {
                let stopped = Instant::now();
                let ends = async {
                    let mut is_done = false;
                    if !h2 {
                        is_done = poll_fn(|cx| match connection.as_mut().poll(cx) {
                            Poll::Ready(_) => Poll::Ready(true),
                            Poll::Pending => {
                                poll_grace(&progress, &limits, stopped, deadline.as_mut(), cx).map(|()| false)
                            }
                        })
                        .await;
                    }
                    if !is_done {
                        connection.as_mut().graceful_shutdown();
                        let _ = connection.await;
                    }
                };
                let _ = timeout(limits.drain, ends).await;
            }
        }
    }
    linger(returned).await;
}

/// Reads on for a moment after the last response. A client may have sent a request before it saw that the connection
/// closes: unread bytes would reset the connection, and the client would lose the response.
async fn linger<S: AsyncRead + AsyncWrite + Unpin>(returned: oneshot::Receiver<S>) {
    let Ok(mut stream) = returned.await else { return };
    let _ = timeout(LINGER, async {
        let _ = stream.shutdown().await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    })
    .await;
}

enum End {
    Itself(Result<(), Box<dyn std::error::Error + Send + Sync>>),
    HangUp,
    Farewell,
    Stop,
}

/// Ready when an HTTP/1 connection has waited long enough for a request while the server stops.
fn poll_grace(
    progress: &Progress,
    limits: &Limits,
    stopped: Instant,
    mut timer: Pin<&mut Sleep>,
    cx: &mut Context<'_>,
) -> Poll<()> {
    loop {
        let Some(until) = progress.grace(limits, stopped) else { return Poll::Pending };
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        ready!(timer.as_mut().poll(cx));
        if until <= Instant::now() {
            return Poll::Ready(());
        }
    }
}

/// Ready when the connection's deadline has passed. The timer is reset only if it would fire too late, or fired too early:
/// most requests do not touch it.
fn poll_deadline(
    progress: &Progress,
    limits: &Limits,
    mut timer: Pin<&mut Sleep>,
    cx: &mut Context<'_>,
) -> Poll<End> {
    loop {
        let deadline = progress.deadline(limits);
        let until = match deadline {
            Some(Deadline::Idle(until) | Deadline::Header(until)) => until,
            None => Instant::now() + limits.idle,
        };
        if until < timer.deadline() {
            timer.as_mut().reset(until);
        }
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        match deadline {
            Some(Deadline::Idle(_)) if until <= Instant::now() => return Poll::Ready(End::Farewell),
            Some(Deadline::Header(_)) if until <= Instant::now() => return Poll::Ready(End::HangUp),
            _ => timer.as_mut().reset(until),
        }
    }
}

fn builder(h2: bool, limits: &Limits) -> Builder<TokioExecutor> {
    // The protocol was negotiated in the handshake, or is the only one, so it need not be detected.
    let builder = Builder::new(TokioExecutor::new());
    let mut builder = if h2 { builder.http2_only() } else { builder.http1_only() };
    builder
        .http1()
        .timer(TokioTimer::new())
        // Our own deadlines distinguish idle clients from slow ones.
        .header_read_timeout(None)
        // Larger than the accepted request line and headers, so that the rejection can be a proper response.
        .max_buf_size(64 * 1024)
        .max_headers(100);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(Duration::from_secs(20)))
        .keep_alive_timeout(limits.header)
        .max_concurrent_streams(64)
        .max_header_list_size(32 * 1024)
        .initial_stream_window_size(64 * 1024)
        .initial_connection_window_size(256 * 1024)
        .max_send_buf_size(64 * 1024);
    builder
}
