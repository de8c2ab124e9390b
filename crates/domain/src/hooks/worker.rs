//! Runs the hooks of the shards that this process has a lease of.
//!
//! All hooks of an account are in one shard. The worker keeps a runner for each hook. It learns of a changed hook by the
//! hub, which other processes reach by a notice, and reads the lists of its shards regularly.

use super::Hooks;
use super::hook::Hook;
use super::message::Payloads;
use super::pools::Pools;
use super::progress::Progress;
use super::runner::{RunState, Runner, Status};
use crate::shard_leases::ShardLeases;
use metrics::{describe_counter, describe_gauge, describe_histogram, gauge};
use model::{HookId, Millis, Uid, Version};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::{ListedHook, Result, hook_shard};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Counter: requests of hooks, by outcome (`delivered`, `failed`).
pub const DELIVERIES: &str = "tofrom_hook_deliveries_total";
/// Histogram: seconds from the acceptance of an activity to the response of the receiver.
pub const SECONDS: &str = "tofrom_hook_delivery_seconds";
/// Gauge: hooks of this process by state (`running`, `failing`).
const HOOKS: &str = "tofrom_hooks";
/// Gauge: how long the oldest event that is not delivered has waited.
const LAG: &str = "tofrom_hook_lag_seconds";

/// The interval of passes: leases, and the gauges.
const PASS_INTERVAL: Duration = Duration::from_secs(5);
/// Passes between two reads of the lists of shards.
const PASSES_PER_READ: u32 = 2;
/// Hooks read in one page of a list.
const PAGE: usize = 500;
/// How long a stop waits for runners to save their progress.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Describes the metrics to the recorder of the process.
pub fn describe_metrics() {
    describe_counter!(DELIVERIES, "Requests of hooks, by outcome.");
    describe_histogram!(
        SECONDS,
        "Seconds from the acceptance of an activity to the response of a hook's receiver."
    );
    describe_gauge!(HOOKS, "Hooks that this process delivers, by state.");
    describe_gauge!(
        LAG,
        "Age of the oldest event that a hook of this process has not delivered, in seconds."
    );
}

/// Delivers hooks until `shutdown`. `holder` owns the leases: a process that restarts under the same name need not wait
/// until they end.
pub async fn run(
    hooks: Hooks,
    payloads: Arc<dyn Payloads>,
    holder: String,
    shutdown: impl Future<Output = ()>,
) {
    let changed = hooks.hub.listen_to_hooks();
    let leases = ShardLeases::new(Arc::clone(&hooks.store), hooks.clock.clone(), "hooks", holder);
    let mut worker =
        Worker { hooks, payloads, leases, pools: Arc::new(Pools::new()), runners: HashMap::new(), passes: 0 };
    tokio::select! {
        () = shutdown => {}
        () = worker.work(changed) => {}
    }
    worker.stop().await;
}

struct Worker {
    hooks: Hooks,
    payloads: Arc<dyn Payloads>,
    leases: ShardLeases,
    pools: Arc<Pools>,
    runners: HashMap<(Uid, String), Running>,
    passes: u32,
}

/// A runner.
struct Running {
    id: HookId,
    version: Version,
    settings: watch::Sender<Arc<Hook>>,
    status: Arc<Status>,
    task: JoinHandle<()>,
}

