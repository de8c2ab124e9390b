//! Runs one hook: reads the events after its token, and sends them one at a time, in order.

use super::Hooks;
use super::hook::{Hook, all_of};
use super::message::{Message, Payloads};
use super::pools::Pools;
use super::progress::Progress;
use super::retry;
use super::worker::{DELIVERIES, SECONDS};
use crate::feed::{Event, ReadError};
use crate::live::CollectionWatch;
use crate::outgoing::random_fraction;
use metrics::{counter, histogram};
use model::{Account, Millis, Reader, Start, SyncToken, Version};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use store::StoreError;
use tokio::sync::watch;
use tokio::time::Instant;

/// The maximum number of arrivals in one read.
const MAX_ARRIVALS: usize = 20;
/// Events are read again if they could not be sent for this long: an activity may have been deleted meanwhile.
const MAX_AGE: Duration = Duration::from_secs(2);
/// The interval of reads without a wake-up.
const READ_INTERVAL: Duration = Duration::from_secs(60);
/// The pause after the store failed.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);
/// The interval of checks whether a disabled account is enabled again.
const ACCOUNT_INTERVAL: Duration = Duration::from_secs(30);
/// The progress is saved at most this often, unless [`MAX_UNSAVED`] deliveries would be repeated after a crash.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
const MAX_UNSAVED: u32 = 20;
/// If only the log went on, without events for the hook, it is enough to save this often: tokens are valid for days.
const IDLE_SAVE_INTERVAL: Duration = Duration::from_secs(600);

/// What the worker sees of a runner.
#[derive(Debug, Default)]
pub(super) struct Status {
    /// Since when an event waits, in milliseconds; 0 if none does.
    pub(super) behind_since: AtomicI64,
    /// Since when it fails; 0 if it does not.
    pub(super) failing_since: AtomicI64,
}

/// A hook that this process delivers.
pub(super) struct Runner {
    pub(super) hooks: Hooks,
    pub(super) payloads: Arc<dyn Payloads>,
    pub(super) pools: Arc<Pools>,
    /// The settings. The sender is dropped to stop.
    pub(super) settings: watch::Receiver<Arc<Hook>>,
    pub(super) status: Arc<Status>,
    pub(super) watch: CollectionWatch,
    pub(super) progress: Progress,
    /// The version of the saved progress.
    pub(super) saved_version: Option<Version>,
    pub(super) state: RunState,
}

/// The state of a runner that is not saved.
pub(super) struct RunState {
    saved: Instant,
    /// The progress differs from the saved one by more than the position of an idle hook.
    dirty: bool,
    /// Deliveries since the last save.
    unsaved: u32,
    /// Its receiver was slow the last time.
    slow: bool,
    /// Everything that arrived before then was delivered.
    caught_up: Millis,
    /// The token may have expired.
    check_expiry: bool,
}

impl RunState {
    pub(super) fn new(caught_up: Millis) -> RunState {
        RunState {
            saved: Instant::now(),
            dirty: false,
            unsaved: 0,
            slow: false,
            caught_up,
            check_expiry: true,
        }
    }
}

/// What a turn of the runner leads to.
enum Turn {
    /// There may be more to send.
    Again,
    /// Nothing to do until then, unless the settings change or, if `true`, something arrives.
    Rest(Duration, bool),
}

impl Runner {
    /// Delivers until the sender of the settings is dropped. What is under way then is repeated later.
    pub(super) async fn run(mut self) {
        let mut settings = self.settings.clone();
        let stopped = async { while settings.changed().await.is_ok() {} };
        tokio::select! {
            () = stopped => {}
            () = self.work() => {}
        }
        self.save().await;
    }

