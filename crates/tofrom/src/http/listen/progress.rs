//! What a connection is doing, so that it can be told for how long it may go on.
//!
//! hyper has one time-out for "no header yet", whether its bytes trickle in or the client has simply nothing to ask.
//! These deserve different deadline, so the bytes are watched on their way in and the requests on their way out.

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
enum Phase {
    /// Nothing has come in yet.
    New(Instant),
    /// Between two requests.
    Idle(Instant),
    /// A header has begun to come in.
    Header(Instant),
    /// So many requests are being answered; this has no end of its own, streams stay open for hours.
    Busy(usize),
}

/// Until when a connection may stay as it is, and what is to be done then.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deadline {
    /// Say goodbye.
    Idle(Instant),
    /// Hang up.
    Header(Instant),
}

/// Shared between a connection's stream, its requests and whoever ends it.
#[derive(Clone)]
pub(super) struct Progress(Arc<Mutex<Phase>>);

impl Progress {
    pub(super) fn new() -> Progress {
        Progress(Arc::new(Mutex::new(Phase::New(Instant::now()))))
    }

    pub(super) fn deadline(&self, limits: &Limits) -> Option<Deadline> {
        match *self.phase() {
            Phase::Idle(since) => Some(Deadline::Idle(since + limits.idle)),
            Phase::New(since) | Phase::Header(since) => Some(Deadline::Header(since + limits.header)),
            Phase::Busy(_) => None,
        }
    }

    /// While the service stops: until when the connection waits for a request, if it waits for one. `stopped` is when the
    /// stop began.
    pub(super) fn grace(&self, limits: &Limits, stopped: Instant) -> Option<Instant> {
        match *self.phase() {
            Phase::New(since) => Some(since.max(stopped) + limits.first_request_grace),
            Phase::Idle(since) => Some(since.max(stopped) + limits.idle_grace),
            Phase::Header(_) | Phase::Busy(_) => None,
        }
    }

    pub(super) fn request(&self) -> InFlight {
        let mut phase = self.phase();
        *phase = match *phase {
            Phase::Busy(requests) => Phase::Busy(requests.saturating_add(1)),
            Phase::New(_) | Phase::Idle(_) | Phase::Header(_) => Phase::Busy(1),
        };
        InFlight(self.clone())
    }

    fn byte_came(&self) {
        let mut phase = self.phase();
        *phase = match *phase {
            Phase::New(since) => Phase::Header(since),
            Phase::Idle(_) => Phase::Header(Instant::now()),
            other => other,
        };
    }

    /// Every change is one assignment, so a poisoned lock still holds a whole phase.
    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered, until this is dropped.
pub(super) struct InFlight(Progress);

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut phase = self.0.phase();
        *phase = match *phase {
            Phase::Busy(requests) if requests > 1 => Phase::Busy(requests - 1),
            _ => Phase::Idle(Instant::now()),
        };
    }
}

/// What is watched of HTTP/1. Not of HTTP/2, where bytes between requests are the protocol's own business, and where
/// unanswered pings end a connection that stalls within a header.
pub(super) struct Http1 {
    pub(super) progress: Progress,
    pub(super) lines: HeaderLines,
}

/// A stream that shows what comes in, and is given back when HTTP is done with it.
pub(super) struct Watched<S> {
    /// There until the stream is given back.
    inner: Option<S>,
    http1: Option<Http1>,
    give_back: Option<oneshot::Sender<S>>,
}

impl<S> Watched<S> {
    /// The stream, and where it comes back.
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
            // A connection that hangs up does not want it back.
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
            http1.progress.byte_came();
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
