//! A store that breaks on purpose. **Only for tests**: it shows that what stands on a store gets over whatever a store
//! can do to it.
//!
//! [`Faulty`] stands in front of another store and hands every call on, unless the test has planned a [`Fault`] for it.
//! It reads no clock and throws no dice: the same plan before the same calls breaks the same ones. What goes wrong is
//! what goes wrong on real ones:
//!
//! - a call fails, and nothing has happened; or it has, and the answer got lost;
//! - a write takes longer than its caller waits, and happens all the same, much later: it is kept until the test
//!   [lands](Faulty::land) it, however much else was written meanwhile;
//! - a process crashes: none of its calls goes through until it is [started again](Faulty::restart). What it had sent
//!   before may still land. Every process of a test has a wrapper of its own around the one store that they share.
//!
//! Besides, a worker may be [dealt](Faulty::deal) its tasks otherwise than the log has them: late, in another order, or
//! long after somebody else has done them.

mod calls;

use crate::{Gates, Result, Store, StoreError, Task};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, and nothing has happened.
    Before,
    /// It happens, but the answer gets lost.
    After,
    /// A write happens long after its caller was told that nobody knows. A read has nothing to do late: its answer is lost.
    Late,
    /// The process crashes before it.
    CrashBefore,
    /// The process crashes when it has happened, before the answer comes.
    CrashAfter,
}

/// A call that a plan decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The method's name.
    pub name: &'static str,
    /// Whether it changes anything.
    pub writes: bool,
}

/// A store that does as it is planned.
pub struct Faulty {
    inner: Arc<dyn Store>,
    state: Mutex<State>,
    unplanned: Unplanned,
    /// Every process of a test queues its own changes.
    update_gates: Gates,
}

type Plan = Box<dyn FnMut(Call) -> Option<Fault> + Send>;
type Deal = Box<dyn FnMut(Vec<Task>) -> Vec<Task> + Send>;
type Write = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Counts calls that got no answer though nobody planned it.
#[derive(Clone, Default)]
struct Unplanned(Arc<AtomicUsize>);

impl Unplanned {
    fn noted<T>(&self, answer: Result<T>) -> Result<T> {
        if let Err(StoreError::Unavailable(_) | StoreError::Unknown(_)) = answer {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}

#[derive(Default)]
struct State {
    plan: Option<Plan>,
    deal: Option<Deal>,
    crashed: bool,
    /// Writes that are under way for longer than anybody waits.
    late: Vec<Write>,
}

impl Faulty {
    /// A store before `inner` in which nothing goes wrong yet.
    pub fn new(inner: Arc<dyn Store>) -> Faulty {
        Faulty {
            inner,
            state: Mutex::default(),
            unplanned: Unplanned::default(),
            update_gates: Gates::default(),
        }
    }

    /// From now on `plan` is asked what goes wrong with each call; it is asked in the order of the calls.
    pub fn plan(&self, plan: impl FnMut(Call) -> Option<Fault> + Send + 'static) {
        self.state().plan = Some(Box::new(plan));
    }

    /// From now on `deal` says which tasks somebody gets who asks for the pending ones: those that it is given are what
    /// the log has.
    pub fn deal(&self, deal: impl FnMut(Vec<Task>) -> Vec<Task> + Send + 'static) {
        self.state().deal = Some(Box::new(deal));
    }

    /// Nothing goes wrong any more, and tasks are dealt as they are. What is late stays late, and who crashed stays so.
    pub fn calm(&self) {
        let mut state = self.state();
        (state.plan, state.deal) = (None, None);
    }

    /// Every call fails from now on.
    pub fn crash(&self) {
        self.state().crashed = true;
    }

    /// The process is started again.
    pub fn restart(&self) {
        self.state().crashed = false;
    }

    /// How many writes are late.
    pub fn late(&self) -> usize {
        self.state().late.len()
    }

    /// Lands one of the late writes, the `which`th of those that there are. `false`: there are not so many.
    pub async fn land_one(&self, which: usize) -> bool {
        let write = {
            let mut state = self.state();
            if which >= state.late.len() {
                return false;
            }
            state.late.remove(which)
        };
        write.await;
        true
    }

    /// Lands all late writes, in the order in which they were begun; gives their number.
    pub async fn land(&self) -> usize {
        let mut landed = 0;
        while self.land_one(0).await {
            landed += 1;
        }
        landed
    }

    /// How many calls got no answer though nobody planned it: the store behind this one could not give any.
    pub fn unplanned(&self) -> usize {
        self.unplanned.0.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A plan that panicked has failed its test already.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is planned for this call.
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
            None => self.unplanned.noted(read.await),
            Some(_) => Err(StoreError::Unavailable(format!("planned: {name} can't be read"))),
        }
    }

    async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        write: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let unplanned = self.unplanned.clone();
        let write = async move { unplanned.noted(write.await) };
        match self.fault(name, true) {
            None => return write.await,
            Some(Fault::Before | Fault::CrashBefore) => {
                return Err(StoreError::Unavailable(format!("planned: {name} is not done")));
            }
            // Nobody waits for its answer any more, whatever that is.
            Some(Fault::After | Fault::CrashAfter) => drop(write.await),
            Some(Fault::Late) => self.state().late.push(Box::pin(async move { drop(write.await) })),
        }
        Err(StoreError::Unknown(format!("planned: nobody knows whether {name} is done")))
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