    async fn work(&mut self) {
        loop {
            let hook = Arc::clone(&self.settings.borrow_and_update());
            // Created before the read, so that an arrival during the read still wakes the runner.
            let woken = self.watch.woken();
            let turn = match self.turn(&hook).await {
                Ok(turn) => turn,
                Err(error) => {
                    tracing::warn!(%error, owner = hook.owner.0, hook = hook.name, "hook failed");
                    Turn::Rest(FAILURE_PAUSE, false)
                }
            };
            self.show_status();
            let pause = self.save_if_due().await;
            let Turn::Rest(rest, wakes) = turn else { continue };
            let pause = pause.map_or(rest, |pause| pause.min(rest));
            tokio::select! {
                changed = self.settings.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
                () = woken, if wakes => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Sends the next events, if it is time to.
    async fn turn(&mut self, hook: &Hook) -> Result<Turn, TurnError> {
        if hook.config.resumed != self.progress.resumed {
            let progress = &mut self.progress;
            progress.resumed = hook.config.resumed;
            (progress.failing_since, progress.attempts, progress.next_try) = (None, 0, None);
            self.state.dirty = true;
        }
        if hook.config.disabled.is_some() {
            return Ok(Turn::Rest(READ_INTERVAL, false));
        }
        let now = self.hooks.clock.now();
        if let Some(next) = self.progress.next_try.filter(|next| *next > now) {
            let pause = Duration::from_millis(u64::try_from(next.0 - now.0).unwrap_or(0));
            self.state.check_expiry = true;
            return Ok(Turn::Rest(pause, false));
        }
        let owner = self.hooks.accounts.get(hook.owner).await?;
        let Some(owner) = owner.filter(|owner| !owner.removed && !owner.disabled) else {
            return Ok(Turn::Rest(ACCOUNT_INTERVAL, false));
        };
        if std::mem::take(&mut self.state.check_expiry)
            && self.hooks.feed.has_expired(&self.progress.token).await?
        {
            return self.restart(hook, &owner).await;
        }
        self.send_events(hook, &owner).await
    }

    /// The token has expired: the receiver must read the collection again, and gets what arrives from now on.
    async fn restart(&mut self, hook: &Hook, owner: &Account) -> Result<Turn, TurnError> {
        let now = self.hooks.feed.seen_now(&all_of(hook.owner, hook.config.collection)).await?;
        let message = self.incomplete(hook, owner, &self.progress.token);
        self.state.check_expiry = true;
        let since = self.hooks.clock.now();
        self.deliver(hook, &message, since, now).await?;
        Ok(Turn::Again)
    }

    async fn send_events(&mut self, hook: &Hook, owner: &Account) -> Result<Turn, TurnError> {
        let query = hook.query();
        let found = {
            // The semaphore is never closed.
            let _reading = self.pools.reads.acquire().await;
            let feed = &self.hooks.feed;
            feed.events(Reader::Owner, &query, &self.progress.token, MAX_ARRIVALS).await?
        };
        let read = Instant::now();
        for (event, token) in found.events {
            // A slow receiver, or one that waited for its turn.
            if read.elapsed() > MAX_AGE || self.settings.has_changed().unwrap_or(false) {
                return Ok(Turn::Again);
            }
            let since = self.waiting_since(&event);
            let incomplete = || self.incomplete(hook, owner, &token);
            let at = token.offset.position;
            let message = Message::of(&event, at, hook.id, self.payloads.as_ref(), incomplete);
            if !self.deliver(hook, &message, since, token).await? {
                return Ok(Turn::Again);
            }
        }
        self.progress.token = found.sync_token;
        let is_new = self.watch.watch_pulled(&found.pulled);
        if found.more || is_new {
            return Ok(Turn::Again);
        }
        self.state.caught_up = self.hooks.clock.now();
        self.state.dirty |= self.progress.behind_since.take().is_some();
        Ok(Turn::Rest(READ_INTERVAL, true))
    }

    /// Sends a message. After a success the hook goes on after `token`. `false`: it has to be sent again.
    async fn deliver(
        &mut self,
        hook: &Hook,
        message: &Message,
        since: Millis,
        token: SyncToken,
    ) -> Result<bool, TurnError> {
        self.progress.behind_since = Some(since);
        let is_slow = self.state.slow || self.progress.attempts > 0;
        let (sent, was_slow) = self.pools.run(is_slow, self.hooks.send(hook, message)).await;
        self.state.slow = was_slow;
        let (sent, now) = (sent?, self.hooks.clock.now());
        self.state.dirty = true;
        let progress = &mut self.progress;
        progress.last_date = Some(now);
        progress.last_status = sent.as_ref().ok().copied();
        progress.last_error = sent.as_ref().err().map(ToString::to_string);
        if let Ok(200..=299) = sent {
            counter!(DELIVERIES, "outcome" => "delivered").increment(1);
            histogram!(SECONDS).record((now.0 - since.0).max(0) as f64 / 1_000.0);
            (progress.failing_since, progress.attempts, progress.next_try) = (None, 0, None);
            progress.token = token;
            self.state.unsaved += 1;
            self.save_if_due().await;
            return Ok(true);
        }
        counter!(DELIVERIES, "outcome" => "failed").increment(1);
        progress.attempts = progress.attempts.saturating_add(1);
        let failing_since = *progress.failing_since.get_or_insert(now);
        progress.next_try = Some(retry::next_try(progress.attempts, now, random_fraction()));
        let reason = match &sent {
            Ok(410) => Some("The receiver responded with status 410: it no longer wants this hook."),
            _ if retry::is_given_up(failing_since, now) => Some("No delivery succeeded for three days."),
            _ => None,
        };
        if let Some(reason) = reason {
            tracing::info!(owner = hook.owner.0, hook = hook.name, reason, "hook disabled");
            self.hooks.disable(hook, reason, now).await.map_err(|error| TurnError(error.to_string()))?;
        }
        Ok(false)
    }

    fn incomplete(&self, hook: &Hook, owner: &Account, token: &SyncToken) -> Message {
        let first = hook.query().from(Start::Skip(0));
        Message::incomplete(hook.id, token.offset.position, &self.payloads.collection_url(owner, &first))
    }

    /// Since when an event waits: since its version was accepted, but not before everything else was delivered.
    fn waiting_since(&self, event: &Event) -> Millis {
        let accepted = match event {
            // A version approximates the time of acceptance.
            Event::Activity(item) => Millis(item.state.version.0),
            Event::Deleted(_) | Event::Changed => self.state.caught_up,
        };
        accepted.max(self.state.caught_up).min(self.hooks.clock.now())
    }

    fn show_status(&self) {
        let number = |time: Option<Millis>| time.map_or(0, |time| time.0);
        self.status.behind_since.store(number(self.progress.behind_since), Ordering::Relaxed);
        self.status.failing_since.store(number(self.progress.failing_since), Ordering::Relaxed);
    }

    /// Saves the progress if it is time to. Otherwise returns how long it can wait.
    async fn save_if_due(&mut self) -> Option<Duration> {
        let interval = if self.state.dirty { SAVE_INTERVAL } else { IDLE_SAVE_INTERVAL };
        let elapsed = self.state.saved.elapsed();
        if elapsed >= interval || self.state.unsaved >= MAX_UNSAVED {
            self.save().await;
            return None;
        }
        self.state.dirty.then(|| interval.saturating_sub(elapsed))
    }

    async fn save(&mut self) {
        let id = self.settings.borrow().id;
        let version = Version::next(self.hooks.clock.now(), self.saved_version);
        let saved = async {
            let stored = self.progress.to_stored(id, version)?;
            self.hooks.store.put_hook_progress(&stored).await
        };
        self.state.saved = Instant::now();
        match saved.await {
            Ok(()) => {
                (self.state.dirty, self.state.unsaved) = (false, 0);
                self.saved_version = Some(version);
            }
            // The next attempt is due after the interval.
            Err(error) => tracing::warn!(%error, hook = %id, "saving the progress of a hook failed"),
        }
    }
}

/// A turn failed for a reason that is not the receiver's.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct TurnError(String);

impl From<StoreError> for TurnError {
    fn from(error: StoreError) -> TurnError {
        TurnError(error.to_string())
    }
}

impl From<ReadError> for TurnError {
    fn from(error: ReadError) -> TurnError {
        TurnError(error.to_string())
    }
}

impl From<seal::SealError> for TurnError {
    fn from(error: seal::SealError) -> TurnError {
        TurnError(error.to_string())
    }
}
