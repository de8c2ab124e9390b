//! The same pages on both engines: the same actions run on one machine and on the cluster with the same identifiers at
//! the same times, and every read gives the same result.

use super::super::delivery::ground::{Ground, Place};
use super::super::delivery::seeds::Seeds;
use super::super::delivery::sequence::{Sequence, Stage, any_filter};
use super::super::delivery::setting;
use super::super::delivery::steps::Step;
use super::super::delivery::verdict::{COLLECTIONS, query};
use super::super::support::chance::Chance;
use super::{RUNTIME, prepared};
use model::{AccountName, Body, FeedQuery, Filter, Order, Reader, Start, State, SyncToken, Uid};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tofrom::feed::Item;

/// Number of sequences. `SAME_PAGE_SEQUENCES` overrides it.
const SEQUENCES: u64 = 10;
/// Number of sequences in which accounts switch fan-out mode and become dormant.
const CROSSING: u64 = 20;
/// Lanes that no other test uses.
const LANES: std::ops::Range<u8> = 100..108;

type Differs = String;

#[test]
fn one_machine_and_the_cluster_show_the_same_pages() {
    try_all(SEQUENCES, Sequence::random);
}

#[test]
fn one_machine_and_the_cluster_show_the_same_pages_in_either_fanout_mode() {
    try_all(CROSSING, Sequence::crossing);
}

