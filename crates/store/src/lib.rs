//! Where tofrom keeps what it knows: the interface that every engine offers, and the engines. The suite that holds
//! each engine to the interface is `tests/main/conformance`; it is the interface's definition.
//!
//! The interface is cut for an engine where a read is an ordered slice of a bounded partition and nothing else: it
//! speaks of slices, facets, versions, claims, positions and batches. What every engine promises:
//!
//! - **No clock.** Times, versions and identifiers come from the caller, positions from the log. The same calls give
//!   the same content on every engine, whenever they are made.
//! - **Every write can be repeated.** A state that one place decides on is written whole, and the later version wins
//!   whichever comes last. A state that is read, changed and written back is replaced only on the version that was read
//!   ([`update`]), so that no change is lost to a race.
//! - **Done means durable.** When a write returns, it survives a crash.
//! - **Entries are hints, state is the truth.** An entry may lag behind; who shows an activity checks its state.
//! - **Results line up.** A look-up of many gives as many answers, in the order of the questions.

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
pub use update::{Gates, Versioned, update};

use async_trait::async_trait;
use model::{
    Account, AccountName, Activity, ActivityId, Application, ArrivalOffset, Edge, Entry, EntryReasons,
    Filter, Key, KeyId, Millis, Order, Picture, Position, PriorAudience, SortKey, State, Uid, Version,
};

/// Everything that a store offers.
#[async_trait]
pub trait Store:
    Accounts + Credentials + Grants + Networks + Graph + Activities + Feeds + FanoutModes + Sources + Log
{
    /// Answers when the store can be read.
    async fn ping(&self) -> Result<()>;

    /// Why what is acknowledged might get lost after all: how an engine is set up. Nothing, if all is well.
    async fn durability_warnings(&self) -> Result<Vec<String>>;

    /// Tells the other processes of the service. It may get lost: nobody relies on it.
    async fn broadcast(&self, notice: &Notice) -> Result<()>;

    /// What the other processes tell from now on; `None` where there are none that could be heard.
    async fn subscribe(&self) -> Result<Option<Notices>>;

    /// Fixes a fact about this store for ever: gives back the value of whoever named it first.
    async fn set_once(&self, name: &str, value: &str) -> Result<String>;

    /// Where the changes of one state that this process makes queue; see [`update`].
    fn update_gates(&self) -> &Gates;
}

/// What a new account starts with; the store gives it its number.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Its name.
    pub name: AccountName,
    /// The version of this first state.
    pub version: Version,
    /// Given name, if told.
    pub given_name: Option<String>,
    /// Family name, if told.
    pub family_name: Option<String>,
    /// Readable by every authenticated caller.
    pub public: bool,
    /// Acts on behalf of any account.
    pub operator: bool,
    /// The password's hash.
    pub password: Option<String>,
    /// When it is made.
    pub created: Millis,
}

impl NewAccount {
    /// The account, once it has its number.
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

/// Accounts: states with a version, found by name or number.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Claims the name and makes the account. `None`: the name is taken, now or ever before. Of many calls with one
    /// name exactly one makes an account.
    async fn create_account(&self, new: NewAccount) -> Result<Option<Account>>;

    /// The account of that name; a removed one is found too and says so.
    async fn account_by_name(&self, name: &AccountName) -> Result<Option<Account>>;

    /// The accounts of these numbers.
    async fn accounts(&self, uids: &[Uid]) -> Result<Vec<Option<Account>>>;

    /// Replaces the account's state if the stored version is `before`; [`update`] is how callers change an account.
    /// Number, name and time of creation stay what they are. Where the account becomes public or private, or is removed,
    /// that is followed up: a task in the log. `false`: another version is stored, and nothing was changed.
    async fn replace_account(&self, before: Version, account: &Account) -> Result<bool>;

    /// A page of all accounts, removed ones left out, in an order of the store's own: those after `after`.
    async fn list_accounts(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>>;

    /// The account's picture.
    async fn picture(&self, uid: Uid) -> Result<Option<Picture>>;

    /// Replaces the account's picture, unless the stored version is as late or later. One without any size says that there
    /// is no picture any more.
    async fn put_picture(&self, uid: Uid, picture: &Picture) -> Result<()>;
}

/// Pre-shared keys and applications.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// Keeps a key.
    async fn add_key(&self, key: &Key) -> Result<()>;

    /// The key with that hash, whether it is live or not.
    async fn key_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Key>>;

    /// All keys of an account, oldest first.
    async fn keys_of(&self, owner: Uid) -> Result<Vec<Key>>;

    /// Revokes a key for good; the first revocation's time stays. `false`: the account has no such key.
    async fn revoke_key(&self, owner: Uid, id: KeyId, at: Millis) -> Result<bool>;

    /// Notes that a key was used; the latest time wins.
    async fn touch_key(&self, hash: &[u8; 32], at: Millis) -> Result<()>;

    /// Keeps an application. Its key is random, so it is new.
    async fn add_application(&self, application: &Application) -> Result<()>;

    /// The application with that consumer key, removed or not.
    async fn application(&self, key: &str) -> Result<Option<Application>>;

    /// All applications, oldest first.
    async fn applications(&self) -> Result<Vec<Application>>;

    /// The applications that an account registered, oldest first, also removed ones.
    async fn applications_of(&self, owner: Uid) -> Result<Vec<Application>>;

