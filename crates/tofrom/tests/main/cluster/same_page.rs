//! The same pages on both engines: the same actions run on one machine and on the cluster with the same identifiers at
//! the same times, and every read gives the same result.

use super::super::delivery::env_number;
use super::super::delivery::final_checks::{COLLECTIONS, query};
use super::super::delivery::seeds::Seeds;
use super::super::delivery::sequence::{Harness, Sequence, any_filter};
use super::super::delivery::steps::Step;
use super::super::delivery::test_bed::{Backend, TestBed};
use super::super::support::chance::Chance;
use super::{RUNTIME, prepared};
use domain::feed::Item;
use model::{AccountName, Body, FeedQuery, Filter, Order, Reader, Start, State, SyncToken, Uid};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of sequences. `SAME_PAGE_SEQUENCES` overrides it.
const SEQUENCES: u64 = 4;
/// Number of sequences in which accounts switch fan-out mode and become dormant.
const MODE_SWITCHING_SEQUENCES: u64 = 8;
/// Lanes that no other test uses.
const LANES: std::ops::Range<u8> = 100..108;

type Difference = String;

#[test]
fn one_machine_and_the_cluster_show_the_same_pages() {
    try_all(SEQUENCES, Sequence::random);
}

#[test]
fn one_machine_and_the_cluster_show_the_same_pages_in_either_fanout_mode() {
    try_all(MODE_SWITCHING_SEQUENCES, Sequence::switching_modes);
}

