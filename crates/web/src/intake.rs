//! Resource accounting while a request body arrives.
//!
//! A body arrives as slowly as its sender likes. A request therefore gives up its slot, and its place among those in
//! flight, while it waits for the body, and acquires them again when the body is complete. The received bytes count against a budget of the process, and against
//! the share of the sender, until the body is read or the request ends.

use super::Problem;
use super::admission::{Admission, InFlight, Work};
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use model::Uid;
use model::network::subscriber_of;
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

/// The maximum number of body bytes that the process holds.
const BUDGET: usize = 64 << 20;
/// The part of it that one sender may use.
const SHARE: usize = BUDGET / 8;

/// The request slots and the byte budget of the process.
#[derive(Clone)]
pub(super) struct Capacity {
    slots: Arc<Semaphore>,
    bodies: Arc<Mutex<BodyBytes>>,
    admission: Admission,
}

/// Body bytes held now.
#[derive(Default)]
struct BodyBytes {
    held: usize,
    by_sender: HashMap<Sender, usize>,
}

/// The sender that a body is charged to: the account, or the address of an unauthenticated caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sender {
    Account(Uid),
    Address(IpAddr),
}

impl Capacity {
    /// Capacity for this many concurrent requests.
    pub(super) fn new(requests: usize, admission: Admission) -> Capacity {
        Capacity { slots: Arc::new(Semaphore::new(requests)), bodies: Arc::default(), admission }
    }

    /// Admits a request from this address. `None` if no slot is free.
    pub(super) fn admit(&self, from: IpAddr, work: Work) -> Option<Arc<Intake>> {
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        let state = IntakeState {
            slot: Some(slot),
            in_flight: None,
            sender: Sender::Address(subscriber_of(from)),
            held: 0,
            waiting_since: None,
            waited: Duration::ZERO,
            refusal: None,
        };
        Some(Arc::new(Intake { capacity: self.clone(), work, state: Mutex::new(state) }))
    }
}

impl BodyBytes {
    fn take(&mut self, sender: Sender, bytes: usize) -> Result<(), BodyRefusal> {
        if self.held + bytes > BUDGET {
            return Err(BodyRefusal::Full);
        }
        let share = self.by_sender.entry(sender).or_default();
        if *share + bytes > SHARE {
            return Err(BodyRefusal::ShareUsed);
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

/// Why the server stopped reading a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyRefusal {
    /// The body did not arrive in time.
    Stalled,
    /// The process has reached its limit of bytes or requests.
    Full,
    /// The sender has used up its share.
    ShareUsed,
}

/// The capacity that a request holds, from its header to its response.
pub(super) struct Intake {
    capacity: Capacity,
    work: Work,
    state: Mutex<IntakeState>,
}

struct IntakeState {
    slot: Option<OwnedSemaphorePermit>,
    in_flight: Option<InFlight>,
    sender: Sender,
    held: usize,
    waiting_since: Option<Instant>,
    waited: Duration,
    refusal: Option<BodyRefusal>,
}

impl Intake {
    /// Wraps the body to count its bytes and the waiting time.
    pub(super) fn meter(self: &Arc<Self>, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Metered { inner: body, intake: Arc::clone(self) })
    }

    /// The request is authenticated and its work begins: it counts as one in flight, if there are not too many.
    pub(super) fn begin_work(&self) -> Result<(), Problem> {
        let in_flight = self.capacity.admission.begin(self.work).ok_or_else(Problem::busy)?;
        self.state().in_flight = Some(in_flight);
        Ok(())
    }

    /// The response begins: the request is no longer in flight.
    pub(super) fn end_work(&self) {
        let in_flight = self.state().in_flight.take();
        in_flight.into_iter().for_each(InFlight::end);
    }

    /// Charges the body to the account's share from now on.
    pub(super) fn charge(&self, account: Uid) {
        let (mut state, mut bodies) = (self.state(), self.bodies());
        bodies.give_back(state.sender, state.held);
        state.sender = Sender::Account(account);
        // A form that was read before authentication is small; it is not refused afterwards.
        if bodies.take(state.sender, state.held).is_err() {
            state.held = 0;
        }
    }

    /// Returns the bytes to the budget: the body has been parsed.
    pub(super) fn release_bytes(&self) {
        let mut state = self.state();
        let held = std::mem::take(&mut state.held);
        self.bodies().give_back(state.sender, held);
    }

    /// The problem, if the server stopped reading the body.
    pub(super) fn refusal(&self) -> Option<Problem> {
        self.state().refusal.map(|refusal| match refusal {
            BodyRefusal::Stalled => Problem::stalled_body(),
            BodyRefusal::Full => Problem::busy(),
            BodyRefusal::ShareUsed => Problem::too_many_bodies(SHARE),
        })
    }

    /// Runs the work of the request for at most `limit`, not counting the time spent waiting for the body.
    pub(super) async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let (mut deadline, mut allowed) = (Instant::now() + limit, Duration::ZERO);
        loop {
            if let Ok(done) = tokio::time::timeout_at(deadline, &mut work).await {
                return Some(done);
            }
            let waited = self.waited();
            if waited <= allowed {
                return None;
            }
            deadline += waited - allowed;
            allowed = waited;
        }
    }

    fn waited(&self) -> Duration {
        let state = self.state();
        state.waited + state.waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// The request waits for its body and gives up its slot.
    fn pause(&self) {
        let mut state = self.state();
        state.slot = None;
        state.in_flight.iter_mut().for_each(InFlight::pause);
        state.waiting_since.get_or_insert_with(Instant::now);
    }

    /// A part of the body arrived.
    fn arrived(&self, bytes: usize) -> Result<(), BodyRefusal> {
        let mut state = self.state();
        let waited = state.waiting_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        state.waited += waited;
        self.bodies().take(state.sender, bytes)?;
        state.held += bytes;
        Ok(())
    }

    /// The body is complete. The request continues if a slot is free.
    fn resume(&self) -> Result<(), BodyRefusal> {
        self.arrived(0)?;
        let mut state = self.state();
        if state.slot.is_none() {
            let slot = Arc::clone(&self.capacity.slots).try_acquire_owned();
            state.slot = Some(slot.map_err(|_| BodyRefusal::Full)?);
        }
        state.in_flight.iter_mut().for_each(InFlight::resume);
        Ok(())
    }

    fn refuse(&self, refusal: BodyRefusal) -> axum::Error {
        self.state().refusal = Some(refusal);
        axum::Error::new(io::Error::other("request body refused"))
    }

    /// Every change leaves a consistent state, so a poisoned lock is safe to use.
    fn state(&self) -> MutexGuard<'_, IntakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bodies(&self) -> MutexGuard<'_, BodyBytes> {
        self.capacity.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.release_bytes();
    }
}

/// A body whose bytes and waiting time are counted.
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
            Some(Err(error)) if is_timeout(error) => Err(BodyRefusal::Stalled),
            Some(Err(_)) | None => Ok(()),
        };
        // A reader may never poll for the end of a body that has announced it.
        let is_complete = frame.is_none() || self.inner.is_end_stream();
        let outcome = arrived.and_then(|()| if is_complete { self.intake.resume() } else { Ok(()) });
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

fn is_timeout(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}
