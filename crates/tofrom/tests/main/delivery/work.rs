//! The workers, and late writes.

use super::sequence::{Broken, Stage, Subject, plan};
use super::steps::{Pick, Trouble};
use super::verdict::query;
use model::{Collection, Filter, Millis, Order, Reader};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{Task, Work};
use tofrom::fanout::{deliver_pending, dormancy};

/// Longer than the longest retry pause.
const LONGER_THAN_ANY_PAUSE: i64 = 10 * 60 * 1_000;

/// How long the log may take to become empty, and the poll interval. A task that was taken but not acknowledged is
/// dealt again after five seconds.
const TIMEOUT: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(20);
const DAY: i64 = 24 * 60 * 60 * 1_000;

impl Stage<'_> {
    /// A worker takes tasks one by one, until it crashes.
    pub(crate) async fn work(&mut self, picks: &[Pick], troubles: &[Trouble]) {
        let ground = self.ground;
        plan(&ground.worker, troubles.to_vec());
        for pick in picks {
            let Some(task) = self.pick(*pick).await else { continue };
            self.note_if_logged_twice(&task);
            self.taken.push(task.clone());
            // The worker gets this one task, and no more on its next poll.
            let mut dealt = vec![task];
            ground.worker.deal(move |_| std::mem::take(&mut dealt));
            // An injected fault: the next worker executes the task again.
            let _ = deliver_pending(ground.worker.as_ref(), &ground.clock, &self.rules).await;
        }
        ground.worker.calm();
        ground.worker.restart();
    }

    async fn pick(&self, pick: Pick) -> Option<Task> {
        match pick {
            Pick::Waiting(number) => {
                let waiting = self.ground.store.pending(1_000).await.unwrap();
                waiting.get(number % waiting.len().max(1)).cloned()
            }
            Pick::Again(number) => self.taken.get(number % self.taken.len().max(1)).cloned(),
        }
    }

    /// A worker executes all due tasks without faults.
    pub(crate) async fn work_all(&mut self) {
        let ground = self.ground;
        let dealt = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&dealt);
        ground.worker.deal(move |tasks| {
            seen.lock().unwrap().extend(tasks.iter().cloned());
            tasks
        });
        deliver_pending(ground.worker.as_ref(), &ground.clock, &self.rules).await.unwrap();
        ground.worker.calm();
        dealt.lock().unwrap().iter().for_each(|task| self.note_if_logged_twice(task));
    }

    /// Workers execute tasks until the log is empty. One of several servers may hold tasks that it has not dealt yet.
    pub(crate) async fn work_until_all_is_done(&mut self) {
        let began = Instant::now();
        loop {
            self.work_all().await;
            if self.ground.store.backlog(1).await.unwrap().tasks == 0 || began.elapsed() > TIMEOUT {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// A failed task is appended to the log again.
    fn note_if_logged_twice(&mut self, task: &Task) {
        let subject = match &task.work {
            Work::Version { id, .. } | Work::Followers { id, .. } => Subject::Activity(*id),
            Work::Edge { follower, followee, .. } => Subject::Edge(*follower, *followee),
            Work::CatchUp { uid, .. } => Subject::Return(*uid),
            _ => return,
        };
        if task.attempts > 0 {
            self.logged_twice.insert(subject);
        }
    }

    /// The account has not been read for long, as the worker sees it.
    pub(crate) async fn mark_dormant(&mut self, who: usize, trouble: Option<Trouble>) {
        let (ground, account) = (self.ground, self.naive.account(who).clone());
        plan(&ground.worker, trouble.into_iter().collect());
        let later = Millis(ground.now().0 + DAY);
        // If this fails, the account stays active.
        let _ = dormancy::mark_dormant(ground.worker.as_ref(), &[account], later, Duration::ZERO).await;
        ground.worker.calm();
        ground.worker.restart();
    }

    /// A late write lands.
    pub(crate) async fn land(&mut self, of_worker: bool, which: usize) -> Result<(), Broken> {
        let store = if of_worker { &self.ground.worker } else { &self.ground.node };
        if store.late() > 0 {
            store.land_one(which % store.late()).await;
            self.learn_all().await?;
        }
        Ok(())
    }

    /// Reactivates all dormant accounts.
    async fn read_everywhere(&self) -> Result<(), Broken> {
        for account in &self.naive.accounts {
            let all = query(account.uid, Collection::ToFrom, Order::Received, Filter::default());
            self.ground.feed.page(Reader::Owner, &all).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// All faults stop, late writes land, and everything is delivered.
    pub(crate) async fn settle(&mut self) -> Result<(), Broken> {
        for late_ones_land in [true, false] {
            self.ground.pass(LONGER_THAN_ANY_PAUSE);
            self.read_everywhere().await?;
            self.work_until_all_is_done().await;
            if late_ones_land {
                while self.ground.worker.late() + self.ground.node.late() > 0 {
                    self.land(true, 0).await?;
                    self.land(false, 0).await?;
                }
            }
        }
        let waiting = self.ground.store.pending(10).await.unwrap();
        if !waiting.is_empty() {
            return Err(format!("tasks are left: {waiting:?}"));
        }
        Ok(())
    }
}
