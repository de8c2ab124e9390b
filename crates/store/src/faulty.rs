//! A store with fault injection. **Only for tests**: it shows that the code above a store tolerates every failure of
//! a store.
//!
//! [`Faulty`] wraps another store and forwards every call, unless the test has planned a [`Fault`] for it. It reads
//! no clock and uses no random numbers: the same plan and the same calls give the same faults. The faults are those
//! of real stores:
//!
//! - a call fails without an effect, or it succeeds and the response is lost;
//! - a write times out and takes effect much later: it is held until the test [lands](Faulty::land) it, after any
//!   number of other writes;
//! - a process crashes: all its calls fail until the [restart](Faulty::restart). Writes that it sent before may
//!   still land. Each process of a test has its own wrapper around the shared store.
//!
//! A test can also change which tasks a worker [gets](Faulty::deal): late, in another order, or long after another
//! worker has executed them.

mod calls;

use crate::{Result, Store, StoreError, StripedLocks, Task};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A failure of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails without an effect.
    Before,
    /// It takes effect, and the response is lost.
    After,
    /// A write reports an unknown outcome and takes effect when it is landed. A read just fails.
    Late,
    /// The process crashes before the call.
    CrashBefore,
    /// The process crashes after the call took effect, before the response.
    CrashAfter,
}

/// A call for which a plan may return a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The method's name.
    pub name: &'static str,
    /// Whether it is a write.
    pub writes: bool,
}

/// A store with planned faults.
pub struct Faulty {
    inner: Arc<dyn Store>,
    state: Mutex<State>,
    unplanned: Unplanned,
    /// Each process of a test serialises its own updates.
    update_locks: StripedLocks,
}

type Plan = Box<dyn FnMut(Call) -> Option<Fault> + Send>;
type Deal = Box<dyn FnMut(Vec<Task>) -> Vec<Task> + Send>;
type Write = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Counts failed calls without a planned fault.
#[derive(Clone, Default)]
struct Unplanned(Arc<AtomicUsize>);

impl Unplanned {
    fn count_failure<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(StoreError::Unavailable(_) | StoreError::Unknown(_)) = result {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        result
    }
}

#[derive(Default)]
struct State {
    plan: Option<Plan>,
    deal: Option<Deal>,
    crashed: bool,
    /// Writes whose callers have timed out.
    late: Vec<Write>,
}

impl Faulty {
    /// Wraps `inner`, without any faults yet.
    pub fn new(inner: Arc<dyn Store>) -> Faulty {
        Faulty {
            inner,
            state: Mutex::default(),
            unplanned: Unplanned::default(),
            update_locks: StripedLocks::default(),
        }
    }

    /// Sets the plan: it is called for each call, in order, and returns the fault.
    pub fn plan(&self, plan: impl FnMut(Call) -> Option<Fault> + Send + 'static) {
        self.state().plan = Some(Box::new(plan));
    }

    /// Sets a function that maps the pending tasks of the log to those that [`pending`](crate::Log::pending) returns.
    pub fn deal(&self, deal: impl FnMut(Vec<Task>) -> Vec<Task> + Send + 'static) {
        self.state().deal = Some(Box::new(deal));
    }

    /// Removes the plan and the task function. Late writes stay late, and a crashed process stays crashed.
    pub fn calm(&self) {
        let mut state = self.state();
        (state.plan, state.deal) = (None, None);
    }

    /// Makes every call fail until [`restart`](Faulty::restart).
    pub fn crash(&self) {
        self.state().crashed = true;
    }

    /// Ends a crash.
    pub fn restart(&self) {
        self.state().crashed = false;
    }

    /// The number of late writes.
    pub fn late(&self) -> usize {
        self.state().late.len()
    }

    /// Lands the late write with this index. `false`: there is none.
    pub async fn land_one(&self, index: usize) -> bool {
        let write = {
            let mut state = self.state();
            if index >= state.late.len() {
                return false;
            }
            state.late.remove(index)
        };
        write.await;
        true
    }

    /// Lands all late writes in the order of their calls, and returns their number.
    pub async fn land(&self) -> usize {
        let mut landed = 0;
        while self.land_one(0).await {
            landed += 1;
        }
        landed
    }

    /// The number of calls that failed without a planned fault, because the wrapped store failed.
    pub fn unplanned(&self) -> usize {
        self.unplanned.0.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A plan that panicked has already failed its test.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The planned fault of this call.
    fn fault(&self, name: &'static str, writes: bool) -> Option<Fault> {
        let mut state = self.state();
        if state.crashed {
            return Some(Fault::Before);
        }
        let fault = state.plan.as_mut().and_then(|plan| plan(Call { name, writes }));
        state.crashed = matches!(fault, Some(Fault::CrashBefore | Fault::CrashAfter));
        fault
    }

    async fn read<T>(&self, name: &'static str, read: impl Future<Output = Result<T>>) -> Result<T> {
        match self.fault(name, false) {
            None => self.unplanned.count_failure(read.await),
            Some(_) => Err(StoreError::Unavailable(format!("planned fault: {name} failed"))),
        }
    }

    async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        write: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let unplanned = self.unplanned.clone();
        let write = async move { unplanned.count_failure(write.await) };
        match self.fault(name, true) {
            None => return write.await,
            Some(Fault::Before | Fault::CrashBefore) => {
                return Err(StoreError::Unavailable(format!("planned fault: {name} failed")));
            }
            // The response is lost, so it does not matter.
            Some(Fault::After | Fault::CrashAfter) => drop(write.await),
            Some(Fault::Late) => self.state().late.push(Box::pin(async move { drop(write.await) })),
        }
        Err(StoreError::Unknown(format!("planned fault: outcome of {name} is unknown")))
    }

    fn dealt(&self, tasks: Vec<Task>) -> Vec<Task> {
        match &mut self.state().deal {
            Some(deal) => deal(tasks),
            None => tasks,
        }
    }
}

#[cfg(test)]
mod tests;
