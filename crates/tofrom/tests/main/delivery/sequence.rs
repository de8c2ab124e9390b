//! A sequence of steps, and its execution.

use super::super::support::chance::Chance;
use super::clients::{Client, Sort};
use super::ground::Ground;
use super::naive::Naive;
use super::steps::Step;
use super::verdict;
use model::{AccountName, Collection, Filter, Millis, Order, Range, Uid, Version};
use std::collections::HashSet;
use store::faulty::{Fault, Faulty};
use store::{NewAccount, Task};
use tofrom::fanout::Rules;

/// A description of a violated property.
pub(crate) type Broken = String;

/// A client: its reader and the collection it reads.
#[derive(Clone, Debug)]
pub(crate) struct Looker {
    pub(crate) sort: Sort,
    pub(crate) reader: usize,
    pub(crate) owner: usize,
    pub(crate) collection: Collection,
    pub(crate) order: Order,
    pub(crate) filter: Filter,
}

#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pub(crate) seed: u64,
    /// Start time.
    pub(crate) first: i64,
    /// For each account, whether it starts public.
    pub(crate) people: Vec<bool>,
    pub(crate) lookers: Vec<Looker>,
    pub(crate) steps: Vec<Step>,
    /// Fan-out rules of the workers.
    pub(crate) rules: Rules,
}

impl Sequence {
    pub(crate) fn random(seed: u64, first: i64) -> Sequence {
        let mut chance = Chance::new(seed);
        // The first outputs of neighbouring seeds are similar.
        for _ in 0..8 {
            chance.next();
        }
        let people: Vec<bool> = (0..4 + chance.below(3)).map(|_| !chance.one_in(3)).collect();
        let lookers =
            (0..4 + chance.below(3)).map(|_| Looker::random(&mut chance, people.len(), first)).collect();
        let mut steps: Vec<Step> = (0..chance.below(4)).map(|_| Step::follow(&mut chance)).collect();
        for _ in 0..10 + chance.below(16) {
            if chance.one_in(2) {
                steps.push(Step::look(&mut chance));
            }
            steps.push(Step::random(&mut chance));
        }
        Sequence { seed, first, people, lookers, steps, rules: Rules::default() }
    }

    /// A sequence in which accounts keep switching between push and pull and between dormant and active.
    pub(crate) fn crossing(seed: u64, first: i64) -> Sequence {
        let sequence = Sequence::random(seed, first);
        let mut chance = Chance::new(!seed);
        let mut steps = Vec::new();
        for step in sequence.steps {
            match chance.below(8) {
                0 => steps.push(Step::sleep(&mut chance)),
                1 | 2 => steps.push(Step::follow(&mut chance)),
                3 => steps.push(Step::unfollow(&mut chance)),
                _ => {}
            }
            if chance.one_in(6) {
                steps.push(Step::WorkAll);
            }
            steps.push(step);
        }
        let rules = Rules { pull_above: Some(chance.below(2)), max_pulled: 1 + chance.below(3) };
        Sequence { steps, rules, ..sequence }
    }

    /// Runs the sequence with fresh accounts; the error describes the violation.
    pub(crate) async fn run(&self, ground: &Ground) -> Result<(), Broken> {
        let mut stage = Stage::new(ground, self.first, &self.people, &self.lookers).await;
        stage.rules = self.rules;
        for (number, step) in self.steps.iter().enumerate() {
            let told = |broken| format!("at step {number}, {step:?}: {broken}");
            stage.step(step).await.map_err(told)?;
        }
        let told = |broken| format!("at the end: {broken}");
        stage.settle().await.map_err(told)?;
        verdict::pronounce(&mut stage, &mut Chance::new(self.seed)).await.map_err(told)
    }
}

