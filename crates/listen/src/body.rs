//! Request bodies with a time limit, and response bodies that count as in flight.

use super::Limits;
use super::progress::InFlight;
use axum::body::{Body, Bytes, HttpBody};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Frame, Incoming, SizeHint};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// How much of an unread body is still received, and for how long. Enough for an oversized activity.
const MAX_DRAINED: usize = 128 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A request body that fails if the next part or the whole of it takes too long.
pub(super) struct Timed {
    /// `None` once the body is dropped. A client that gets a response while it still sends does not always see it: an
    /// HTTP/2 stream that is dropped before its body came is reset, an HTTP/1 connection is closed, and many clients (curl,
    /// Python) then report only that. So the rest of the body is drained after the response.
    inner: Option<Incoming>,
    limits: Limits,
    end: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    pub(super) fn wrap(inner: Incoming, limits: Limits) -> Body {
        // Most requests have no body, and nothing to time.
        if inner.is_end_stream() {
            return Body::empty();
        }
        Body::new(Timed { inner: Some(inner), limits, end: Instant::now() + limits.body, sleep: None })
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let left = self.inner.take().filter(|inner| !inner.is_end_stream());
        if let (Some(left), Ok(runtime)) = (left, tokio::runtime::Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(DRAIN_TIMEOUT, drain(left)));
        }
    }
}

async fn drain(body: Incoming) {
    let mut body = Limited::new(body, MAX_DRAINED);
    while let Some(Ok(_)) = body.frame().await {}
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(inner).poll_frame(cx) {
            this.sleep = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)));
        }
        let until = this.end.min(Instant::now() + this.limits.body_pause);
        let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        ready!(sleep.as_mut().poll(cx));
        // A sender that has exceeded the time limit is not waited for.
        this.inner = None;
        Poll::Ready(Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut)))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

/// A response body. The request is in flight until it is dropped.
pub(super) struct CountedBody {
    inner: Body,
    _in_flight: InFlight,
}

impl CountedBody {
    pub(super) fn new(inner: Body, in_flight: InFlight) -> CountedBody {
        CountedBody { inner, _in_flight: in_flight }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
