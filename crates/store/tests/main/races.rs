//! The law of no lost update: processes change different fields of the same states at the same time, and every change
//! stays.
//!
//! The processes are this test program, started again. They stay for all sequences of a test; each gets a line with its
//! changes and answers when they are made. `RACE_SEQUENCES` and `RACE_CLUSTER_SEQUENCES` say how many sequences are tried,
//! `RACE_SEED` with which one to begin.

use super::conformance::{Engine, fresh, sources};
use super::scratch::Scratch;
use super::{cql, sqlite};
use async_trait::async_trait;
use model::{Account, Millis, SourceId, Uid, Version};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use store::{Connection, Result, Source, Store, StoreError, Versioned, update};

const PROCESSES: usize = 3;
/// What a process opens: a file of SQLite, or `cql`.
const STORE: &str = "TOFROM_TEST_RACE_STORE";
/// Without the comparison that the law is about.
const CARELESS: &str = "TOFROM_TEST_RACE_CARELESS";
/// What a process says when its changes are made; the test harness says other things on the same channel.
const DONE: &str = "changes made";

const NAME: &str = "photos";
const ACCOUNT_FIELDS: u64 = 7;
const CONNECTION_FIELDS: u64 = 6;
const SOURCE_FIELDS: u64 = 5;
const FIELDS: u64 = ACCOUNT_FIELDS + CONNECTION_FIELDS + SOURCE_FIELDS;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_on_one_machine() {
    let (scratch, race) = on_one_machine(false);
    let lost = race.run(sequences("RACE_SEQUENCES", 500)).await;
    assert_eq!(lost, None);
    drop(scratch);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_without_the_comparison_is_caught() {
    let (scratch, race) = on_one_machine(true);
    assert!(race.run(500).await.is_some(), "the law would not notice a lost update");
    drop(scratch);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_on_a_cluster() {
    let Some(store) = cql::shared().await else { return };
    let race = Race::new(store, "cql", false);
    assert_eq!(race.run(sequences("RACE_CLUSTER_SEQUENCES", 50)).await, None);
}

/// Makes the changes that another process asks for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by another test"]
#[allow(clippy::print_stdout, reason = "how a process answers")]
async fn in_another_process() {
    let place = std::env::var(STORE).unwrap();
    let store: Engine = match place.as_str() {
        "cql" => cql::open_beside_others().await,
        file => Arc::new(sqlite::open_file(file.as_ref())),
    };
    let is_careless = std::env::var_os(CARELESS).is_some();
    for line in std::io::stdin().lines() {
        let changes = Changes::read(&line.unwrap());
        if is_careless {
            changes.make::<Careless<Account>, Careless<Connection>, Careless<Source>>(&*store).await;
        } else {
            changes.make::<Account, Connection, Source>(&*store).await;
        }
        println!("{DONE}");
    }
}

fn on_one_machine(is_careless: bool) -> (Scratch, Race) {
    let scratch = Scratch::new();
    let file = scratch.file("store.db");
    let store = Arc::new(sqlite::open_file(&file));
    let race = Race::new(store, file.to_str().unwrap(), is_careless);
    (scratch, race)
}

fn sequences(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().map_or(usual, |text| text.parse().unwrap())
}

/// The states that a sequence is about.
#[derive(Clone, Copy, Debug)]
struct Subject {
    uid: Uid,
    /// The connection of that account goes to one of these.
    sources: [SourceId; 2],
}

impl Subject {
    async fn new(store: &dyn Store) -> Subject {
        let uid = fresh::uid(store).await;
        let sources = [sources::id(), sources::id()];
        let (version, state) = (Version(1), vec![0; 4]);
        for id in sources {
            let source = Source { id, version, shard: 9, due: None, state: state.clone() };
            assert!(store.replace_source(None, &source).await.unwrap());
        }
        let (name, source) = (NAME.to_owned(), sources[0]);
        let connection = Connection { owner: uid, name, version, source, removed: false, state };
        assert!(store.replace_connection(None, &connection).await.unwrap());
        Subject { uid, sources }
    }

    /// What is stored in every field.
    async fn fields(&self, store: &dyn Store) -> Vec<u64> {
        let account = store.accounts(&[self.uid]).await.unwrap().remove(0).unwrap();
        let connection = store.connection(self.uid, NAME).await.unwrap().unwrap();
        let source = store.source(self.sources[0]).await.unwrap().unwrap();
        let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok()).unwrap_or(0);
        let flag = u64::from;
        let bytes = |state: &[u8]| state.iter().copied().map(u64::from).collect::<Vec<_>>();
        let mut fields = vec![
            number(&account.given_name),
            number(&account.family_name),
            number(&account.password),
            flag(account.public),
            flag(account.operator),
            flag(account.disabled),
            flag(account.removed),
        ];
        fields.extend(bytes(&connection.state));
        fields.extend([flag(connection.removed), flag(connection.source == self.sources[1])]);
        fields.extend(bytes(&source.state));
        fields.push(source.due.map_or(0, |due| due.0.unsigned_abs()));
        fields
    }
}

/// What a value becomes in a field: some have two values only.
fn value_of(field: u64, value: u64) -> u64 {
    match field {
        3..=6 | 11 | 12 => value % 2,
        _ => value,
    }
}

/// The changes of one process.
#[derive(Debug)]
struct Changes {
    subject: Subject,
    /// Field and value, in their order.
    made: Vec<(u64, u64)>,
}

impl Changes {
    fn written(&self) -> String {
        let Subject { uid, sources: [one, other] } = self.subject;
        let number = |id: SourceId| u128::from_be_bytes(id.0);
        let mut line = format!("{} {} {}", uid.0, number(one), number(other));
        for (field, value) in &self.made {
            write!(line, " {field} {value}").unwrap();
        }
        line
    }

    fn read(line: &str) -> Changes {
        let mut numbers = line.split(' ').map(|text| text.parse::<u128>().unwrap());
        let mut next = || numbers.next().unwrap();
        let uid = Uid(i64::try_from(next()).unwrap());
        let subject = Subject { uid, sources: [next(), next()].map(|id| SourceId(id.to_be_bytes())) };
        let rest: Vec<u64> = numbers.map(|number| u64::try_from(number).unwrap()).collect();
        Changes { subject, made: rest.chunks(2).map(|pair| (pair[0], pair[1])).collect() }
    }

    async fn make<A, C, S>(&self, store: &dyn Store)
    where
        A: Versioned<Key = Uid> + Holds<Account>,
        C: Versioned<Key = (Uid, String)> + Holds<Connection>,
        S: Versioned<Key = SourceId> + Holds<Source>,
    {
        let Subject { uid, sources } = self.subject;
        for (field, value) in &self.made {
            let value = value_of(*field, *value);
            let (text, flag, byte) = (Some(value.to_string()), value == 1, u8::try_from(value).unwrap());
            if *field < ACCOUNT_FIELDS {
                let set = |account: &mut Account| match field {
                    0 => account.given_name = text.clone(),
                    1 => account.family_name = text.clone(),
                    2 => account.password = text.clone(),
                    3 => account.public = flag,
                    4 => account.operator = flag,
                    5 => account.disabled = flag,
                    _ => account.removed = flag,
                };
                change::<A, _>(store, &uid, set).await;
            } else if *field < ACCOUNT_FIELDS + CONNECTION_FIELDS {
                let set = |connection: &mut Connection| match field - ACCOUNT_FIELDS {
                    4 => connection.removed = flag,
                    5 => connection.source = sources[usize::from(flag)],
                    at => connection.state[usize::try_from(at).unwrap()] = byte,
                };
                change::<C, _>(store, &(uid, NAME.to_owned()), set).await;
            } else {
                let set = |source: &mut Source| match field - ACCOUNT_FIELDS - CONNECTION_FIELDS {
                    4 => source.due = Some(Millis(i64::from(byte))).filter(|due| due.0 > 0),
                    at => source.state[usize::try_from(at).unwrap()] = byte,
                };
                change::<S, _>(store, &sources[0], set).await;
            }
        }
    }
}

async fn change<V: Versioned + Holds<T>, T>(store: &dyn Store, key: &V::Key, set: impl Fn(&mut T)) {
    let now = Millis(fresh::NOON);
    let next = |stored: Option<&V>| {
        let mut next = stored.unwrap().clone();
        set(next.state());
        Ok::<_, StoreError>(Some(next))
    };
    update(store, key, now, next).await.unwrap();
}

/// Random changes: every field is changed by one process at most, so that its last change has to stay.
fn plan(seed: u64, subject: Subject, before: &[u64]) -> (Vec<Changes>, Vec<u64>) {
    let mut state = seed;
    let mut roll = |sides: u64| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % sides
    };
    let owners: Vec<u64> = (0..FIELDS).map(|_| roll(PROCESSES as u64)).collect();
    let mut expected = before.to_vec();
    let changes = (0..PROCESSES as u64).map(|process| {
        let own: Vec<u64> =
            (0..FIELDS).filter(|field| owners[usize::try_from(*field).unwrap()] == process).collect();
        let count = if own.is_empty() { 0 } else { 1 + roll(6) };
        let made: Vec<(u64, u64)> = (0..count)
            .map(|_| {
                let at = roll(own.len() as u64);
                (own[usize::try_from(at).unwrap()], 1 + roll(250))
            })
            .collect();
        for (field, value) in &made {
            expected[usize::try_from(*field).unwrap()] = value_of(*field, *value);
        }
        Changes { subject, made }
    });
    (changes.collect(), expected)
}