impl Looker {
    fn random(chance: &mut Chance, people: usize, first: i64) -> Looker {
        // Most clients read where most activity is.
        let owner = if chance.one_in(3) { chance.below(people) } else { chance.below(2) };
        let reader = if chance.one_in(2) { owner } else { chance.below(people) };
        Looker {
            sort: *chance.pick(&[Sort::Poller, Sort::Stream]),
            reader,
            owner,
            collection: *chance.pick(&[
                Collection::To,
                Collection::From,
                Collection::ToFrom,
                Collection::ToFrom,
            ]),
            order: *chance.pick(&[Order::Received, Order::Published]),
            filter: if chance.one_in(3) { any_filter(chance, first) } else { Filter::default() },
        }
    }
}

/// A filter that selects some of the activities written from `first` on.
pub(crate) fn any_filter(chance: &mut Chance, first: i64) -> Filter {
    let mut filter = Filter::default();
    match chance.below(5) {
        0 => drop(filter.services.insert("flickr".to_owned())),
        1 => drop(filter.kinds.insert("photo".to_owned())),
        2 => drop(filter.verbs.insert("share".to_owned())),
        3 => filter.received = Range { since: Some(Millis(first + 5)), before: Some(Millis(first + 400)) },
        _ => filter.published.since = Some(Millis(first - 20)),
    }
    filter
}

/// A sequence in progress.
pub(crate) struct Stage<'a> {
    pub(crate) ground: &'a Ground,
    /// Start time.
    pub(crate) first: i64,
    pub(crate) naive: Naive,
    pub(crate) clients: Vec<Client>,
    /// Every task that a worker took.
    pub(crate) taken: Vec<Task>,
    /// Activities and edges whose delivery was logged twice: clients may receive them twice.
    pub(crate) logged_twice: HashSet<Subject>,
    /// No two activities are received at the same time, unless ties are wanted.
    pub(crate) latest_receipt: i64,
    pub(crate) ties: bool,
    /// Accounts that performed or attempted a burst.
    pub(crate) bursts: HashSet<Uid>,
    pub(crate) rules: Rules,
}

/// The subject of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Activity(model::ActivityId),
    Edge(Uid, Uid),
    Return(Uid),
}

impl<'a> Stage<'a> {
    /// Fresh accounts without any activity.
    pub(crate) async fn new(
        ground: &'a Ground,
        first: i64,
        people: &[bool],
        lookers: &[Looker],
    ) -> Stage<'a> {
        ground.set_time(first);
        let mut naive = Naive::default();
        for public in people {
            let new = NewAccount {
                name: AccountName::parse(&ground.fresh_name()).unwrap(),
                version: Version(1),
                given_name: None,
                family_name: None,
                public: *public,
                operator: false,
                password: None,
                created: ground.now(),
            };
            naive.accounts.push(ground.store.create_account(new).await.unwrap().unwrap());
        }
        let clients = lookers.iter().map(|looker| Client::new(looker, &naive)).collect();
        Stage {
            ground,
            first,
            naive,
            clients,
            taken: Vec::new(),
            logged_twice: HashSet::new(),
            latest_receipt: first,
            ties: false,
            bursts: HashSet::new(),
            rules: Rules::default(),
        }
    }

    pub(crate) async fn step(&mut self, step: &Step) -> Result<(), Broken> {
        match step {
            Step::Time(millis) => self.ground.pass(*millis),
            Step::Person { who, deed, trouble, again } => {
                self.person(*who, deed, *trouble, *again).await?;
            }
            Step::Sleep { who, trouble } => self.mark_dormant(*who, *trouble).await,
            Step::Work { picks, troubles } => self.work(picks, troubles).await,
            Step::WorkAll => self.work_all().await,
            Step::Land { of_worker, which } => self.land(*of_worker, *which).await?,
            Step::Look { client, size, whole, trouble } => {
                self.look(*client, *size, *whole, *trouble).await?;
            }
        }
        Ok(())
    }
}

/// Injects faults into the calls with these numbers.
pub(crate) fn plan(store: &Faulty, troubles: Vec<super::steps::Trouble>) {
    let mut call = 0;
    store.plan(move |_| -> Option<Fault> {
        let trouble = troubles.iter().find(|trouble| trouble.call == call);
        call += 1;
        trouble.map(|trouble| trouble.fault)
    });
}
