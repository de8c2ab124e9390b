//! What a connection is doing, so that it can be told for how long it may go on.
//!
//! hyper has one time-out for "no header yet", whether its bytes trickle in or the client has simply nothing to ask.
//! These deserve different patience, so the bytes are watched on their way in and the requests on their way out.

use super::Limits;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Between two requests.
    Idle(Instant),
    /// A header has begun to come in, or the first one is awaited.
    Header(Instant),
    /// So many requests are being answered; this has no end of its own, streams stay open for hours.
    Busy(usize),
}

/// Until when a connection may stay as it is, and what is to be done then.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patience {
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
        Progress(Arc::new(Mutex::new(Phase::Header(Instant::now()))))
    }

    pub(super) fn patience(&self, limits: &Limits) -> Option<Patience> {
        match *self.phase() {
            Phase::Idle(since) => Some(Patience::Idle(since + limits.idle)),
            Phase::Header(since) => Some(Patience::Header(since + limits.header)),
            Phase::Busy(_) => None,
        }
    }

    pub(super) fn request(&self) -> InFlight {
        let mut phase = self.phase();
        *phase = match *phase {
            Phase::Busy(requests) => Phase::Busy(requests.saturating_add(1)),
            Phase::Idle(_) | Phase::Header(_) => Phase::Busy(1),
        };
        InFlight(self.clone())
    }

    fn byte_came(&self) {
        let mut phase = self.phase();
        if let Phase::Idle(_) = *phase {
            *phase = Phase::Header(Instant::now());
        }
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

/// A stream that tells when a header begins. Not for HTTP/2, where bytes between requests are the protocol's own
/// business, and where unanswered pings end a connection that stalls within a header.
pub(super) struct Watched<S> {
    inner: S,
    progress: Option<Progress>,
}

impl<S> Watched<S> {
    pub(super) fn new(inner: S, progress: Option<Progress>) -> Watched<S> {
        Watched { inner, progress }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let answer = Pin::new(&mut self.inner).poll_read(cx, buf);
        if let Some(progress) = &self.progress
            && buf.filled().len() > before
        {
            progress.byte_came();
        }
        answer
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
