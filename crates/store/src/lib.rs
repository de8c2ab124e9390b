//! Storage: the interface that every engine implements, and the engines. The conformance suite in
//! `tests/main/conformance` defines the interface and runs against every engine.
//!
//! The interface suits an engine whose only read is an ordered slice of a bounded partition. Its terms are slices,
//! facets, versions, claims, positions and batches. Every engine guarantees:
//!
//! - **No clock.** Times, versions and identifiers come from the caller, positions from the log. The same calls
//!   produce the same content on every engine, at any time.
//! - **Writes are idempotent.** A state with one writer is written whole, and the later version wins in any order
//!   of arrival. A state that is read, changed and written back is replaced by compare-and-set on its version
//!   ([`update`]), so no change is lost to a race.
//! - **A returned write is durable.** It survives a crash.
//! - **Entries are hints, state is the truth.** An entry may lag behind, so a reader checks the state of an
//!   activity before showing it.
//! - **Batch results line up.** A batch look-up returns one result per key, in the order of the keys.

mod activities;
mod bytes;
mod copying;
pub mod cql;
mod entries;
mod error;
mod fanout_mode;
pub mod faulty;
mod grants;
pub mod jetstream;
mod log;
mod networks;
mod notices;
mod sources;
pub mod sqlite;
mod update;

pub use activities::{Acceptance, Accepted, Claim, ExternalKey};
pub use copying::{ActivityRecord, Copying, Removal};
pub use error::{Result, StoreError};
pub use fanout_mode::{FanoutModes, Follower, LastRead};
pub use grants::{Grants, Nonce, Secret};
pub use log::{Backlog, DeadLetter, Log, Task, Work};
pub use networks::{KnownNetwork, MAX_NETWORKS, Networks};
pub use notices::{Notice, Notices};
pub use sources::{Connection, SHARDS, Source, Sources};
pub use update::{StripedLocks, Versioned, update};

use async_trait::async_trait;
use model::{
    Account, AccountName, Activity, ActivityId, Application, ArrivalOffset, Edge, Entry, EntryReasons,
    Filter, Key, KeyId, Millis, Order, Picture, Position, PriorAudience, SortKey, State, Uid, Version,
};

/// A complete store.
#[async_trait]
pub trait Store:
    Accounts + Credentials + Grants + Networks + Graph + Activities + Feeds + FanoutModes + Sources + Log
{
    /// Succeeds if the store can be read.
    async fn ping(&self) -> Result<()>;

    /// Settings of the engine under which an acknowledged write could be lost, as messages for an operator. Empty if
    /// there are none.
    async fn durability_warnings(&self) -> Result<Vec<String>>;

    /// Sends a notice to the other processes of the service. Delivery is not guaranteed, and nothing may rely on it.
    async fn broadcast(&self, notice: &Notice) -> Result<()>;

    /// Notices that other processes broadcast from now on. `None` if the engine does not support other processes.
    async fn subscribe(&self) -> Result<Option<Notices>>;

    /// Sets a named value unless it is set already. Returns the stored value: that of the first call, for ever.
    async fn set_once(&self, name: &str, value: &str) -> Result<String>;

    /// Locks that serialise the updates of one state within this process; see [`update`].
    fn update_locks(&self) -> &StripedLocks;
}

/// A new account without its number, which the store assigns.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// The account's name.
    pub name: AccountName,
    /// The version of the initial state.
    pub version: Version,
    /// Given name.
    pub given_name: Option<String>,
    /// Family name.
    pub family_name: Option<String>,
    /// Whether every authenticated caller may read its public activities.
    pub public: bool,
    /// Whether it may act for any account.
    pub operator: bool,
    /// The hash of the password.
    pub password: Option<String>,
    /// Time of creation.
    pub created: Millis,
}

impl NewAccount {
    /// The initial state of the account with this number.
    pub(crate) fn into_account(self, uid: Uid) -> Account {
        Account {
            uid,
            name: self.name,
            version: self.version,
            given_name: self.given_name,
            family_name: self.family_name,
            public: self.public,
            operator: self.operator,
            password: self.password,
            created: self.created,
            removed: false,
            disabled: false,
            credential_epoch: 0,
        }
    }
}