fn try_all(count: u64, sequence: fn(u64, i64) -> Sequence) {
    // The tests share the lanes, so they run one after the other.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if prepared().is_none() {
        return;
    }
    let first = env_number("SAME_PAGE_SEED").unwrap_or(0);
    let seeds = Seeds::new(first, env_number("SAME_PAGE_SEQUENCES").unwrap_or(count));
    let (comparable, found) = (AtomicU64::new(0), Mutex::new(None));
    let work = async |lane| {
        let backend = Backend::Cluster { lane };
        let mut bed = backend.test_bed().await;
        while found.lock().unwrap().is_none() {
            let Some(seed) = seeds.next() else { break };
            let run = async |bed: &TestBed, tried| same(sequence(seed, backend.first()), tried, bed).await;
            match backend.try_run(bed, run).await {
                Ok((back, undisturbed)) => {
                    bed = back;
                    comparable.fetch_add(u64::from(undisturbed), Ordering::Relaxed);
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
    let (comparable, tried) = (comparable.into_inner(), seeds.tried());
    assert!(comparable * 2 > tried, "only {comparable} of {tried} sequences were comparable");
}

/// The same sequence on both engines.
struct EnginePair<'a> {
    harnesses: [Harness<'a>; 2],
    chance: Chance,
}

/// Returns whether updates could be compared too.
async fn same(sequence: Sequence, tried: u64, other: &TestBed) -> Result<bool, Difference> {
    let one = &TestBed::new();
    let Sequence { seed, first, .. } = sequence;
    // Identifiers are unique among the tests and retries of this process, because they share a cluster.
    let id_seed = (seed << 1 | u64::from(sequence.rules.pull_above.is_some())) ^ tried << 17;
    [one, other].iter().for_each(|bed| bed.reseed(id_seed));
    let mut harnesses = [
        Harness::new(one, first, &sequence.initially_public, &[]).await,
        Harness::new(other, first, &sequence.initially_public, &[]).await,
    ];
    for harness in &mut harnesses {
        harness.ties = true;
        harness.rules = sequence.rules;
    }
    let mut pair = EnginePair { harnesses, chance: Chance::new(seed) };
    let mut sync_tokens = Vec::new();
    for step in sequence.steps.iter().filter_map(without_faults) {
        for harness in &mut pair.harnesses {
            // An activity written while an account becomes dormant is pushed, or arrives with the catch-up. Both are
            // right.
            let becomes_dormant = matches!(step, Step::MarkDormant { .. });
            if becomes_dormant {
                harness.work_until_idle().await;
            }
            harness.step(&step).await.map_err(|violation| format!("{step:?}: {violation}"))?;
            if becomes_dormant {
                harness.work_until_idle().await;
            }
        }
        if matches!(step, Step::WorkAll) {
            sync_tokens.extend(pair.sync_tokens().await);
        }
    }
    for harness in &mut pair.harnesses {
        // Likewise a backfill while its follower catches up: it arrives at the position of the edge or of the catch-up.
        harness.work_until_idle().await;
        harness.settle().await?;
    }
    pair.compare_pages().await?;
    // A slow engine may have logged a task twice; its arrivals then come after sync tokens that they should precede.
    let undisturbed = pair.harnesses.iter().all(|harness| harness.logged_twice.is_empty());
    if undisturbed {
        for (owner, sync_tokens) in sync_tokens {
            pair.compare_updates(owner, sync_tokens).await?;
        }
    }
    Ok(undisturbed)
}

/// The step without its faults: after a fault the engines may differ in repeated arrivals.
fn without_faults(step: &Step) -> Option<Step> {
    match step {
        Step::Act { account, action, .. } => {
            Some(Step::Act { account: *account, action: action.clone(), fault: None, retry: false })
        }
        Step::MarkDormant { account, .. } => Some(Step::MarkDormant { account: *account, fault: None }),
        Step::Time(_) | Step::WorkAll => Some(step.clone()),
        Step::Work { .. } => Some(Step::WorkAll),
        Step::Land { .. } | Step::Read { .. } => None,
    }
}

/// An item in a form that is equal on both engines: account numbers differ.
fn comparable_item(harness: &Harness<'_>, item: &Item) -> String {
    let account = |uid: Uid| harness.naive.accounts.iter().position(|account| account.uid == uid);
    let State { actor, addressed, .. } = &item.state;
    let mut addressed: Vec<_> = addressed.iter().map(|uid| account(*uid)).collect();
    addressed.sort();
    let state = State { actor: Uid(0), addressed: Vec::new(), ..item.state.clone() };
    format!("{state:?} of {:?} for {addressed:?}", account(*actor))
}

/// A body in a form that is equal on both engines: account names are replaced by their numbers in the sequence.
fn comparable_body(harness: &Harness<'_>, body: Body) -> (Body, Vec<Option<usize>>) {
    let number = |name: &AccountName| harness.naive.accounts.iter().position(|account| account.name == *name);
    let to = body.to.iter().map(number).collect();
    (Body { to: Vec::new(), ..body }, to)
}

impl EnginePair<'_> {
    /// The start of updates for every account, now that everything is delivered.
    async fn sync_tokens(&mut self) -> Vec<(usize, [SyncToken; 2])> {
        for harness in &mut self.harnesses {
            harness.work_until_idle().await;
        }
        let mut sync_tokens = Vec::new();
        for number in 0..self.harnesses[0].naive.accounts.len() {
            let [one, other] = &self.harnesses;
            sync_tokens.push((number, [sync_token(one, number).await, sync_token(other, number).await]));
        }
        sync_tokens
    }

    async fn compare_pages(&mut self) -> Result<(), Difference> {
        for owner in 0..self.harnesses[0].naive.accounts.len() {
            for collection in COLLECTIONS {
                for order in [Order::Received, Order::Published] {
                    let filter = match self.chance.one_in(2) {
                        true => any_filter(&mut self.chance, self.harnesses[0].first),
                        false => Filter::default(),
                    };
                    for filter in [Filter::default(), filter] {
                        let reader = if self.chance.one_in(2) { owner } else { self.chance.below(7) };
                        let count = u32::try_from(*self.chance.pick(&[1, 2, 3, 20, 200])).unwrap();
                        let start = match self.chance.one_in(3) {
                            true => Start::Skip(u32::try_from(self.chance.below(8)).unwrap()),
                            false => Start::Skip(0),
                        };
                        let feed_query =
                            FeedQuery { start, count, ..query(Uid(0), collection, order, filter) };
                        self.compare(reader, owner, [feed_query.clone(), feed_query]).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn compare_updates(&mut self, owner: usize, sync_tokens: [SyncToken; 2]) -> Result<(), Difference> {
        let count = u32::try_from(*self.chance.pick(&[1, 2, 20])).unwrap();
        let collection = *self.chance.pick(&COLLECTIONS);
        let feed_query = query(Uid(0), collection, Order::Received, Filter::default());
        let feed_query = sync_tokens.map(|sync_token| FeedQuery {
            count,
            start: Start::Updates(sync_token),
            ..feed_query.clone()
        });
        self.compare(owner, owner, feed_query).await
    }

    /// Compares all pages from there on, with bodies.
    async fn compare(
        &self,
        reader: usize,
        owner: usize,
        feed_queries: [FeedQuery; 2],
    ) -> Result<(), Difference> {
        let [one, other] = feed_queries;
        let here = walk(&self.harnesses[0], reader, owner, one.clone()).await?;
        let there = walk(&self.harnesses[1], reader, owner, other.clone()).await?;
        if here != there {
            let start = other.start;
            return Err(format!(
                "{reader} reads {one:?} of {owner}: {here:#?} on one machine, {there:#?} on the cluster, from {start:?}"
            ));
        }
        Ok(())
    }
}

/// The sync token of a reader who has seen everything.
async fn sync_token(harness: &Harness<'_>, owner: usize) -> SyncToken {
    let owner = harness.naive.account(owner).uid;
    let nothing =
        FeedQuery { count: 0, ..query(owner, model::Collection::ToFrom, Order::Received, Filter::default()) };
    harness.bed.feed.page(Reader::Owner, &nothing).await.unwrap().sync_token
}

async fn walk(
    harness: &Harness<'_>,
    reader: usize,
    owner: usize,
    feed_query: FeedQuery,
) -> Result<Vec<String>, Difference> {
    let (reader, owner) = (harness.naive.account(reader).uid, harness.naive.account(owner).uid);
    let reader = harness.naive.reader(reader, owner);
    let mut next = FeedQuery { owner, ..feed_query };
    let mut walked = Vec::new();
    loop {
        let page = harness.bed.feed.page(reader, &next).await.map_err(|error| error.to_string())?;
        let ids: Vec<_> = page.items.iter().map(|item| item.state.id).collect();
        let found = harness.bed.store.activities(&ids).await.map_err(|error| error.to_string())?;
        let bodies = found
            .into_iter()
            .map(|one| one.map(|one| (one.state.version, comparable_body(harness, one.body))));
        let items = page.items.iter().zip(bodies);
        walked.extend(items.map(|(item, body)| format!("{} {body:?}", comparable_item(harness, item))));
        // Page boundaries are compared too.
        walked.push("page".to_owned());
        let Some(start) = page.next else { return Ok(walked) };
        next = next.from(start);
    }
}