fn try_all(count: u64, sequence: fn(u64, i64) -> Sequence) {
    // The tests share the lanes, so they run one after the other.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if prepared().is_none() {
        return;
    }
    let first = setting("SAME_PAGE_SEED").unwrap_or(0);
    let seeds = Seeds::new(first, setting("SAME_PAGE_SEQUENCES").unwrap_or(count));
    let (whole, found) = (AtomicU64::new(0), Mutex::new(None));
    let work = async |lane| {
        let place = Place::Cluster { lane };
        let mut ground = place.ground().await;
        while found.lock().unwrap().is_none() {
            let Some(seed) = seeds.next() else { break };
            let run = async |ground: &Ground, tried| same(sequence(seed, place.first()), tried, ground).await;
            match place.judge(ground, run).await {
                Ok((back, calm)) => {
                    ground = back;
                    whole.fetch_add(u64::from(calm), Ordering::Relaxed);
                }
                Err(why) => {
                    *found.lock().unwrap() = Some(format!("SAME_PAGE_SEED={seed}: {why}"));
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for lane in LANES {
            let work = &work;
            scope.spawn(move || RUNTIME.block_on(work(lane)));
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_none(), "{}", found.unwrap());
    let (whole, tried) = (whole.into_inner(), seeds.tried());
    assert!(whole * 2 > tried, "of {tried} sequences {whole} went without trouble");
}

/// The same sequence on both engines.
struct Both<'a> {
    stages: [Stage<'a>; 2],
    chance: Chance,
}

/// Returns whether updates could be compared too.
async fn same(sequence: Sequence, tried: u64, other: &Ground) -> Result<bool, Differs> {
    let one = &Ground::new();
    let Sequence { seed, first, .. } = sequence;
    // Identifiers are unique among the tests and retries of this process, because they share a cluster.
    let drawn = (seed << 1 | u64::from(sequence.rules.pull_above.is_some())) ^ tried << 17;
    [one, other].iter().for_each(|ground| ground.draw_anew(drawn));
    let mut stages = [
        Stage::new(one, first, &sequence.people, &[]).await,
        Stage::new(other, first, &sequence.people, &[]).await,
    ];
    for stage in &mut stages {
        stage.ties = true;
        stage.rules = sequence.rules;
    }
    let mut both = Both { stages, chance: Chance::new(seed) };
    let mut sync_tokens = Vec::new();
    for step in sequence.steps.iter().filter_map(undisturbed) {
        for stage in &mut both.stages {
            // An activity written while an account becomes dormant is pushed, or arrives with the catch-up. Both are
            // right.
            let falls_asleep = matches!(step, Step::Sleep { .. });
            if falls_asleep {
                stage.work_until_all_is_done().await;
            }
            stage.step(&step).await.map_err(|broken| format!("{step:?}: {broken}"))?;
            if falls_asleep {
                stage.work_until_all_is_done().await;
            }
        }
        if matches!(step, Step::WorkAll) {
            sync_tokens.extend(both.sync_tokens().await);
        }
    }
    for stage in &mut both.stages {
        // Likewise a backfill while its follower catches up: it arrives at the position of the edge or of the catch-up.
        stage.work_until_all_is_done().await;
        stage.settle().await?;
    }
    both.compare_pages().await?;
    // A slow engine may have logged a task twice; its arrivals then come after sync tokens that they should precede.
    let calm = both.stages.iter().all(|stage| stage.logged_twice.is_empty());
    if calm {
        for (owner, sync_tokens) in sync_tokens {
            both.compare_updates(owner, sync_tokens).await?;
        }
    }
    Ok(calm)
}

/// The step without its faults: after a fault the engines may differ in repeated arrivals.
fn undisturbed(step: &Step) -> Option<Step> {
    match step {
        Step::Person { who, deed, .. } => {
            Some(Step::Person { who: *who, deed: deed.clone(), trouble: None, again: false })
        }
        Step::Sleep { who, .. } => Some(Step::Sleep { who: *who, trouble: None }),
        Step::Time(_) | Step::WorkAll => Some(step.clone()),
        Step::Work { .. } => Some(Step::WorkAll),
        Step::Land { .. } | Step::Look { .. } => None,
    }
}

/// An item in a form that is equal on both engines: account numbers differ.
fn told(stage: &Stage<'_>, item: &Item) -> String {
    let account = |uid: Uid| stage.naive.accounts.iter().position(|account| account.uid == uid);
    let State { actor, addressed, .. } = &item.state;
    let mut addressed: Vec<_> = addressed.iter().map(|uid| account(*uid)).collect();
    addressed.sort();
    let state = State { actor: Uid(0), addressed: Vec::new(), ..item.state.clone() };
    format!("{state:?} of {:?} for {addressed:?}", account(*actor))
}

/// A body in a form that is equal on both engines: account names are replaced by their numbers in the sequence.
fn numbered(stage: &Stage<'_>, body: Body) -> (Body, Vec<Option<usize>>) {
    let number = |name: &AccountName| stage.naive.accounts.iter().position(|account| account.name == *name);
    let to = body.to.iter().map(number).collect();
    (Body { to: Vec::new(), ..body }, to)
}

impl Both<'_> {
    /// The start of updates for every account, now that everything is delivered.
    async fn sync_tokens(&mut self) -> Vec<(usize, [SyncToken; 2])> {
        for stage in &mut self.stages {
            stage.work_until_all_is_done().await;
        }
        let mut sync_tokens = Vec::new();
        for number in 0..self.stages[0].naive.accounts.len() {
            let [one, other] = &self.stages;
            sync_tokens.push((number, [sync_token(one, number).await, sync_token(other, number).await]));
        }
        sync_tokens
    }

    async fn compare_pages(&mut self) -> Result<(), Differs> {
        for owner in 0..self.stages[0].naive.accounts.len() {
            for collection in COLLECTIONS {
                for order in [Order::Received, Order::Published] {
                    let filter = match self.chance.one_in(2) {
                        true => any_filter(&mut self.chance, self.stages[0].first),
                        false => Filter::default(),
                    };
                    for filter in [Filter::default(), filter] {
                        let reader = if self.chance.one_in(2) { owner } else { self.chance.below(7) };
                        let count = u32::try_from(*self.chance.pick(&[1, 2, 3, 20, 200])).unwrap();
                        let start = match self.chance.one_in(3) {
                            true => Start::Skip(u32::try_from(self.chance.below(8)).unwrap()),
                            false => Start::Skip(0),
                        };
                        let asked = FeedQuery { start, count, ..query(Uid(0), collection, order, filter) };
                        self.compare(reader, owner, [asked.clone(), asked]).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn compare_updates(&mut self, owner: usize, sync_tokens: [SyncToken; 2]) -> Result<(), Differs> {
        let count = u32::try_from(*self.chance.pick(&[1, 2, 20])).unwrap();
        let collection = *self.chance.pick(&COLLECTIONS);
        let asked = query(Uid(0), collection, Order::Received, Filter::default());
        let asked = sync_tokens.map(|sync_token| FeedQuery {
            count,
            start: Start::Updates(sync_token),
            ..asked.clone()
        });
        self.compare(owner, owner, asked).await
    }

    /// Compares all pages from there on, with bodies.
    async fn compare(&self, reader: usize, owner: usize, asked: [FeedQuery; 2]) -> Result<(), Differs> {
        let [one, other] = asked;
        let here = walk(&self.stages[0], reader, owner, one.clone()).await?;
        let there = walk(&self.stages[1], reader, owner, other.clone()).await?;
        if here != there {
            let start = other.start;
            return Err(format!(
                "{reader} reads {one:?} of {owner}: {here:#?} on one, {there:#?} on the other, there from {start:?}"
            ));
        }
        Ok(())
    }
}

/// The sync token of a reader who has seen everything.
async fn sync_token(stage: &Stage<'_>, owner: usize) -> SyncToken {
    let owner = stage.naive.account(owner).uid;
    let nothing =
        FeedQuery { count: 0, ..query(owner, model::Collection::ToFrom, Order::Received, Filter::default()) };
    stage.ground.feed.page(Reader::Owner, &nothing).await.unwrap().sync_token
}

async fn walk(
    stage: &Stage<'_>,
    reader: usize,
    owner: usize,
    asked: FeedQuery,
) -> Result<Vec<String>, Differs> {
    let (reader, owner) = (stage.naive.account(reader).uid, stage.naive.account(owner).uid);
    let reader = stage.naive.reader(reader, owner);
    let mut next = FeedQuery { owner, ..asked };
    let mut walked = Vec::new();
    loop {
        let page = stage.ground.feed.page(reader, &next).await.map_err(|error| error.to_string())?;
        let ids: Vec<_> = page.items.iter().map(|item| item.state.id).collect();
        let found = stage.ground.store.activities(&ids).await.map_err(|error| error.to_string())?;
        let bodies =
            found.into_iter().map(|one| one.map(|one| (one.state.version, numbered(stage, one.body))));
        let items = page.items.iter().zip(bodies);
        walked.extend(items.map(|(item, body)| format!("{} {body:?}", told(stage, item))));
        // Page boundaries are compared too.
        walked.push("page".to_owned());
        let Some(start) = page.next else { return Ok(walked) };
        next = next.from(start);
    }
}