/// Accounts: versioned states, found by name or number.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Claims the name and creates the account. `None`: the name is taken, or was taken by a removed account. Of
    /// concurrent calls with one name exactly one creates an account.
    async fn create_account(&self, new: NewAccount) -> Result<Option<Account>>;

    /// The account with this name, including a removed one.
    async fn account_by_name(&self, name: &AccountName) -> Result<Option<Account>>;

    /// The accounts with these numbers.
    async fn accounts(&self, uids: &[Uid]) -> Result<Vec<Option<Account>>>;

    /// Replaces the account's state if the stored version is `before`. Callers use [`update`] instead. Number, name
    /// and time of creation never change. If the account becomes public, private or removed, a task is appended to
    /// the log. `false`: another version is stored, and nothing was changed.
    async fn replace_account(&self, before: Version, account: &Account) -> Result<bool>;

    /// A page of the accounts that are not removed, after `after`, in an order that the engine chooses.
    async fn list_accounts(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>>;

    /// The account's picture.
    async fn picture(&self, uid: Uid) -> Result<Option<Picture>>;

    /// Replaces the account's picture unless the stored version is equal or later. A picture without any size deletes
    /// it.
    async fn put_picture(&self, uid: Uid, picture: &Picture) -> Result<()>;
}

/// Pre-shared keys and applications.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Stores a key.
    async fn add_key(&self, key: &Key) -> Result<()>;

    /// The key with this hash, including an expired or revoked one.
    async fn key_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Key>>;

    /// All keys of an account, oldest first.
    async fn keys_of(&self, owner: Uid) -> Result<Vec<Key>>;

    /// Revokes a key permanently. The time of the first revocation stays. `false`: the account has no such key.
    async fn revoke_key(&self, owner: Uid, id: KeyId, at: Millis) -> Result<bool>;

    /// Records the use of a key. The latest time wins.
    async fn touch_key(&self, hash: &[u8; 32], at: Millis) -> Result<()>;

    /// Stores an application. Its key is random and therefore new.
    async fn add_application(&self, application: &Application) -> Result<()>;

    /// The application with this consumer key, including a removed one.
    async fn application(&self, key: &str) -> Result<Option<Application>>;

    /// All applications, oldest first.
    async fn applications(&self) -> Result<Vec<Application>>;

    /// The applications that an account registered, oldest first, including removed ones.
    async fn applications_of(&self, owner: Uid) -> Result<Vec<Application>>;

    /// Removes an application permanently. The time of the first removal stays. `false`: there is no such
    /// application.
    async fn remove_application(&self, key: &str, at: Millis) -> Result<bool>;
}

/// The follow graph: edges as versioned states, readable from both ends.
#[async_trait]
pub trait Graph: Send + Sync {
    /// Replaces an edge unless the stored version is equal or later, and appends a task to the log. Returns the
    /// position of the task. `None`: nothing was changed.
    async fn put_edge(&self, follower: Uid, followee: Uid, edge: &Edge) -> Result<Option<Position>>;

    /// The follower's edges to these accounts, including ended ones.
    async fn edges(&self, follower: Uid, followees: &[Uid]) -> Result<Vec<Option<Edge>>>;

