//! What a request may hold while its body arrives: no request slot, and bytes of a budget.
//!
//! A body arrives as slowly as its sender likes. So the slot of its request is free while the body is awaited, and taken
//! again when the body is whole. The bytes that have arrived count against a budget of the process, and against the share
//! of one sender, until they are read or the request ends.

use super::Problem;
use crate::network::subscriber_of;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use model::Uid;
use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Bytes of bodies that the process holds at once.
const BUDGET: usize = 64 << 20;
/// The part of them that one sender may have.
const SHARE: usize = BUDGET / 8;

/// The slots and the byte budget that all requests of a process share.
#[derive(Clone)]
pub(super) struct Capacity {
    slots: Arc<Semaphore>,
    bodies: Arc<Mutex<Bodies>>,
}

/// Bytes that bodies hold now.
#[derive(Default)]
struct Bodies {
    held: usize,
    by_sender: HashMap<Sender, usize>,
}

/// The sender whose share a body counts against: the account, or the address of a caller that is not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sender {
    Account(Uid),
    Address(IpAddr),
}

impl Capacity {
    /// Capacity for so many requests.
    pub(super) fn new(requests: usize) -> Capacity {
        Capacity { slots: Arc::new(Semaphore::new(requests)), bodies: Arc::default() }
    }

    /// Admits a request from that address; `None` if every slot is taken.
    pub(super) fn admit(&self, from: IpAddr) -> Option<Arc<Intake>> {
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        let state = State {
            slot: Some(slot),
            sender: Sender::Address(subscriber_of(from)),
            held: 0,
            awaiting_since: None,
            awaited: Duration::ZERO,
            refusal: None,
        };
        Some(Arc::new(Intake { capacity: self.clone(), state: Mutex::new(state) }))
    }
}

impl Bodies {
    fn take(&mut self, sender: Sender, bytes: usize) -> Result<(), Refusal> {
        if self.held + bytes > BUDGET {
            return Err(Refusal::Full);
        }
        let share = self.by_sender.entry(sender).or_default();
        if *share + bytes > SHARE {
            return Err(Refusal::ShareUsed);
        }
        *share += bytes;
        self.held += bytes;
        Ok(())
    }

    fn give_back(&mut self, sender: Sender, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
        if let Some(share) = self.by_sender.get_mut(&sender) {
            *share = share.saturating_sub(bytes);
            if *share == 0 {
                self.by_sender.remove(&sender);
            }
        }
    }
}

/// Why the service stopped reading a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// It did not arrive in time.
    Stalled,
    /// The process holds as many bytes or requests as it may.
    Full,
    /// The sender holds as many bytes as one may.
    ShareUsed,
}

/// One request's part of the capacity, from its header to its answer.
pub(super) struct Intake {
    capacity: Capacity,
    state: Mutex<State>,
}

struct State {
    slot: Option<OwnedSemaphorePermit>,
    sender: Sender,
    held: usize,
    awaiting_since: Option<Instant>,
    awaited: Duration,
    refusal: Option<Refusal>,
}

impl Intake {
    /// The body, metered by this.
    pub(super) fn meter(self: &Arc<Self>, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Metered { inner: body, intake: Arc::clone(self) })
    }

    /// Counts the body against the account's share from now on.
    pub(super) fn charge(&self, account: Uid) {
        let (mut state, mut bodies) = (self.state(), self.bodies());
        bodies.give_back(state.sender, state.held);
        state.sender = Sender::Account(account);
        // A form that was read before its sender was known is small; it is not refused afterwards.
        if bodies.take(state.sender, state.held).is_err() {
            state.held = 0;
        }
    }

    /// Returns the bytes to the budget: the body was read, and what it said is held elsewhere.
    pub(super) fn release_bytes(&self) {
        let mut state = self.state();
        let held = std::mem::take(&mut state.held);
        self.bodies().give_back(state.sender, held);
    }

    /// The problem, if the service stopped reading the body.
    pub(super) fn refusal(&self) -> Option<Problem> {
        self.state().refusal.map(|refusal| match refusal {
            Refusal::Stalled => Problem::stalled_body(),
            Refusal::Full => Problem::busy(),
            Refusal::ShareUsed => Problem::too_many_bodies(SHARE),
        })
    }

    /// Runs the request's work, for at most `limit` beyond the time in which the body was awaited.
    pub(super) async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let (mut deadline, mut allowed) = (Instant::now() + limit, Duration::ZERO);
        loop {
            if let Ok(done) = tokio::time::timeout_at(deadline, &mut work).await {
                return Some(done);
            }
            let awaited = self.awaited();
            if awaited <= allowed {
                return None;
            }
            deadline += awaited - allowed;
            allowed = awaited;
        }
    }

    fn awaited(&self) -> Duration {
        let state = self.state();
        state.awaited + state.awaiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// The body is awaited: others may have the slot.
    fn pause(&self) {
        let mut state = self.state();
        state.slot = None;
        state.awaiting_since.get_or_insert_with(Instant::now);
    }

    /// A piece of the body arrived.
    fn arrived(&self, bytes: usize) -> Result<(), Refusal> {
        let mut state = self.state();
        let waited = state.awaiting_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        state.awaited += waited;
        self.bodies().take(state.sender, bytes)?;
        state.held += bytes;
        Ok(())
    }

    /// The body is whole: the request goes on if there is a slot.
    fn resume(&self) -> Result<(), Refusal> {
        self.arrived(0)?;
        let mut state = self.state();
        if state.slot.is_none() {
            let slot = Arc::clone(&self.capacity.slots).try_acquire_owned();
            state.slot = Some(slot.map_err(|_| Refusal::Full)?);
        }
        Ok(())
    }

    fn refuse(&self, refusal: Refusal) -> axum::Error {
        self.state().refusal = Some(refusal);
        axum::Error::new(io::Error::other("the service stopped reading the body"))
    }

    /// Every change leaves a whole state, so a poisoned lock still holds one.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bodies(&self) -> MutexGuard<'_, Bodies> {
        self.capacity.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.release_bytes();
    }
}

/// A body whose bytes and waiting are counted.
struct Metered {
    inner: Body,
    intake: Arc<Intake>,
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) else {
            self.intake.pause();
            return Poll::Pending;
        };
        let arrived = match &frame {
            Some(Ok(frame)) => self.intake.arrived(frame.data_ref().map_or(0, Bytes::len)),
            Some(Err(error)) if is_time_out(error) => Err(Refusal::Stalled),
            Some(Err(_)) | None => Ok(()),
        };
        // A reader may not ask for the end of a body that has announced it.
        let is_whole = frame.is_none() || self.inner.is_end_stream();
        let outcome = arrived.and_then(|()| if is_whole { self.intake.resume() } else { Ok(()) });
        Poll::Ready(match outcome {
            Ok(()) => frame,
            Err(refusal) => Some(Err(self.intake.refuse(refusal))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn is_time_out(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}