/// A process that makes changes.
struct Process {
    child: Child,
    asks: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(place: &str, is_careless: bool) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "main::races::in_another_process", "--ignored", "--nocapture"]);
        if is_careless {
            command.env(CARELESS, "1");
        }
        command.env(STORE, place).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (asks, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Process { child, asks, answers: BufReader::new(answers).lines() }
    }

    fn ask(&mut self, changes: &Changes) {
        writeln!(self.asks, "{}", changes.written()).unwrap();
    }

    fn answer(&mut self) {
        let is_done = self.answers.by_ref().any(|line| line.unwrap() == DONE);
        assert!(is_done, "the process ended");
    }

    fn stop(mut self) {
        drop(self.asks);
        // What the harness says at the end has to go somewhere.
        self.answers.for_each(drop);
        assert!(self.child.wait().unwrap().success());
    }
}

struct Race {
    store: Engine,
    processes: Vec<Process>,
}

impl Race {
    fn new(store: Engine, place: &str, is_careless: bool) -> Race {
        let processes = (0..PROCESSES).map(|_| Process::start(place, is_careless)).collect();
        Race { store, processes }
    }

    /// Tries so many sequences; the first in which a change was lost is described.
    async fn run(mut self, sequences: u64) -> Option<String> {
        let first = std::env::var("RACE_SEED").ok().map_or(0, |text| text.parse().unwrap());
        let mut lost = None;
        for seed in first..first + sequences {
            lost = self.lost(seed).await;
            if lost.is_some() {
                break;
            }
        }
        self.processes.into_iter().for_each(Process::stop);
        lost
    }

