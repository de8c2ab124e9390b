//! A sequence of steps, and running it.

use super::super::support::chance::Chance;
use super::clients::{Client, Sort};
use super::ground::{FIRST, Ground};
use super::naive::Naive;
use super::steps::Step;
use super::verdict;
use model::{AccountName, Collection, Filter, Millis, Order, Range, Uid, Version};
use std::collections::HashSet;
use store::faulty::{Fault, Faulty};
use store::{NewAccount, Task};

/// A law that does not hold.
pub(super) type Broken = String;

/// Who looks at what.
#[derive(Clone, Debug)]
pub(super) struct Looker {
    pub(super) sort: Sort,
    pub(super) reader: usize,
    pub(super) owner: usize,
    pub(super) collection: Collection,
    pub(super) order: Order,
    pub(super) filter: Filter,
}

#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) seed: u64,
    /// Whether each account is public at first.
    pub(super) people: Vec<bool>,
    pub(super) lookers: Vec<Looker>,
    pub(super) steps: Vec<Step>,
}

impl Sequence {
    pub(super) fn random(seed: u64) -> Sequence {
        let mut chance = Chance::new(seed);
        // The first numbers of neighbouring seeds are alike.
        for _ in 0..8 {
            chance.next();
        }
        let people: Vec<bool> = (0..4 + chance.below(3)).map(|_| !chance.one_in(3)).collect();
        let lookers = (0..4 + chance.below(3)).map(|_| Looker::random(&mut chance, people.len())).collect();
        let mut steps: Vec<Step> = (0..chance.below(4)).map(|_| Step::follow(&mut chance)).collect();
        for _ in 0..10 + chance.below(16) {
            if chance.one_in(2) {
                steps.push(Step::look(&mut chance));
            }
            steps.push(Step::random(&mut chance));
        }
        Sequence { seed, people, lookers, steps }
    }

    /// Runs it with fresh accounts; says which law broke.
    pub(super) async fn run(&self, ground: &Ground) -> Result<(), Broken> {
        ground.set_time(FIRST);
        let mut stage = Stage::new(ground, &self.people, &self.lookers).await;
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
    fn random(chance: &mut Chance, people: usize) -> Looker {
        // Most look where most happens.
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
            filter: if chance.one_in(3) { any_filter(chance) } else { Filter::default() },
        }
    }
}

/// A filter that selects something of what is written.
pub(super) fn any_filter(chance: &mut Chance) -> Filter {
    let mut filter = Filter::default();
    match chance.below(5) {
        0 => drop(filter.services.insert("flickr".to_owned())),
        1 => drop(filter.kinds.insert("photo".to_owned())),
        2 => drop(filter.verbs.insert("share".to_owned())),
        3 => filter.received = Range { since: Some(Millis(FIRST + 5)), before: Some(Millis(FIRST + 400)) },
        _ => filter.published.since = Some(Millis(FIRST - 20)),
    }
    filter
}

/// A sequence that is under way.
pub(super) struct Stage<'a> {
    pub(super) ground: &'a Ground,
    pub(super) naive: Naive,
    pub(super) clients: Vec<Client>,
    /// Every task that a worker took.
    pub(super) taken: Vec<Task>,
    /// Activities and edges whose delivery was logged twice: they may be told twice.
    pub(super) logged_twice: HashSet<Subject>,
    /// No two activities are received at the same time.
    pub(super) latest_receipt: i64,
    /// Accounts that wrote many at once, or tried to.
    pub(super) bursts: HashSet<Uid>,
}

/// What a delivery is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    Activity(model::ActivityId),
    Edge(Uid, Uid),
}

impl<'a> Stage<'a> {
    /// Fresh accounts, and nobody has done anything yet.
    pub(super) async fn new(ground: &'a Ground, people: &[bool], lookers: &[Looker]) -> Stage<'a> {
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
            naive,
            clients,
            taken: Vec::new(),
            logged_twice: HashSet::new(),
            latest_receipt: FIRST,
            bursts: HashSet::new(),
        }
    }

    pub(super) async fn step(&mut self, step: &Step) -> Result<(), Broken> {
        match step {
            Step::Time(millis) => self.ground.pass(*millis),
            Step::Person { who, deed, trouble, again } => {
                self.person(*who, deed, *trouble, *again).await?;
            }
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

/// Plans that the calls with these numbers go wrong.
pub(super) fn plan(store: &Faulty, troubles: Vec<super::steps::Trouble>) {
    let mut call = 0;
    store.plan(move |_| -> Option<Fault> {
        let trouble = troubles.iter().find(|trouble| trouble.call == call);
        call += 1;
        trouble.map(|trouble| trouble.fault)
    });
}
