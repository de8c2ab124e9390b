//! A sequence of steps, and its execution.

use super::super::support::chance::Chance;
use super::cached_pages::CachedPage;
use super::clients::{ClientKind, FeedClient};
use super::final_checks;
use super::naive_model::NaiveModel;
use super::steps::Step;
use super::test_bed::TestBed;
use domain::fanout::Rules;
use model::{AccountName, Collection, Filter, Millis, Order, Range, Uid, Version};
use std::collections::HashSet;
use store::faulty::{Fault, Faulty};
use store::{NewAccount, Task};

/// A description of a violated property.
pub(crate) type Violation = String;

/// A client: its reader and the collection it reads.
#[derive(Clone, Debug)]
pub(crate) struct ClientSpec {
    pub(crate) kind: ClientKind,
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
    pub(crate) initially_public: Vec<bool>,
    pub(crate) specs: Vec<ClientSpec>,
    pub(crate) steps: Vec<Step>,
    /// Fan-out rules of the workers.
    pub(crate) rules: Rules,
    /// Whether pages are cached and compared after every step.
    pub(crate) caches: bool,
}

impl Sequence {
    pub(crate) fn random(seed: u64, first: i64) -> Sequence {
        let mut chance = Chance::new(seed);
        // The first outputs of neighbouring seeds are similar.
        for _ in 0..8 {
            chance.next();
        }
        let initially_public: Vec<bool> = (0..4 + chance.below(3)).map(|_| !chance.one_in(3)).collect();
        let specs = (0..4 + chance.below(3))
            .map(|_| ClientSpec::random(&mut chance, initially_public.len(), first))
            .collect();
        let mut steps: Vec<Step> = (0..chance.below(4)).map(|_| Step::follow(&mut chance)).collect();
        for _ in 0..10 + chance.below(16) {
            if chance.one_in(2) {
                steps.push(Step::read(&mut chance));
            }
            steps.push(Step::random(&mut chance));
        }
        Sequence { seed, first, initially_public, specs, steps, rules: Rules::default(), caches: false }
    }

    /// A sequence in which accounts keep switching between push and pull and between dormant and active.
    pub(crate) fn switching_modes(seed: u64, first: i64) -> Sequence {
        let sequence = Sequence::random(seed, first);
        let mut chance = Chance::new(!seed);
        let mut steps = Vec::new();
        for step in sequence.steps {
            match chance.below(8) {
                0 => steps.push(Step::mark_dormant(&mut chance)),
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

    /// Sequences of both kinds, in which pages are cached.
    pub(crate) fn caching(seed: u64, first: i64) -> Sequence {
        let sequence = if seed.is_multiple_of(2) { Sequence::random } else { Sequence::switching_modes };
        Sequence { caches: true, ..sequence(seed, first) }
    }

    /// Runs the sequence with fresh accounts; the error describes the violation.
    pub(crate) async fn run(&self, bed: &TestBed) -> Result<(), Violation> {
        let mut harness = Harness::new(bed, self.first, &self.initially_public, &self.specs).await;
        harness.rules = self.rules;
        for (number, step) in self.steps.iter().enumerate() {
            let context = |violation| format!("at step {number}, {step:?}: {violation}");
            harness.step(step).await.map_err(context)?;
            if self.caches {
                harness.check_cached().await.map_err(context)?;
            }
        }
        let context = |violation| format!("at the end: {violation}");
        harness.settle().await.map_err(context)?;
        final_checks::check_all(&mut harness, &mut Chance::new(self.seed)).await.map_err(context)
    }
}

impl ClientSpec {
    fn random(chance: &mut Chance, accounts: usize, first: i64) -> ClientSpec {
        // Most clients read where most activity is.
        let owner = if chance.one_in(3) { chance.below(accounts) } else { chance.below(2) };
        let reader = if chance.one_in(2) { owner } else { chance.below(accounts) };
        ClientSpec {
            kind: *chance.pick(&[ClientKind::Poller, ClientKind::Stream]),
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
pub(crate) struct Harness<'a> {
    pub(crate) bed: &'a TestBed,
    /// Start time.
    pub(crate) first: i64,
    pub(crate) naive: NaiveModel,
    pub(crate) clients: Vec<FeedClient>,
    /// Every task that a worker took.
    pub(crate) taken: Vec<Task>,
    /// Activities and edges whose delivery was logged twice: clients may receive them twice.
    pub(crate) logged_twice: HashSet<DeliverySubject>,
    /// No two activities are received at the same time, unless ties are wanted.
    pub(crate) latest_receipt: i64,
    pub(crate) ties: bool,
    /// Accounts that performed or attempted a burst.
    pub(crate) bursts: HashSet<Uid>,
    pub(crate) rules: Rules,
    pub(crate) cached: Vec<CachedPage>,
}

/// The subject of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DeliverySubject {
    Activity(model::ActivityId),
    Edge(Uid, Uid),
    CatchUp(Uid),
}

impl<'a> Harness<'a> {
    /// Fresh accounts without any activity.
    pub(crate) async fn new(
        bed: &'a TestBed,
        first: i64,
        initially_public: &[bool],
        specs: &[ClientSpec],
    ) -> Harness<'a> {
        bed.set_time(first);
        let mut naive = NaiveModel::default();
        for public in initially_public {
            let new = NewAccount {
                name: AccountName::parse(&bed.fresh_name()).unwrap(),
                version: Version(1),
                given_name: None,
                family_name: None,
                public: *public,
                operator: false,
                password: None,
                created: bed.now(),
            };
            naive.accounts.push(bed.store.create_account(new).await.unwrap().unwrap());
        }
        let clients = specs.iter().map(|spec| FeedClient::new(spec, &naive)).collect();
        Harness {
            bed,
            first,
            naive,
            clients,
            taken: Vec::new(),
            logged_twice: HashSet::new(),
            latest_receipt: first,
            ties: false,
            bursts: HashSet::new(),
            rules: Rules::default(),
            cached: Vec::new(),
        }
    }

    pub(crate) async fn step(&mut self, step: &Step) -> Result<(), Violation> {
        match step {
            Step::Time(millis) => self.bed.advance(*millis),
            Step::Act { account, action, fault, retry } => {
                self.act(*account, action, *fault, *retry).await?;
            }
            Step::MarkDormant { account, fault } => self.mark_dormant(*account, *fault).await,
            Step::Work { picks, faults } => self.work(picks, faults).await,
            Step::WorkAll => self.work_all().await,
            Step::Land { of_worker, which } => self.land(*of_worker, *which).await?,
            Step::Read { client, size, whole, fault } => {
                self.read(*client, *size, *whole, *fault).await?;
            }
        }
        Ok(())
    }
}

/// Injects faults into the calls with these numbers.
pub(crate) fn plan(store: &Faulty, faults: Vec<super::steps::InjectedFault>) {
    let mut call = 0;
    store.plan(move |_| -> Option<Fault> {
        let fault = faults.iter().find(|fault| fault.call == call);
        call += 1;
        fault.map(|fault| fault.fault)
    });
}
