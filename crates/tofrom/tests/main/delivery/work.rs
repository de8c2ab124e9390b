//! What workers do, and what becomes of writes that nobody waits for any more.

use super::sequence::{Broken, Stage, Subject, plan};
use super::steps::{Pick, Trouble};
use std::sync::{Arc, Mutex};
use store::{Task, Work};
use tofrom::fanout::deliver_pending;

/// Longer than any failed task waits for its next attempt.
const LONGER_THAN_ANY_PAUSE: i64 = 10 * 60 * 1_000;

impl Stage<'_> {
    /// A worker takes tasks one by one, until it crashes.
    pub(super) async fn work(&mut self, picks: &[Pick], troubles: &[Trouble]) {
        let ground = self.ground;
        plan(&ground.worker, troubles.to_vec());
        for pick in picks {
            let Some(task) = self.pick(*pick).await else { continue };
            self.note_if_logged_twice(&task);
            self.taken.push(task.clone());
            // It gets this one task, and finds nothing when it looks again.
            let mut dealt = vec![task];
            ground.worker.deal(move |_| std::mem::take(&mut dealt));
            // What goes wrong here is what the sequence is about: the next worker does it.
            let _ = deliver_pending(ground.worker.as_ref(), &ground.clock).await;
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

    /// A worker does everything that is due, and nothing goes wrong.
    pub(super) async fn work_all(&mut self) {
        let ground = self.ground;
        let dealt = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&dealt);
        ground.worker.deal(move |tasks| {
            seen.lock().unwrap().extend(tasks.iter().cloned());
            tasks
        });
        deliver_pending(ground.worker.as_ref(), &ground.clock).await.unwrap();
        ground.worker.calm();
        dealt.lock().unwrap().iter().for_each(|task| self.note_if_logged_twice(task));
    }

    /// A task that failed stands in the log again, elsewhere.
    fn note_if_logged_twice(&mut self, task: &Task) {
        let subject = match &task.work {
            Work::Version { id, .. } | Work::Followers { id, .. } => Subject::Activity(*id),
            Work::Edge { follower, followee, .. } => Subject::Edge(*follower, *followee),
            _ => return,
        };
        if task.attempts > 0 {
            self.logged_twice.insert(subject);
        }
    }

    /// A late write lands.
    pub(super) async fn land(&mut self, of_worker: bool, which: usize) -> Result<(), Broken> {
        let store = if of_worker { &self.ground.worker } else { &self.ground.node };
        if store.late() > 0 {
            store.land_one(which % store.late()).await;
            self.learn_all().await?;
        }
        Ok(())
    }

    /// All faults stop, what is late lands, and everything is delivered.
    pub(super) async fn settle(&mut self) -> Result<(), Broken> {
        for late_ones_land in [true, false] {
            self.ground.pass(LONGER_THAN_ANY_PAUSE);
            self.work_all().await;
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