    /// Removes an application for good; the first removal's time stays. `false`: there is none.
    async fn remove_application(&self, key: &str, at: Millis) -> Result<bool>;
}

/// Who follows whom: edges as states with a version, readable from both ends.
#[async_trait]
pub trait Graph: Send + Sync {
    /// Replaces an edge's state, unless the stored version is as late or later, and has it followed up: a task in the
    /// log, whose position is given. `None`: nothing was changed.
    async fn put_edge(&self, follower: Uid, followee: Uid, edge: &Edge) -> Result<Option<Position>>;

    /// The follower's edges to these accounts, also those that say "not any more".
    async fn edges(&self, follower: Uid, followees: &[Uid]) -> Result<Vec<Option<Edge>>>;

    /// Whom the account follows now, by number, those after `after`.
    async fn following(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>>;

    /// Who follows the account now, by number, those after `after`.
    async fn followers(&self, followee: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<Follower>>;
}

/// Activities: their claims, states and bodies.
#[async_trait]
pub trait Activities: Send + Sync {
    /// What is claimed at that address, deleted or not.
    async fn claim(&self, source: &ExternalKey) -> Result<Option<Claim>>;

    /// Takes versions of activities in, each by itself: its claim, its state and body, the actor's own entry, and a
    /// task in the log. When it returns [`Accepted::Stored`], all of that is durable and the actor's next read shows
    /// it. Two that claim one address on the same version can't both be stored.
    async fn accept(&self, batch: Vec<Acceptance>) -> Result<Vec<Accepted>>;

    /// The present states of these activities.
    async fn states(&self, ids: &[ActivityId]) -> Result<Vec<Option<State>>>;

    /// What the versions before the present ones of these activities were, all taken together: the widest visibility,
    /// and everybody whom they addressed. `None`: there was none before.
    async fn prior_audiences(&self, ids: &[ActivityId]) -> Result<Vec<Option<PriorAudience>>>;

    /// The present states of these activities with their bodies, both of one version.
    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Option<Activity>>>;
}

/// An ordered part of an account's entries.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// Whose.
    pub owner: Uid,
    /// Of which reasons.
    pub reasons: EntryReasons,
    /// In which order, newest first.
    pub order: Order,
    /// What is looked for. The range of the ordering time is kept exactly; by the rest the store leaves out what it
    /// can leave out cheaply, and may give more than is looked for.
    pub filter: &'a Filter,
    /// Only entries that come after this sort_key.
    pub after: Option<SortKey>,
    /// How many at most.
    pub limit: usize,
}

impl<'a> Slice<'a> {
    /// A part of what an account did.
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

/// What came into a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A version of an activity, or its end.
    Entry(Entry),
    /// Something changed that no entry tells of: an edge, or who may see what.
    Change(Position),
}

/// Collections: delivered entries, in two orders and in the order of their arrival.
#[async_trait]
pub trait Feeds: Send + Sync {
    /// Writes entries into collections, a row for each of an entry's reasons, all arriving at `at` (what the entries
    /// themselves say of their arrival does not count). Of two writes of one row the later version stays, of equal
    /// versions the later position, at one position the one that says more widely who could see what was before it:
    /// the row is a register, and an engine needs to read nothing to write it.
    async fn deliver(&self, at: Position, deliveries: Vec<(Uid, Entry)>) -> Result<()>;

    /// A slice of a collection: in order, an activity that is in several reasons once, with all of them that are asked
    /// for. Where its rows differ, it is retracted only if all of them are, it is in the reasons of those that are not, and
    /// the rest is as the latest row says. Fewer than the limit means that there are no more.
    async fn slice(&self, slice: &Slice<'_>) -> Result<Vec<Entry>>;

    /// Several slices at once; an engine may read together what lies together.
    async fn slices(&self, slices: &[Slice<'_>]) -> Result<Vec<Vec<Entry>>> {
        futures::future::try_join_all(slices.iter().map(|slice| self.slice(slice))).await
    }

    /// Notes that at that position in the log something changed for these accounts that no entry tells of.
    async fn note_changes(&self, at: Position, owners: &[Uid]) -> Result<()>;

    /// What arrived after `after` and not after `floor`, by position and identifier, an activity once per position
    /// with all the reasons that it arrived in; a change comes last at its position. Fewer than the limit means that there
    /// are no more.
    async fn arrivals(
        &self,
        owner: Uid,
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Arrival>>;

    /// What arrived among what each of these accounts did, as [`arrivals`](Feeds::arrivals) gives it, other reasons and
    /// changes left out: as many lists as accounts, each with no more than the limit, and one with fewer has all.
    async fn own_arrivals(
        &self,
        owners: &[Uid],
        after: ArrivalOffset,
        floor: Position,
        limit: usize,
    ) -> Result<Vec<Vec<Entry>>>;

    /// Notes that the owner took an activity (received then) out of what reaches them, and has it followed up: a task in
    /// the log, whose position is given. `None`: it was noted before.
    async fn remove(
        &self,
        owner: Uid,
        id: ActivityId,
        received: Millis,
        version: Version,
    ) -> Result<Option<Position>>;

    /// Whether the owner did so, for each of these activities (identifier, time of receipt).
    async fn removed(&self, owner: Uid, items: &[(ActivityId, Millis)]) -> Result<Vec<bool>>;
}
