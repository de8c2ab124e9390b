//! What has changed, so that a cached page is known to be true.
//!
//! A write notes every change of what pages depend on ([`note`]). A table of fixed size keeps, by the hash of what
//! changed, the number of the latest commit that changed it: two subjects with the same place only make each other look
//! changed. In tests temporary triggers check that nothing is missing; in production they would make a delivery cost six
//! times as much, because SQLite then keeps a journal of each statement.
//!
//! Another process may write to the same file. A connection that does nothing else detects this by `PRAGMA
//! data_version`, which changes with every commit of another connection, so also with those of this process. After its
//! own commits the writer therefore takes the new version as known, and then asks on its own connection, whose version
//! changes only with commits of others, whether there was one of these too.

use crate::Result;
use crate::dependencies::{Changes, Mark, Part, Standing, Subject};
use model::Uid;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The places of the table: 2 MiB. A power of two.
const PLACES: usize = 1 << 18;

/// The data version of a connection that did not answer.
const UNKNOWN: i64 = -1;

/// How changes are noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeNotes {
    /// By the writes.
    #[default]
    Plain,
    /// The same, and the writer fails if a change was not noted. Only for tests.
    Checked,
    /// Those of this part are lost. Only for tests: what depends on it is out of date.
    Without(Part),
}

/// The tables that pages depend on, with the column of the key.
const WATCHED: [(&str, &str, Part); 9] = [
    ("entry", "uid", Part::Collection),
    ("change", "uid", Part::Collection),
    ("removal", "uid", Part::Removals),
    ("following", "follower", Part::Edges),
    ("relation", "name", Part::Relations),
    ("delivery_state", "uid", Part::DeliveryState),
    ("fanout_mode", "follower", Part::DeliveryState),
    ("activity", "aid", Part::Activity),
    ("task", "NULL", Part::Floor),
];

/// The changes that this process knows of.
pub(super) struct ChangeTable {
    /// The latest commit that changed a subject of each place.
    places: Box<[AtomicU64]>,
    /// Commits of this process that have ended.
    commits: AtomicU64,
    /// How often another process was seen to have committed.
    foreign: AtomicU64,
    /// A commit of this process may or may not be visible yet.
    committing: AtomicBool,
    /// The data version of the writer's connection.
    writer_version: AtomicI64,
    watch: Mutex<Watch>,
    notes: ChangeNotes,
    /// What triggers have seen to change, if they check.
    seen: Mutex<Vec<Subject>>,
}

thread_local! {
    /// The table of the store whose writer this thread is.
    static OF_WRITER: RefCell<Option<Arc<ChangeTable>>> = const { RefCell::new(None) };
}

/// Notes a change by the current write. Called before the commit, so that nothing that is read meanwhile counts as
/// current. Other threads write only to stores that serve no pages.
pub(super) fn note(part: Part, key: &[u8]) {
    OF_WRITER.with_borrow(|table| {
        if let Some(table) = table
            && table.notes != ChangeNotes::Without(part)
        {
            table.place(Subject::new(part, key)).store(table.next_commit(), Ordering::Release);
        }
    });
}

/// Notes a change of what belongs to an account.
pub(super) fn note_of(part: Part, uid: Uid) {
    note(part, &uid.0.to_be_bytes());
}

struct Watch {
    /// `None`: the store is being closed.
    connection: Option<Connection>,
    version: i64,
}

impl Watch {
    fn look(&self) -> i64 {
        self.connection.as_ref().and_then(|connection| data_version(connection).ok()).unwrap_or(UNKNOWN)
    }
}

impl ChangeTable {
    /// Starts to watch. `watch` is a connection for this alone.
    pub(super) fn start(
        writer: &Connection,
        watch: Connection,
        notes: ChangeNotes,
    ) -> Result<Arc<ChangeTable>> {
        let version = data_version(&watch)?;
        let watch = Watch { connection: Some(watch), version };
        let table = Arc::new(ChangeTable {
            places: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            commits: AtomicU64::new(0),
            foreign: AtomicU64::new(0),
            committing: AtomicBool::new(false),
            writer_version: AtomicI64::new(data_version(writer)?),
            watch: Mutex::new(watch),
            notes,
            seen: Mutex::default(),
        });
        if notes == ChangeNotes::Checked {
            table.add_triggers(writer)?;
        }
        Ok(table)
    }

