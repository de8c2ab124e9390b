//! Wakes those who watch. A wake-up says only that something may have arrived: whoever is woken looks for themselves,
//! so one too many does no harm, and one too few is made up for by the look that everybody takes now and then.

use model::{Position, Uid};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use store::{Notice, Store};
use tokio::sync::Notify;

/// How many streams an account may have open in this process.
const MAX_STREAMS_PER_ACCOUNT: usize = 32;
/// Between two looks whether another process has delivered something.
const LOOK_AT_OTHERS: Duration = Duration::from_secs(1);
/// The same where others tell of it before they are quite done.
const LOOK_SOON: Duration = Duration::from_millis(100);
/// Accounts that one notice tells of.
const ACCOUNTS_PER_NOTICE: usize = 1_000;

/// Who watches which account's collections in this process.
#[derive(Default)]
pub struct Hub {
    inner: Mutex<Inner>,
    written: Notify,
    closing: AtomicBool,
    /// How far this process knows the log to be delivered.
    floor: AtomicU64,
    /// Whether other processes hear what this one tells, and tell themselves.
    tells: AtomicBool,
    /// Forgets what is remembered of accounts.
    forgets: OnceLock<Forgets>,
}

type Forgets = Box<dyn Fn(&[Uid]) + Send + Sync>;

#[derive(Default)]
struct Inner {
    watched: HashMap<Uid, (usize, Arc<Notify>)>,
    permits: HashMap<Uid, usize>,
    /// Whom to wake as soon as the floor has passed.
    due: Vec<Uid>,
    /// Of whom other processes are told then.
    touched: HashSet<Uid>,
    /// Whom to wake as soon as the floor is there: other processes told of them.
    told: Vec<(Position, Uid)>,
}

impl Hub {
    /// Watches an account's collections until what is given back is dropped.
    pub fn watch(self: &Arc<Hub>, uid: Uid) -> Watch {
        let mut inner = self.lock();
        let (watchers, notify) = inner.watched.entry(uid).or_default();
        *watchers += 1;
        Watch { hub: Arc::clone(self), uid, notify: Arc::clone(notify) }
    }

    /// A place for one more stream of that account; `None` if it has all that it may have.
    pub fn permit(self: &Arc<Hub>, uid: Uid) -> Option<StreamPermit> {
        let mut inner = self.lock();
        let taken = inner.permits.entry(uid).or_default();
        if *taken >= MAX_STREAMS_PER_ACCOUNT {
            return None;
        }
        *taken += 1;
        Some(StreamPermit { hub: Arc::clone(self), uid })
    }

    /// The service stops: streams say goodbye.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Whether the service stops.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Something was written to the log: the worker need not wait for its next look.
    pub fn wrote(&self) {
        self.written.notify_one();
    }

