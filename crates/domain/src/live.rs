//! Wakes the watchers of collections. A wake-up only means that something may have arrived: a watcher reads the
//! collection itself. So a spurious wake-up is harmless, and a lost one is covered by the watchers' regular polls.

use futures::FutureExt;
use futures::future::select_all;
use model::{Position, Uid};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use store::{Notice, Store};
use tokio::sync::{Notify, mpsc};

/// Maximum number of open streams per account in this process.
const MAX_STREAMS_PER_ACCOUNT: usize = 32;
/// Poll interval of the floor, where processes do not broadcast their deliveries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Poll interval of the floor, where processes broadcast a delivery shortly before the floor passes it.
const BROADCAST_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of accounts in one notice.
const ACCOUNTS_PER_NOTICE: usize = 1_000;

/// The watchers of each account's collections in this process.
#[derive(Default)]
pub struct Hub {
    inner: Mutex<Inner>,
    written: Notify,
    closing: AtomicBool,
    /// The floor of the log, as far as this process knows.
    floor: AtomicU64,
    /// Whether the processes broadcast their deliveries to each other.
    broadcasts: AtomicBool,
    /// Called with the actors of new activities.
    activity_listener: OnceLock<ActivityListener>,
}

type ActivityListener = Box<dyn Fn(&[Uid]) + Send + Sync>;

#[derive(Default)]
struct Inner {
    watched: HashMap<Uid, Watched>,
    permits: HashMap<Uid, usize>,
    /// Accounts to wake when the floor has passed the current batch.
    due: Vec<Uid>,
    /// Accounts to broadcast to the other processes.
    touched: HashSet<Uid>,
    /// Accounts that other processes broadcast, to wake when the floor has reached the position.
    remote: Vec<(Position, Uid)>,
    /// Gets the accounts whose hooks changed, if this process delivers hooks.
    hook_listener: Option<mpsc::UnboundedSender<Uid>>,
}

/// An account whose collections are watched.
#[derive(Default)]
struct Watched {
    watchers: usize,
    notify: Arc<Notify>,
    /// Counts the moves of its seen positions.
    seen: Arc<AtomicU64>,
}

impl Hub {
    /// Watches an account's collections until the result is dropped.
    fn watch(self: &Arc<Hub>, uid: Uid) -> Watch {
        let mut inner = self.lock();
        let watched = inner.watched.entry(uid).or_default();
        watched.watchers += 1;
        let (notify, seen) = (Arc::clone(&watched.notify), Arc::clone(&watched.seen));
        Watch { hub: Arc::clone(self), uid, notify, seen }
    }

    /// Watches a collection of that account, with the actors that it pulls, until the result is dropped.
    pub fn watch_collection(self: &Arc<Hub>, owner: Uid) -> CollectionWatch {
        CollectionWatch { owner: self.watch(owner), pulled: Vec::new() }
    }

    /// Wakes the watchers of an account because a seen position of it moved, in all processes.
    pub async fn seen_moved(&self, store: &dyn Store, uid: Uid) {
        self.seen_moved_elsewhere(uid);
        self.tell_others(store, &Notice::Seen(uid)).await;
    }

    /// Handles a broadcast of another process: a seen position of the account moved.
    pub fn seen_moved_elsewhere(&self, uid: Uid) {
        if let Some(Watched { notify, seen, .. }) = self.lock().watched.get(&uid) {
            seen.fetch_add(1, Ordering::Relaxed);
            notify.notify_waiters();
        }
    }

    /// Tells the worker that delivers the account's hooks that they changed, in any process.
    pub async fn hooks_changed(&self, store: &dyn Store, uid: Uid) {
        self.hooks_changed_elsewhere(uid);
        self.tell_others(store, &Notice::Hooks(uid)).await;
    }

    /// Handles a broadcast of another process: hooks of the account changed.
    pub fn hooks_changed_elsewhere(&self, uid: Uid) {
        if let Some(listener) = &self.lock().hook_listener {
            // The worker may have ended.
            let _ = listener.send(uid);
        }
    }

    /// The accounts whose hooks change from now on.
    pub(crate) fn listen_to_hooks(&self) -> mpsc::UnboundedReceiver<Uid> {
        let (listener, changed) = mpsc::unbounded_channel();
        self.lock().hook_listener = Some(listener);
        changed
    }

    async fn tell_others(&self, store: &dyn Store, notice: &Notice) {
        if self.broadcasts.load(Ordering::Relaxed) {
            // A lost notice is covered by regular reads.
            let _ = store.broadcast(notice).await;
        }
    }

    /// A permit for a stream of that account. `None` if the account has reached the limit.
    pub fn permit(self: &Arc<Hub>, uid: Uid) -> Option<StreamPermit> {
        let mut inner = self.lock();
        let taken = inner.permits.entry(uid).or_default();
        if *taken >= MAX_STREAMS_PER_ACCOUNT {
            return None;
        }
        *taken += 1;
        Some(StreamPermit { hub: Arc::clone(self), uid })
    }

    /// Starts the shutdown: streams send their last event and end.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Whether the server is shutting down.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Wakes the fan-out worker, after a task was appended to the log.
    pub fn wrote(&self) {
        self.written.notify_one();
    }

    /// Waits until a task is appended, at most for `timeout`.
    pub async fn written(&self, timeout: Duration) {
        let _ = tokio::time::timeout(timeout, self.written.notified()).await;
    }

    /// Sets the listener that is called with the actors of new activities, before their watchers are woken.
    pub fn on_activity(&self, listener: impl Fn(&[Uid]) + Send + Sync + 'static) {
        // There is only one listener.
        let _ = self.activity_listener.set(Box::new(listener));
    }