    /// Triggers that report every changed row.
    fn add_triggers(self: &Arc<ChangeTable>, writer: &Connection) -> Result<()> {
        // Not an owner: the connection must not keep itself alive.
        let table = Arc::downgrade(self);
        writer.create_scalar_function("changed", 2, FunctionFlags::SQLITE_UTF8, move |context| {
            let watched = WATCHED.get(usize::from(context.get::<u8>(0)?));
            if let Some(((_, _, part), table)) = watched.zip(table.upgrade()) {
                let subject = match context.get_raw(1) {
                    ValueRef::Integer(number) => Subject::new(*part, &number.to_be_bytes()),
                    ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Subject::new(*part, bytes),
                    ValueRef::Null | ValueRef::Real(_) => Subject::new(*part, &[]),
                };
                table.seen.lock().unwrap_or_else(PoisonError::into_inner).push(subject);
            }
            Ok(None::<i64>)
        })?;
        for (number, (name, column, _)) in WATCHED.iter().enumerate() {
            // Only relations that no longer hold, or of a removed account, are deleted.
            let deleted = (*name != "relation").then_some(("DELETE", "OLD."));
            for (event, row) in [("INSERT", "NEW."), ("UPDATE", "NEW.")].into_iter().chain(deleted) {
                let row = if *column == "NULL" { "" } else { row };
                writer.execute_batch(&format!(
                    "CREATE TEMP TRIGGER watch_{name}_{event} AFTER {event} ON main.\"{name}\"
                     BEGIN SELECT changed({number}, {row}{column}); END"
                ))?;
            }
        }
        Ok(())
    }

    /// Makes this the table of the current thread.
    pub(super) fn attach(self: &Arc<ChangeTable>) {
        OF_WRITER.set(Some(Arc::clone(self)));
    }

    fn next_commit(&self) -> u64 {
        self.commits.load(Ordering::Acquire) + 1
    }

    /// Fails if a change of the current commit was not noted.
    fn check_notes(&self) {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let next = self.next_commit();
        let noted = |subject: &Subject| self.place(*subject).load(Ordering::Acquire) == next;
        assert!(seen.iter().all(noted), "a change was not noted");
    }

    /// Whether no commit of this process has changed the subject since the mark.
    pub(super) fn has_not_changed(&self, since: Mark, subject: Subject) -> bool {
        self.place(subject).load(Ordering::Acquire) <= since.commits
    }

    fn place(&self, subject: Subject) -> &AtomicU64 {
        // The mask keeps the index within the table.
        #[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)]
        &self.places[subject.0 as usize & (PLACES - 1)]
    }

    /// Runs what the writer does on its connection: a group of writes with their commit, or a checkpoint.
    pub(super) fn around<T>(&self, writer: &Connection, work: impl FnOnce() -> T) -> T {
        self.committing.store(true, Ordering::SeqCst);
        let outcome = work();
        self.check_notes();
        self.commits.fetch_add(1, Ordering::AcqRel);
        // In this order: a foreign commit that the first look takes as known is found by the second.
        self.watch(|watch| watch.version = watch.look());
        let version = data_version(writer).unwrap_or(UNKNOWN);
        if self.writer_version.swap(version, Ordering::AcqRel) != version {
            self.foreign.fetch_add(1, Ordering::AcqRel);
        }
        self.committing.store(false, Ordering::SeqCst);
        outcome
    }

    /// Whether no other process was seen to commit since the last look.
    fn is_alone(&self) -> bool {
        self.watch(|watch| {
            let version = watch.look();
            let same = version == watch.version && version != UNKNOWN;
            // The writer needs this lock before it says that it has ended: if the new version may be its own, the flag is
            // still set.
            if !same && !self.committing.load(Ordering::SeqCst) {
                watch.version = version;
                self.foreign.fetch_add(1, Ordering::AcqRel);
            }
            same
        })
    }

