//! What a read depended on, so that its result can be used again until something of that changes.
//!
//! The read methods of an engine that implements [`Changes`] say what they read ([`depends_on`]), and so does the account
//! cache. [`recorded`] collects this for a read of many calls.

use crate::Store;
use model::{Millis, Uid, Version};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hasher};

/// The maximum number of subjects of one read. A read that depends on more is not worth caching.
const MAX_SUBJECTS: usize = 4_000;

/// A part of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// The entries of an account's collections, and the positions at which they changed without an entry.
    Collection,
    /// The activities that an account has removed from its collections.
    Removals,
    /// The edges of a follower.
    Edges,
    /// The blocks and mutes of an account, and the blocks of others against it.
    Relations,
    /// The delivery state of an account, with its pulled actors.
    DeliveryState,
    /// An activity.
    Activity,
    /// The floor of the delivery log.
    Floor,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 7] = [
        Part::Collection,
        Part::Removals,
        Part::Edges,
        Part::Relations,
        Part::DeliveryState,
        Part::Activity,
        Part::Floor,
    ];
}

/// What may change: a part of the store and its key, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject(pub(crate) u64);

impl Subject {
    /// The subject with this key.
    pub fn new(part: Part, key: &[u8]) -> Subject {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(part as u8);
        hasher.write(key);
        Subject(hasher.finish())
    }

    /// A part that belongs to an account.
    pub fn of(part: Part, uid: Uid) -> Subject {
        Subject::new(part, &uid.0.to_be_bytes())
    }
}

/// A time in the history of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Commits of this process that had ended.
    pub(crate) commits: u64,
    /// How often another process was seen to have committed.
    pub(crate) foreign: u64,
    /// Whether it is known that no other process has committed since then.
    pub(crate) certain: bool,
}

/// What has changed since a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Unchanged,
    /// Of the subjects nothing, but the floor of the delivery log.
    FloorMoved,
    /// Perhaps one of the subjects.
    Changed,
}

/// The changes of a store, as far as this process needs to know them.
pub trait Changes: Send + Sync {
    /// Now. A read that begins after this sees every change before the mark.
    fn mark(&self) -> Mark;

    /// What has changed since the mark, of the subjects and the floor.
    fn standing(&self, since: Mark, subjects: &[Subject]) -> Standing;
}

/// What a read depended on.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// Taken before the read.
    since: Mark,
    subjects: Box<[Subject]>,
    /// The versions of the accounts it saw, which may be those of the account cache. `None`: there was no such account.
    pub(crate) accounts: Box<[(Uid, Option<Version>)]>,
    /// From then on the passing of time may change the result.
    until: Option<Millis>,
}

impl Dependencies {
    /// The same dependencies at a later mark, up to which nothing has changed.
    #[must_use]
    pub fn renewed(self, since: Mark) -> Dependencies {
        Dependencies { since, ..self }
    }

    /// What has changed for the read, except accounts ([`AccountCache::are_unchanged`]). Unless it is
    /// [`Standing::Changed`], the read would give the same result, except for what it says about the floor.
    ///
    /// [`AccountCache::are_unchanged`]: crate::AccountCache::are_unchanged
    pub fn standing(&self, store: &dyn Store, now: Millis) -> Standing {
        match store.changes() {
            Some(changes) if self.until.is_none_or(|until| now < until) => {
                changes.standing(self.since, &self.subjects)
            }
            _ => Standing::Changed,
        }
    }

    /// The approximate size in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.subjects) + size_of_val(&*self.accounts)
    }
}

struct Record {
    since: Mark,
    subjects: Vec<Subject>,
    accounts: Vec<(Uid, Option<Version>)>,
    until: Option<Millis>,
}

impl Record {
    fn new(since: Mark) -> Record {
        Record { since, subjects: Vec::new(), accounts: Vec::new(), until: None }
    }
}

tokio::task_local! {
    static RECORD: RefCell<Record>;
}

/// Runs a read and returns its result with what it depended on. `None`: the engine does not know what changes, or the
/// read depended on too much.
///
/// The floor is not among the subjects: it moves with every write, and most results only mention it
/// ([`Standing::FloorMoved`]).
pub async fn recorded<T>(store: &dyn Store, read: impl Future<Output = T>) -> (T, Option<Dependencies>) {
    let Some(changes) = store.changes() else { return (read.await, None) };
    let since = changes.mark();
    let recording = RECORD.scope(RefCell::new(Record::new(since)), async {
        let result = read.await;
        (result, RECORD.with(|record| record.replace(Record::new(since))))
    });
    let (result, Record { mut subjects, mut accounts, until, .. }) = recording.await;
    if subjects.len() + accounts.len() > MAX_SUBJECTS {
        return (result, None);
    }
    subjects.sort_unstable();
    subjects.dedup();
    accounts.sort_unstable();
    accounts.dedup();
    (result, Some(Dependencies { since, subjects: subjects.into(), accounts: accounts.into(), until }))
}

/// Notes that the current read depends on these subjects.
pub(crate) fn depends_on(subjects: impl IntoIterator<Item = Subject>) {
    note(|record| {
        // One more shows that there were too many.
        let room = (MAX_SUBJECTS + 1).saturating_sub(record.subjects.len());
        record.subjects.extend(subjects.into_iter().take(room));
    });
}

/// Notes that the current read saw this version of an account.
pub(crate) fn saw_account(uid: Uid, version: Option<Version>) {
    note(|record| record.accounts.push((uid, version)));
}

/// Notes that the result of the current read may change at this time.
pub fn holds_until(time: Millis) {
    note(|record| record.until = Some(record.until.map_or(time, |until| until.min(time))));
}

/// The mark of the current read, if it is recorded.
pub(crate) fn recording_since() -> Option<Mark> {
    RECORD.try_with(|record| record.borrow().since).ok()
}

fn note(add: impl FnOnce(&mut Record)) {
    // Outside of a recorded read there is nothing to do.
    let _ = RECORD.try_with(|record| add(&mut record.borrow_mut()));
}
