//! Tracks the state of a connection, to decide its deadline.
//!
//! hyper has one timeout for "no header yet", whether the header trickles in or the client has nothing to request. These
//! need different deadlines, so the bytes are observed on their way in and the requests on their way out.

use super::Limits;
use super::header_lines::HeaderLines;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
enum ConnectionPhase {
    /// No byte has been received yet.
    New(Instant),
    /// Between two requests.
    Idle(Instant),
    /// A header has begun.
    Header(Instant),
    /// This many requests are in flight. There is no deadline: streams stay open for hours.
    Busy(usize),
}

/// The deadline of a connection, and the action when it passes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deadline {
    /// Shut the connection down in an orderly way.
    Idle(Instant),
    /// Close the connection.
    Header(Instant),
}

/// The state of a connection, shared between its stream, its requests and its supervisor.
#[derive(Clone)]
pub(super) struct Progress(Arc<Mutex<ConnectionPhase>>);

impl Progress {
    pub(super) fn new() -> Progress {
        Progress(Arc::new(Mutex::new(ConnectionPhase::New(Instant::now()))))
    }

    pub(super) fn deadline(&self, limits: &Limits) -> Option<Deadline> {
        match *self.phase() {
            ConnectionPhase::Idle(since) => Some(Deadline::Idle(since + limits.idle)),
            ConnectionPhase::New(since) | ConnectionPhase::Header(since) => {
                Some(Deadline::Header(since + limits.header))
            }
            ConnectionPhase::Busy(_) => None,
        }
    }

    /// While the server stops: how long the connection waits for a request, if it is idle. `stopped` is when the stop
    /// began.
    pub(super) fn grace(&self, limits: &Limits, stopped: Instant) -> Option<Instant> {
        match *self.phase() {
            ConnectionPhase::New(since) => Some(since.max(stopped) + limits.first_request_grace),
            ConnectionPhase::Idle(since) => Some(since.max(stopped) + limits.idle_grace),
            ConnectionPhase::Header(_) | ConnectionPhase::Busy(_) => None,
        }
    }

    pub(super) fn request(&self) -> InFlight {
        let mut phase = self.phase();
        *phase = match *phase {
            ConnectionPhase::Busy(requests) => ConnectionPhase::Busy(requests.saturating_add(1)),
            ConnectionPhase::New(_) | ConnectionPhase::Idle(_) | ConnectionPhase::Header(_) => {
                ConnectionPhase::Busy(1)
            }
        };
        InFlight(self.clone())
    }

    fn byte_received(&self) {
        let mut phase = self.phase();
        *phase = match *phase {
            ConnectionPhase::New(since) => ConnectionPhase::Header(since),
            ConnectionPhase::Idle(_) => ConnectionPhase::Header(Instant::now()),
            other => other,
        };
    }

    /// Every change is one assignment, so a poisoned lock holds a valid phase.
    fn phase(&self) -> MutexGuard<'_, ConnectionPhase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight, until this is dropped.
pub(super) struct InFlight(Progress);

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut phase = self.0.phase();
        *phase = match *phase {
            ConnectionPhase::Busy(requests) if requests > 1 => ConnectionPhase::Busy(requests - 1),
            _ => ConnectionPhase::Idle(Instant::now()),
        };
    }
}

/// The observers of an HTTP/1 stream. HTTP/2 needs none: bytes between requests belong to the protocol, and
/// unanswered pings end a connection that stalls within a header.
pub(super) struct Http1 {
    pub(super) progress: Progress,
    pub(super) lines: HeaderLines,
}

/// A stream that reports received bytes, and is returned when HTTP is done with it.
pub(super) struct Watched<S> {
    /// `None` after the stream is returned.
    inner: Option<S>,
    http1: Option<Http1>,
    give_back: Option<oneshot::Sender<S>>,
}

impl<S> Watched<S> {
    /// The stream, and the channel that returns it.
    pub(super) fn new(inner: S, http1: Option<Http1>) -> (Watched<S>, oneshot::Receiver<S>) {
        let (give_back, returned) = oneshot::channel();
        (Watched { inner: Some(inner), http1, give_back: Some(give_back) }, returned)
    }
}

impl<S: Unpin> Watched<S> {
    fn inner(&mut self) -> io::Result<Pin<&mut S>> {
        self.inner.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl<S> Drop for Watched<S> {
    fn drop(&mut self) {
        if let (Some(inner), Some(give_back)) = (self.inner.take(), self.give_back.take()) {
            // The receiver is gone if the connection was closed hard.
            let _ = give_back.send(inner);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let answer = self.inner()?.poll_read(cx, buf);
        if let Some(http1) = &mut self.http1
            && let Some(came) = buf.filled_mut().get_mut(before..).filter(|came| !came.is_empty())
        {
            http1.progress.byte_received();
            http1.lines.check(came);
        }
        answer
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.inner()?.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner()?.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner()?.poll_shutdown(cx)
    }
}