impl Worker {
    async fn work(&mut self, mut changed: mpsc::UnboundedReceiver<Uid>) {
        let mut ticks = tokio::time::interval(PASS_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.pass().await,
                Some(owner) = changed.recv() => {
                    let mut owners = HashSet::from([owner]);
                    while let Ok(owner) = changed.try_recv() {
                        owners.insert(owner);
                    }
                    for owner in owners {
                        self.read_owner(owner).await;
                    }
                }
            }
        }
    }

    async fn pass(&mut self) {
        let before: HashSet<u16> = self.leases.held().into_iter().collect();
        if let Err(error) = self.leases.acquire().await {
            tracing::warn!(%error, "taking hook leases failed");
        }
        let held: HashSet<u16> = self.leases.held().into_iter().collect();
        // Another process goes on from the saved progress.
        self.runners.retain(|(owner, _), running| {
            let keep = held.contains(&hook_shard(*owner));
            if !keep {
                running.task.abort();
            }
            keep
        });
        let read_all = self.passes.is_multiple_of(PASSES_PER_READ);
        self.passes = self.passes.wrapping_add(1);
        for shard in held.iter().filter(|shard| read_all || !before.contains(shard)) {
            if let Err(error) = self.read_shard(*shard).await {
                tracing::warn!(%error, shard, "reading hooks failed");
            }
        }
        self.measure();
        if self.pools.is_full() {
            self.leases.release_one().await;
        }
    }

    /// Starts, changes and stops runners by the list of a shard.
    async fn read_shard(&mut self, shard: u16) -> Result<()> {
        let (mut listed, mut after) = (HashMap::new(), None);
        loop {
            let page = self.hooks.store.hooks_in(shard, after, PAGE).await?;
            after = page.last().filter(|_| page.len() == PAGE).map(|last| (last.owner, last.name.clone()));
            let pairs = page.into_iter().map(|ListedHook { owner, name, version }| ((owner, name), version));
            listed.extend(pairs);
            if after.is_none() {
                break;
            }
        }
        self.runners.retain(|key, running| {
            let keep = hook_shard(key.0) != shard || listed.contains_key(key);
            if !keep {
                running.task.abort();
            }
            keep
        });
        for ((owner, name), version) in listed {
            let key = (owner, name);
            let is_known = self.runners.get(&key).is_some_and(|running| running.version == version);
            if !is_known && let Some(stored) = self.hooks.store.hook(key.0, &key.1).await? {
                self.apply(&stored).await?;
            }
        }
        Ok(())
    }

    /// Starts, changes and stops the runners of an account.
    async fn read_owner(&mut self, owner: Uid) {
        if !self.leases.held().contains(&hook_shard(owner)) {
            return;
        }
        let read = async {
            let stored = self.hooks.store.hooks_of(owner).await?;
            self.runners.retain(|(of, name), running| {
                let keep = *of != owner || stored.iter().any(|hook| hook.name == *name);
                if !keep {
                    running.task.abort();
                }
                keep
            });
            for hook in &stored {
                self.apply(hook).await?;
            }
            Ok::<_, store::StoreError>(())
        };
        if let Err(error) = read.await {
            tracing::warn!(%error, owner = owner.0, "reading hooks failed");
        }
    }

    /// Starts the runner of a hook, or passes the settings on to it.
    async fn apply(&mut self, stored: &store::Hook) -> Result<()> {
        let key = (stored.owner, stored.name.clone());
        let Some(hook) = Hook::read(stored)? else {
            if let Some(running) = self.runners.remove(&key) {
                running.task.abort();
            }
            return Ok(());
        };
        if let Some(running) = self.runners.get_mut(&key) {
            if running.id == hook.id && !running.task.is_finished() {
                if running.version < hook.version {
                    running.version = hook.version;
                    // A runner that has just ended is started by the next pass.
                    let _ = running.settings.send(Arc::new(hook));
                }
                return Ok(());
            }
            running.task.abort();
        }
        let running = self.start(hook).await?;
        self.runners.insert(key, running);
        Ok(())
    }

    async fn start(&self, hook: Hook) -> Result<Running> {
        let stored = self.hooks.store.hook_progress(&[hook.id]).await?.into_iter().flatten().next();
        let begun = stored.as_ref().map(Progress::read).transpose()?;
        let saved_version = stored.map(|stored| stored.version);
        let (id, version) = (hook.id, hook.version);
        let caught_up = saved_version.map_or(hook.config.created, |version| Millis(version.0));
        let progress = begun.unwrap_or_else(|| Progress::new(hook.config.start.clone(), hook.config.resumed));
        let watch = self.hooks.hub.watch_collection(hook.owner);
        let (settings, changes) = watch::channel(Arc::new(hook));
        let status = Arc::new(Status::default());
        let runner = Runner {
            hooks: self.hooks.clone(),
            payloads: Arc::clone(&self.payloads),
            pools: Arc::clone(&self.pools),
            settings: changes,
            status: Arc::clone(&status),
            watch,
            progress,
            saved_version,
            state: RunState::new(caught_up),
        };
        Ok(Running { id, version, settings, status, task: tokio::spawn(runner.run()) })
    }

    fn measure(&self) {
        let now = self.hooks.clock.now();
        let behind = |running: &Running| running.status.behind_since.load(Ordering::Relaxed);
        let oldest = self.runners.values().map(behind).filter(|since| *since > 0).min();
        let is_failing = |running: &&Running| running.status.failing_since.load(Ordering::Relaxed) > 0;
        let failing = self.runners.values().filter(is_failing).count();
        gauge!(HOOKS, "state" => "failing").set(failing as f64);
        gauge!(HOOKS, "state" => "running").set((self.runners.len() - failing) as f64);
        gauge!(LAG).set(oldest.map_or(0.0, |since| (now.0 - since).max(0) as f64 / 1_000.0));
    }

    /// Lets the runners save their progress, then releases the leases.
    async fn stop(&mut self) {
        let mut tasks = Vec::new();
        for (_, Running { settings, task, .. }) in self.runners.drain() {
            drop(settings);
            tasks.push(task);
        }
        let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
        let saved = async {
            for task in tasks {
                // One that panicked has nothing to save.
                let _ = task.await;
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, saved).await.is_err() {
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
        self.leases.release_all().await;
    }
}
