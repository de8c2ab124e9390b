//! One connection, from the first byte after its handshake to its end.

use super::body::{CountedBody, Timed};
use super::header_lines::HeaderLines;
use super::progress::{Deadline, Http1, Progress, Watched};
use super::{Limits, Peer, ServerState, Trusted};
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

/// For a goodbye to be said in.
const GOODBYE: Duration = Duration::from_secs(5);
/// For a client to notice that the connection closes.
const LINGER: Duration = Duration::from_secs(1);

/// Answers requests until the client leaves, its time is up or the service stops. `trusted`: the connection is a
/// proxy's, and what it says of its clients counts.
pub(super) async fn serve<S>(
    stream: S,
    h2: bool,
    peer: Peer,
    trusted: Option<Arc<Trusted>>,
    house: ServerState,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let ServerState { service, limits, mut stopping, .. } = house;
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
            if !h2 && *closing.borrow() {
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
            // The connection first: what it just did decides about its deadline.
            biased;
            end = poll_fn(|cx| match connection.as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(End::Itself(result)),
                Poll::Pending => poll_patience(&progress, &limits, deadline.as_mut(), cx),
            }) => end,
            _ = stopping.wait_for(|stop| *stop) => End::Stop,
        };
        match end {
            End::Itself(Ok(())) => {}
            End::Itself(Err(error)) => {
                tracing::debug!(peer = %peer.0, %error, "connection ended");
                // What cannot be read is answered with 400. After any other error the client is gone, or does not read.
                if !error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
                    return;
                }
            }
            End::HangUp => return,
            End::Farewell => {
                connection.as_mut().graceful_shutdown();
                // Whatever is still going on then is cut off when the connection is dropped.
                let _ = timeout(GOODBYE, connection).await;
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

/// Reads on for a moment after the last answer. A client may have sent a request before it saw that the connection
/// closed: unread bytes would reset the connection, and the client would lose the answer before.
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

/// Ready when a connection of HTTP/1 has waited long enough for a request while the service stops.
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

/// Ready when the connection's deadline is at its end. The timer is set anew only where it would come too late, or
/// came too early: most requests do not touch it.
fn poll_patience(
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
    // The protocol was agreed upon in the handshake, or is the only one: there is nothing to guess from first bytes.
    let builder = Builder::new(TokioExecutor::new());
    let mut builder = if h2 { builder.http2_only() } else { builder.http1_only() };
    builder
        .http1()
        .timer(TokioTimer::new())
        // Ours tells an idle client from a slow one.
        .header_read_timeout(None)
        // Room for a request line and headers well past what is accepted, so that the refusal can be a proper answer.
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
