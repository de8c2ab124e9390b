//! The workers, and late writes.

use super::final_checks::query;
use super::sequence::{DeliverySubject, Harness, Violation, plan};
use super::steps::{InjectedFault, Pick};
use domain::fanout::{deliver_pending, dormancy};
use model::{Collection, Filter, Millis, Order, Reader};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{Task, Work};

/// Longer than the longest retry pause.
const LONGER_THAN_ANY_PAUSE: i64 = 10 * 60 * 1_000;

/// How long the log may take to become empty, and the poll interval. A task that was taken but not acknowledged is
/// dealt again after five seconds.
const TIMEOUT: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(20);
const DAY: i64 = 24 * 60 * 60 * 1_000;

impl Harness<'_> {
    /// A worker takes tasks one by one, until it crashes.
    pub(crate) async fn work(&mut self, picks: &[Pick], faults: &[InjectedFault]) {
        let bed = self.bed;
        plan(&bed.worker, faults.to_vec());
        for pick in picks {
            let Some(task) = self.pick(*pick).await else { continue };
            self.note_if_logged_twice(&task);
            self.taken.push(task.clone());
            // The worker gets this one task, and no more on its next poll.
            let mut dealt = vec![task];
            bed.worker.deal(move |_| std::mem::take(&mut dealt));
            // An injected fault: the next worker executes the task again.
            let _ = deliver_pending(bed.worker.as_ref(), &bed.clock, &self.rules).await;
        }
        bed.worker.calm();
        bed.worker.restart();
        self.reconcile_ended_edges().await;
    }

    /// The task of a block ends edges.
    async fn reconcile_ended_edges(&mut self) {
        if self.naive.relations.values().any(|relation| relation.blocks) {
            self.reconcile_edges().await;
        }
    }

    async fn pick(&self, pick: Pick) -> Option<Task> {
        match pick {
            Pick::Waiting(number) => {
                let waiting = self.bed.store.pending(1_000).await.unwrap();
                waiting.get(number % waiting.len().max(1)).cloned()
            }
            Pick::Repeat(number) => self.taken.get(number % self.taken.len().max(1)).cloned(),
        }
    }

    /// A worker executes all due tasks without faults.
    pub(crate) async fn work_all(&mut self) {
        let bed = self.bed;
        let dealt = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&dealt);
        bed.worker.deal(move |tasks| {
            seen.lock().unwrap().extend(tasks.iter().cloned());
            tasks
        });
        deliver_pending(bed.worker.as_ref(), &bed.clock, &self.rules).await.unwrap();
        bed.worker.calm();
        let dealt: Vec<Task> = dealt.lock().unwrap().clone();
        dealt.iter().for_each(|task| self.note_if_logged_twice(task));
        self.reconcile_ended_edges().await;
    }

    /// Workers execute tasks until the log is empty. One of several servers may hold tasks that it has not dealt yet.
    pub(crate) async fn work_until_idle(&mut self) {
        let began = Instant::now();
        loop {
            self.work_all().await;
            if self.bed.store.backlog(1).await.unwrap().tasks == 0 || began.elapsed() > TIMEOUT {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// A failed task is appended to the log again.
    fn note_if_logged_twice(&mut self, task: &Task) {
        let subject = match &task.work {
            Work::Version { id, .. } | Work::Followers { id, .. } => DeliverySubject::Activity(*id),
            Work::Edge { follower, followee, .. } => DeliverySubject::Edge(*follower, *followee),
            Work::CatchUp { uid, .. } => DeliverySubject::CatchUp(*uid),
            _ => return,
        };
        if task.attempts > 0 {
            self.logged_twice.insert(subject);
        }
    }

    /// The account has not been read for long, as the worker sees it.
    pub(crate) async fn mark_dormant(&mut self, account: usize, fault: Option<InjectedFault>) {
        let (bed, account) = (self.bed, self.naive.account(account).clone());
        plan(&bed.worker, fault.into_iter().collect());
        let later = Millis(bed.now().0 + DAY);
        // If this fails, the account stays active.
        let _ = dormancy::mark_dormant(bed.worker.as_ref(), &[account], later, Duration::ZERO).await;
        bed.worker.calm();
        bed.worker.restart();
    }

    /// A late write lands.
    pub(crate) async fn land(&mut self, of_worker: bool, which: usize) -> Result<(), Violation> {
        let store = if of_worker { &self.bed.worker } else { &self.bed.node };
        if store.late() > 0 {
            store.land_one(which % store.late()).await;
            self.reconcile_all().await?;
        }
        Ok(())
    }

    /// Reactivates all dormant accounts.
    async fn reactivate_all(&self) -> Result<(), Violation> {
        for account in &self.naive.accounts {
            let all = query(account.uid, Collection::ToFrom, Order::Received, Filter::default());
            self.bed.feed.page(Reader::Owner, &all).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// All faults stop, late writes land, and everything is delivered.
    pub(crate) async fn settle(&mut self) -> Result<(), Violation> {
        for land_late_writes in [true, false] {
            self.bed.advance(LONGER_THAN_ANY_PAUSE);
            self.reactivate_all().await?;
            self.work_until_idle().await;
            if land_late_writes {
                while self.bed.worker.late() + self.bed.node.late() > 0 {
                    self.land(true, 0).await?;
                    self.land(false, 0).await?;
                }
            }
        }
        let waiting = self.bed.store.pending(10).await.unwrap();
        if !waiting.is_empty() {
            return Err(format!("tasks are still pending: {waiting:?}"));
        }
        Ok(())
    }
}
