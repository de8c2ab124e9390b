//! Bodies with a time limit on their way in, and with a note of the request on their way out.

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

/// How much of a body that nobody wants is still taken, and for how long: an activity of more than its size, too.
const UNWANTED: usize = 128 * 1024;
const UNWANTED_FOR: Duration = Duration::from_secs(2);

/// A request's body, which fails when it stays away for too long or takes too long as a whole.
pub(super) struct Timed {
    /// There until the body is dropped. Who is answered in the middle of sending does not always hear the answer: an
    /// HTTP/2 stream that is let go before its body came is reset, an HTTP/1 connection is closed, and many clients (curl,
    /// Python) then tell of that alone. So what is left of the body is taken in after the answer.
    inner: Option<Incoming>,
    limits: Limits,
    end: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    pub(super) fn wrap(inner: Incoming, limits: Limits) -> Body {
        // Most requests have none, and then there is nothing to time.
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
            runtime.spawn(tokio::time::timeout(UNWANTED_FOR, take_unwanted(left)));
        }
    }
}

async fn take_unwanted(body: Incoming) {
    let mut body = Limited::new(body, UNWANTED);
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
        // Who has not sent it by now is not waited for any longer.
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

/// An answer's body; the request is in flight until it is dropped.
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
