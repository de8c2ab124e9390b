//! No update is lost: processes change different fields of the same states concurrently, and every change is kept.
//!
//! The processes are this test program, started again. They run for all sequences of a test. Each gets a line with
//! its changes and answers when they are made. `RACE_SEQUENCES` and `RACE_CLUSTER_SEQUENCES` set the number of
//! sequences, `RACE_SEED` the first one.

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
/// The store that a process opens: a SQLite file, or `cql`.
const STORE: &str = "TOFROM_TEST_RACE_STORE";
/// Disables compare-and-set.
const UNCONDITIONAL: &str = "TOFROM_TEST_RACE_UNCONDITIONAL";
/// The line that a process prints when its changes are made; the test harness prints other lines on the same channel.
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
async fn lost_updates_without_compare_and_set_are_detected() {
    let (scratch, race) = on_one_machine(true);
    assert!(race.run(500).await.is_some(), "no lost update was detected");
    drop(scratch);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_on_a_cluster() {
    let Some(store) = cql::shared().await else { return };
    let race = Race::new(store, "cql", false);
    assert_eq!(race.run(sequences("RACE_CLUSTER_SEQUENCES", 20)).await, None);
}

/// Makes the changes that the parent process sends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by another test"]
#[allow(clippy::print_stdout, reason = "how a process answers")]
async fn in_another_process() {
    let location = std::env::var(STORE).unwrap();
    let store: Engine = match location.as_str() {
        "cql" => cql::open_beside_others().await,
        file => Arc::new(sqlite::open_file(file.as_ref())),
    };
    let is_unconditional = std::env::var_os(UNCONDITIONAL).is_some();
    for line in std::io::stdin().lines() {
        let changes = Changes::parse(&line.unwrap());
        if is_unconditional {
            changes
                .make::<Unconditional<Account>, Unconditional<Connection>, Unconditional<Source>>(&*store)
                .await;
        } else {
            changes.make::<Account, Connection, Source>(&*store).await;
        }
        println!("{DONE}");
    }
}

fn on_one_machine(is_unconditional: bool) -> (Scratch, Race) {
    let scratch = Scratch::new();
    let file = scratch.file("store.db");
    let store = Arc::new(sqlite::open_file(&file));
    let race = Race::new(store, file.to_str().unwrap(), is_unconditional);
    (scratch, race)
}

fn sequences(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// The states that a sequence changes.
#[derive(Clone, Copy, Debug)]
struct Subject {
    uid: Uid,
    /// The connection of the account goes to one of these.
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

    /// The stored values of all fields.
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

/// The value that a field can store: some have two values only.
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
    /// Field and value, in order.
    made: Vec<(u64, u64)>,
}

impl Changes {
    fn to_line(&self) -> String {
        let Subject { uid, sources: [first, second] } = self.subject;
        let number = |id: SourceId| u128::from_be_bytes(id.0);
        let mut line = format!("{} {} {}", uid.0, number(first), number(second));
        for (field, value) in &self.made {
            write!(line, " {field} {value}").unwrap();
        }
        line
    }

    fn parse(line: &str) -> Changes {
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

/// Random changes. Every field is changed by at most one process, so its last change must be kept.
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
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(location: &str, is_unconditional: bool) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "main::races::in_another_process", "--ignored", "--nocapture"]);
        if is_unconditional {
            command.env(UNCONDITIONAL, "1");
        }
        command.env(STORE, location).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Process { child, input, output: BufReader::new(output).lines() }
    }

    fn send(&mut self, changes: &Changes) {
        writeln!(self.input, "{}", changes.to_line()).unwrap();
    }

    fn await_done(&mut self) {
        let is_done = self.output.by_ref().any(|line| line.unwrap() == DONE);
        assert!(is_done, "the process ended");
    }

    fn stop(mut self) {
        drop(self.input);
        // Drain the output of the harness.
        self.output.for_each(drop);
        assert!(self.child.wait().unwrap().success());
    }
}

struct Race {
    store: Engine,
    processes: Vec<Process>,
}

impl Race {
    fn new(store: Engine, location: &str, is_unconditional: bool) -> Race {
        let processes = (0..PROCESSES).map(|_| Process::start(location, is_unconditional)).collect();
        Race { store, processes }
    }

    /// Runs sequences, and describes the first one that lost a change.
    async fn run(mut self, sequences: u64) -> Option<String> {
        let first = std::env::var("RACE_SEED").ok().map_or(0, |text| text.parse().unwrap());
        let mut lost = None;
        for seed in first..first + sequences {
            lost = self.lost_change(seed).await;
            if lost.is_some() {
                break;
            }
        }
        self.processes.into_iter().for_each(Process::stop);
        lost
    }

    async fn lost_change(&mut self, seed: u64) -> Option<String> {
        let subject = Subject::new(&*self.store).await;
        let before = subject.fields(&*self.store).await;
        let (changes, expected) = plan(seed, subject, &before);
        for (process, changes) in self.processes.iter_mut().zip(&changes) {
            process.send(changes);
        }
        tokio::task::block_in_place(|| self.processes.iter_mut().for_each(Process::await_done));
        let after = subject.fields(&*self.store).await;
        let changes: Vec<_> = changes.iter().map(|changes| &changes.made).collect();
        (after != expected).then(|| format!("RACE_SEED={seed}: {changes:?} gave {after:?}, not {expected:?}"))
    }
}

/// A state that is written without compare-and-set, to show that the test detects lost updates.
#[derive(Clone, PartialEq)]
struct Unconditional<S>(S);

/// A state that can be changed, with compare-and-set or without.
trait Holds<S> {
    fn state(&mut self) -> &mut S;
}

impl<S: Versioned> Holds<S> for S {
    fn state(&mut self) -> &mut S {
        self
    }
}

impl Holds<Account> for Unconditional<Account> {
    fn state(&mut self) -> &mut Account {
        &mut self.0
    }
}

impl Holds<Connection> for Unconditional<Connection> {
    fn state(&mut self) -> &mut Connection {
        &mut self.0
    }
}

impl Holds<Source> for Unconditional<Source> {
    fn state(&mut self) -> &mut Source {
        &mut self.0
    }
}

#[async_trait]
impl<S: Versioned> Versioned for Unconditional<S> {
    type Key = S::Key;

    async fn load(store: &dyn Store, key: &S::Key) -> Result<Option<Unconditional<S>>> {
        Ok(S::load(store, key).await?.map(Unconditional))
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

    fn with_version(self, version: Version) -> Unconditional<S> {
        Unconditional(self.0.with_version(version))
    }
}