    /// Waits until something was written, but no longer than `at_most`.
    pub async fn written(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.written.notified()).await;
    }

    /// Whenever somebody has done something, `forgets` is told of them, at the latest when those are woken who watch.
    pub fn on_activity(&self, forgets: impl Fn(&[Uid]) + Send + Sync + 'static) {
        // There is one who remembers.
        let _ = self.forgets.set(Box::new(forgets));
    }

    /// These have done something.
    pub(crate) fn did_something(&self, uids: &[Uid]) {
        if let Some(forgets) = self.forgets.get() {
            forgets(uids);
        }
    }

    /// Notes whom to wake at the next [`wake`](Hub::wake).
    pub(crate) fn wake_later(&self, uids: impl IntoIterator<Item = Uid>) {
        let mut inner = self.lock();
        let tells = self.tells.load(Ordering::Relaxed);
        if inner.watched.is_empty() && !tells {
            return;
        }
        let Inner { watched, due, touched, .. } = &mut *inner;
        for uid in uids {
            if watched.contains_key(&uid) {
                due.push(uid);
            }
            if tells {
                touched.insert(uid);
            }
        }
    }

    /// Tells other processes whom something was delivered to, up to that position.
    pub(crate) async fn tell_others(&self, store: &dyn Store, at: Position) {
        let touched: Vec<Uid> = std::mem::take(&mut self.lock().touched).into_iter().collect();
        for some in touched.chunks(ACCOUNTS_PER_NOTICE) {
            // They look by themselves now and then.
            let _ = store.broadcast(&Notice::Arrived(at, some.to_vec())).await;
        }
    }

    /// From now on other processes are told of deliveries.
    pub fn tell_from_now_on(&self) {
        self.tells.store(true, Ordering::Relaxed);
    }

    /// Another process told that something arrived.
    pub fn told(&self, at: Position, uids: &[Uid]) {
        self.did_something(uids);
        let mut inner = self.lock();
        let there = self.floor.load(Ordering::Relaxed) >= at.0;
        for uid in uids {
            match inner.watched.get(uid) {
                Some((_, notify)) if there => notify.notify_waiters(),
                Some(_) => inner.told.push((at, *uid)),
                None => {}
            }
        }
    }

    /// Wakes those of whom others told, as far as the floor has come.
    fn wake_told(&self, floor: Position) {
        let mut inner = self.lock();
        let (there, not_yet) = std::mem::take(&mut inner.told).into_iter().partition(|(at, _)| *at <= floor);
        inner.told = not_yet;
        let there: Vec<(Position, Uid)> = there;
        for (_, uid) in there {
            if let Some((_, notify)) = inner.watched.get(&uid) {
                notify.notify_waiters();
            }
        }
    }

    /// Wakes those who were noted, now that everything up to `floor` is delivered.
    pub(crate) fn wake(&self, floor: Position) {
        self.floor.fetch_max(floor.0, Ordering::Relaxed);
        let mut inner = self.lock();
        let due = std::mem::take(&mut inner.due);
        for uid in due {
            if let Some((_, notify)) = inner.watched.get(&uid) {
                notify.notify_waiters();
            }
        }
    }

    /// Looks now and then how far deliveries have come, and wakes whom that concerns: those of whom other processes told,
    /// or everybody where nobody tells.
    pub async fn watch_others(&self, store: Arc<dyn Store>, shutdown: impl Future<Output = ()>) {
        let for_ever = async {
            loop {
                let tells = self.tells.load(Ordering::Relaxed);
                let waits = !tells || !self.lock().told.is_empty();
                tokio::time::sleep(if tells { LOOK_SOON } else { LOOK_AT_OTHERS }).await;
                if waits
                    && let Ok(floor) = store.floor().await
                    && self.floor.fetch_max(floor.0, Ordering::Relaxed) < floor.0
                {
                    if tells { self.wake_told(floor) } else { self.wake_all() }
                }
            }
        };
        tokio::select! {
            () = shutdown => {}
            () = for_ever => {}
        }
    }

    fn wake_all(&self) {
        for (_, notify) in self.lock().watched.values() {
            notify.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing that is done under the lock can leave it half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches an account's collections.
pub struct Watch {
    hub: Arc<Hub>,
    uid: Uid,
    notify: Arc<Notify>,
}

impl Watch {
    /// Whose.
    pub fn uid(&self) -> Uid {
        self.uid
    }

    /// Comes when something may have arrived since this was called: call it, then look, then wait for it.
    pub fn woken(&self) -> impl Future<Output = ()> + Send + 'static {
        Arc::clone(&self.notify).notified_owned()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut inner = self.hub.lock();
        if let Some((watchers, _)) = inner.watched.get_mut(&self.uid) {
            *watchers -= 1;
            if *watchers == 0 {
                inner.watched.remove(&self.uid);
            }
        }
    }
}

/// A place for a stream, until it is dropped.
pub struct StreamPermit {
    hub: Arc<Hub>,
    uid: Uid,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut inner = self.hub.lock();
        if let Some(taken) = inner.permits.get_mut(&self.uid) {
            *taken -= 1;
            if *taken == 0 {
                inner.permits.remove(&self.uid);
            }
        }
    }
}