    /// The live edges of a follower, ordered by followee, after `after`.
    async fn following(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>>;

    /// The current followers of an account, ordered by number, after `after`.
    async fn followers(&self, followee: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<Follower>>;
}

/// Activities: their claims, states and bodies.
#[async_trait]
pub trait Activities: Send + Sync {
    /// The claim of an external key, including that of a deleted activity.
    async fn claim(&self, key: &ExternalKey) -> Result<Option<Claim>>;

    /// Stores versions of activities, each independently: its claim, its state and body, the actor's entry, and a
    /// task in the log. [`Accepted::Stored`] means that all of this is durable and the actor's next read shows it. Of
    /// two acceptances that build on the same version of a claim at most one is stored.
    async fn accept(&self, batch: Vec<Acceptance>) -> Result<Vec<Accepted>>;

    /// The current states of these activities.
    async fn states(&self, ids: &[ActivityId]) -> Result<Vec<Option<State>>>;

    /// The union of the audiences of all versions before the current one: the widest visibility and all recipients.
    /// `None`: there is no earlier version.
    async fn prior_audiences(&self, ids: &[ActivityId]) -> Result<Vec<Option<PriorAudience>>>;

    /// The current states of these activities with their bodies, both of the same version.
    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Option<Activity>>>;
}

/// A request for an ordered part of an account's entries, newest first.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// The account.
    pub owner: Uid,
    /// Only entries with any of these reasons.
    pub reasons: EntryReasons,
    /// The time to order by.
    pub order: Order,
    /// The filter. The range of the ordering time is applied exactly. The engine applies the rest only as far as that
    /// is cheap, and may return entries that do not match.
    pub filter: &'a Filter,
    /// Only entries after this sort key.
    pub after: Option<SortKey>,
    /// The maximum number of entries.
    pub limit: usize,
}

impl<'a> Slice<'a> {
    /// A slice of the authored entries of an account.
    pub fn own(
        owner: Uid,
        order: Order,
        filter: &'a Filter,
        after: Option<SortKey>,
        limit: usize,
    ) -> Slice<'a> {
        Slice {
            owner,
            reasons: EntryReasons::default().with(model::EntryReason::Authored),
            order,
            filter,
            after,
            limit,
        }
    }
}

/// An arrival in a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A version of an activity, or its retraction.
    Entry(Entry),
    /// A change that has no entry, of an edge or of a visibility, at this position.
    Change(Position),
}

/// Collections: delivered entries by each of two times, and by arrival.
#[async_trait]
pub trait Feeds: Send + Sync {
    /// Writes entries into collections, one row per reason of an entry. All arrive at `at`; the `arrived` of the
    /// entries is ignored. Each row is a register, so an engine need not read before it writes. Of two writes of a
    /// row the later version wins. Of equal versions the later position wins, and at the same position the wider
    /// prior visibility.
    async fn deliver(&self, at: Position, deliveries: Vec<(Uid, Entry)>) -> Result<()>;

    /// A slice of a collection, in order. An activity that has several of the requested reasons appears once, with
    /// all of them. If its rows differ, it is retracted only if all rows are; its reasons are those of the rows that
    /// are not retracted; everything else comes from the latest row. Fewer entries than the limit means that there
    /// are no more.
    async fn slice(&self, slice: &Slice<'_>) -> Result<Vec<Entry>>;

    /// Reads several slices. An engine may combine reads of adjacent data.
    async fn slices(&self, slices: &[Slice<'_>]) -> Result<Vec<Vec<Entry>>> {
        futures::future::try_join_all(slices.iter().map(|slice| self.slice(slice))).await
    }

    /// Records a change without an entry for these accounts, at this position of the log.
    async fn note_changes(&self, at: Position, owners: &[Uid]) -> Result<()>;

    /// Arrivals after `after`, up to and including `floor`, ordered by position and identifier. An activity appears
    /// once per position, with all reasons for which it arrived there. A change is the last arrival of its position.
    /// Fewer arrivals than the limit means that there are no more.
    async fn arrivals(
        &self,
        owner: Uid,
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Arrival>>;

    /// The arrivals of authored entries only, without changes, for each of these accounts; otherwise as in
    /// [`arrivals`](Feeds::arrivals). Returns one list per account. A list with fewer entries than the limit is
    /// complete.
    async fn own_arrivals(
        &self,
        owners: &[Uid],
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Vec<Entry>>>;

    /// Records that the owner removed an activity from their `to`, and appends a task to the log. `received` is the
    /// time of receipt of the activity. Returns the position of the task. `None`: it was removed before.
    async fn remove(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
        version: Version,
    ) -> Result<Option<Position>>;

    /// Whether the owner removed each of these activities (identifier, time of receipt).
    async fn removed(&self, owner: Uid, items: &[(ActivityId, Millis)]) -> Result<Vec<bool>>;
}