    async fn lost(&mut self, seed: u64) -> Option<String> {
        let subject = Subject::new(&*self.store).await;
        let before = subject.fields(&*self.store).await;
        let (changes, expected) = plan(seed, subject, &before);
        for (process, changes) in self.processes.iter_mut().zip(&changes) {
            process.ask(changes);
        }
        tokio::task::block_in_place(|| self.processes.iter_mut().for_each(Process::answer));
        let after = subject.fields(&*self.store).await;
        let changes: Vec<_> = changes.iter().map(|changes| &changes.made).collect();
        (after != expected).then(|| format!("RACE_SEED={seed}: {changes:?} gave {after:?}, not {expected:?}"))
    }
}

/// A state that is written over whatever is stored: what the law has to notice.
#[derive(Clone, PartialEq)]
struct Careless<S>(S);

/// A state that can be changed, written with the comparison or without.
trait Holds<S> {
    fn state(&mut self) -> &mut S;
}

impl<S: Versioned> Holds<S> for S {
    fn state(&mut self) -> &mut S {
        self
    }
}

impl Holds<Account> for Careless<Account> {
    fn state(&mut self) -> &mut Account {
        &mut self.0
    }
}

impl Holds<Connection> for Careless<Connection> {
    fn state(&mut self) -> &mut Connection {
        &mut self.0
    }
}

impl Holds<Source> for Careless<Source> {
    fn state(&mut self) -> &mut Source {
        &mut self.0
    }
}

#[async_trait]
impl<S: Versioned> Versioned for Careless<S> {
    type Key = S::Key;

    async fn load(store: &dyn Store, key: &S::Key) -> Result<Option<Careless<S>>> {
        Ok(S::load(store, key).await?.map(Careless))
    }

    async fn replace(&self, store: &dyn Store, _before: Option<Version>) -> Result<bool> {
        let stored = S::load(store, &self.key()).await?.map(|stored| stored.version());
        let later = self.0.version().max(stored.map_or(Version::default(), Version::following));
        self.0.clone().with_version(later).replace(store, stored).await
    }

    fn key(&self) -> S::Key {
        self.0.key()
    }

    fn version(&self) -> Version {
        self.0.version()
    }

    fn with_version(self, version: Version) -> Careless<S> {
        Careless(self.0.with_version(version))
    }
}