    /// Notifies the listener that these actors have new activities.
    pub(crate) fn notify_activity(&self, uids: &[Uid]) {
        if let Some(listener) = self.activity_listener.get() {
            listener(uids);
        }
    }

    /// Marks accounts to be woken at the next [`wake`](Hub::wake).
    pub(crate) fn wake_later(&self, uids: impl IntoIterator<Item = Uid>) {
        let mut inner = self.lock();
        let broadcasts = self.broadcasts.load(Ordering::Relaxed);
        if inner.watched.is_empty() && !broadcasts {
            return;
        }
        let Inner { watched, due, touched, .. } = &mut *inner;
        for uid in uids {
            if watched.contains_key(&uid) {
                due.push(uid);
            }
            if broadcasts {
                touched.insert(uid);
            }
        }
    }

    /// Broadcasts the accounts with deliveries up to that position to the other processes.
    pub(crate) async fn broadcast(&self, store: &dyn Store, at: Position) {
        let touched: Vec<Uid> = std::mem::take(&mut self.lock().touched).into_iter().collect();
        for some in touched.chunks(ACCOUNTS_PER_NOTICE) {
            // A lost notice is covered by the watchers' regular polls.
            let _ = store.broadcast(&Notice::Arrived(at, some.to_vec())).await;
        }
    }

    /// Turns on broadcasts to the other processes.
    pub fn enable_broadcast(&self) {
        self.broadcasts.store(true, Ordering::Relaxed);
    }

    /// Handles a broadcast of another process.
    pub fn arrived_elsewhere(&self, at: Position, uids: &[Uid]) {
        self.notify_activity(uids);
        let mut inner = self.lock();
        let is_delivered = self.floor.load(Ordering::Relaxed) >= at.0;
        for uid in uids {
            match inner.watched.get(uid) {
                Some(watched) if is_delivered => watched.notify.notify_waiters(),
                Some(_) => inner.remote.push((at, *uid)),
                None => {}
            }
        }
    }

    /// Wakes the accounts that other processes broadcast, as far as the floor has reached their positions.
    fn wake_remote(&self, floor: Position) {
        let mut inner = self.lock();
        let (ready, later) = std::mem::take(&mut inner.remote).into_iter().partition(|(at, _)| *at <= floor);
        inner.remote = later;
        let ready: Vec<(Position, Uid)> = ready;
        for (_, uid) in ready {
            if let Some(watched) = inner.watched.get(&uid) {
                watched.notify.notify_waiters();
            }
        }
    }

    /// Wakes the marked accounts, after everything up to `floor` was delivered.
    pub(crate) fn wake(&self, floor: Position) {
        self.floor.fetch_max(floor.0, Ordering::Relaxed);
        let mut inner = self.lock();
        let due = std::mem::take(&mut inner.due);
        for uid in due {
            if let Some(watched) = inner.watched.get(&uid) {
                watched.notify.notify_waiters();
            }
        }
    }

    /// Polls the floor and wakes watchers when it advances: those of broadcast accounts, or all if the processes do not
    /// broadcast.
    pub async fn poll_floor(&self, store: Arc<dyn Store>, shutdown: impl Future<Output = ()>) {
        let polls = async {
            loop {
                let broadcasts = self.broadcasts.load(Ordering::Relaxed);
                let must_poll = !broadcasts || !self.lock().remote.is_empty();
                tokio::time::sleep(if broadcasts { BROADCAST_POLL_INTERVAL } else { POLL_INTERVAL }).await;
                if must_poll
                    && let Ok(floor) = store.floor().await
                    && self.floor.fetch_max(floor.0, Ordering::Relaxed) < floor.0
                {
                    if broadcasts { self.wake_remote(floor) } else { self.wake_all() }
                }
            }
        };
        tokio::select! {
            () = shutdown => {}
            () = polls => {}
        }
    }

    fn wake_all(&self) {
        for watched in self.lock().watched.values() {
            watched.notify.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No operation under the lock leaves a partial state when it panics.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches an account's collections.
struct Watch {
    hub: Arc<Hub>,
    uid: Uid,
    notify: Arc<Notify>,
    seen: Arc<AtomicU64>,
}

impl Watch {
    fn woken(&self) -> impl Future<Output = ()> + Send + 'static {
        Arc::clone(&self.notify).notified_owned()
    }
}

/// Watches a collection: its owner, and the actors that it pulls.
pub struct CollectionWatch {
    owner: Watch,
    pulled: Vec<Watch>,
}

impl CollectionWatch {
    /// Completes when something may have arrived since this call. Call it, then read the collection, then await it.
    pub fn woken(&self) -> impl Future<Output = ()> + Send + 'static {
        let all = [&self.owner].into_iter().chain(&self.pulled).map(|watch| Box::pin(watch.woken()));
        select_all(all).map(drop)
    }

    /// Watches exactly these actors, besides the owner. `true`: one was not watched before, so another read is due.
    pub fn watch_pulled(&mut self, pulled: &[Uid]) -> bool {
        self.pulled.retain(|watch| pulled.contains(&watch.uid));
        let before = self.pulled.len();
        for uid in pulled {
            if !self.pulled.iter().any(|watch| watch.uid == *uid) {
                self.pulled.push(self.owner.hub.watch(*uid));
            }
        }
        self.pulled.len() > before
    }

    /// How often seen positions of the owner have moved. It only grows while the collection is watched.
    pub fn seen_moves(&self) -> u64 {
        self.owner.seen.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut inner = self.hub.lock();
        if let Some(watched) = inner.watched.get_mut(&self.uid) {
            watched.watchers -= 1;
            if watched.watchers == 0 {
                inner.watched.remove(&self.uid);
            }
        }
    }
}

/// A permit for one stream, until it is dropped.
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