    /// Closes the connection, so that the writer's is the last one.
    pub(super) fn stop(&self) {
        self.watch(|watch| watch.connection = None);
    }

    fn watch<T>(&self, look: impl FnOnce(&mut Watch) -> T) -> T {
        look(&mut self.watch.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Changes for ChangeTable {
    fn mark(&self) -> Mark {
        let certain = self.is_alone();
        Mark {
            commits: self.commits.load(Ordering::Acquire),
            foreign: self.foreign.load(Ordering::Acquire),
            certain,
        }
    }

    fn standing(&self, since: Mark, subjects: &[Subject]) -> Standing {
        let is_alone = self.is_alone() && self.foreign.load(Ordering::Acquire) == since.foreign;
        if !is_alone || !subjects.iter().all(|subject| self.has_not_changed(since, *subject)) {
            return Standing::Changed;
        }
        match self.has_not_changed(since, Subject::new(Part::Floor, &[])) {
            true => Standing::Unchanged,
            false => Standing::FloorMoved,
        }
    }
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::super::{Options, SqliteStore};
    use super::*;
    use crate::{Feeds, Store};
    use model::Position;

    /// Tables that no page depends on, and why.
    const UNWATCHED: &[&str] = &[
        // Accounts: pages compare the versions in the account cache.
        "account",
        // The content of a version never changes; it goes with the retention or with its account.
        "body",
        "search",
        // Rows are never changed.
        "facet",
        // Changes while no server runs.
        "fact",
        // Changes with entries.
        "run_of",
        // The other end of an edge, and how deliveries are made.
        "follower",
        "fanout_state",
        "edge_dormancy",
        "waiting",
        "dead_letter",
        // Not shown on pages of collections.
        "picture",
        "claim",
        "key",
        "application",
        "temporary",
        "token",
        "session",
        "ticket",
        "network",
        "source",
        "connection",
        "lease",
        "seen",
        "hook",
        "hook_progress",
        "name_index",
        "usage",
        "second_factor",
        "audit",
        "audit_of",
        "audit_head",
        "erasure",
    ];

    fn path(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("tofrom-changes-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn every_table_is_watched_or_has_a_reason() {
        let folder = path("tables");
        let store = SqliteStore::open(&folder.join("store.db"), Options::default()).unwrap();
        let connection = Connection::open(folder.join("store.db")).unwrap();
        let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let names = names.query_map([], |row| row.get(0)).unwrap().map(|name| name.unwrap());
        let own = |name: &String| !name.starts_with("sqlite_") && !name.starts_with("search_");
        for name in names.filter(own) {
            let watched = WATCHED.iter().any(|(table, _, _)| *table == name);
            assert!(watched != UNWATCHED.contains(&name.as_str()), "{name}");
        }
        drop(store);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn changes_here_and_elsewhere_are_noticed() {
        let folder = path("noticed");
        let open = || SqliteStore::open(&folder.join("store.db"), Options::default()).unwrap();
        let (here, there) = (open(), open());
        let changes = here.changes().unwrap();
        let (ada, bob) = (Uid(7), Uid(8));
        let change = async |store: &SqliteStore, at| store.note_changes(Position(at), &[ada]).await.unwrap();
        let unchanged =
            |mark, uid| changes.standing(mark, &[Subject::of(Part::Collection, uid)]) != Standing::Changed;
        let mark = changes.mark();
        assert!(unchanged(mark, ada));
        change(&here, 1).await;
        assert!(!unchanged(mark, ada));
        assert!(unchanged(mark, bob), "an own commit is not foreign");
        let mark = changes.mark();
        assert!(unchanged(mark, ada));
        change(&there, 2).await;
        assert!(!unchanged(mark, bob), "a foreign commit may have changed anything");
        let mark = changes.mark();
        assert!(unchanged(mark, ada));
        // A foreign commit just before an own one.
        change(&there, 3).await;
        change(&here, 4).await;
        assert!(!unchanged(mark, bob));
        drop((here, there));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
