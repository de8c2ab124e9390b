//! Copying all data of a service from one store to another, of any engine. The demo fills its store the same way.
//!
//! This trait has only what the rest of the interface lacks. The `copy_…` methods write values unchanged: they append
//! nothing to the log, create no arrivals, and are idempotent. Nothing else may use the target during a copy.

use crate::{Claim, Connection, DecisionChange, ExternalKey, Hook, Result, Store, Usage};
use async_trait::async_trait;
use model::{
    AccessToken, Account, Activity, ActivityId, Edge, Entry, Millis, Position, PriorAudience, Uid, Version,
};

/// The position of copied entries and edges: before everything in the log of the target.
pub(crate) const BEFORE_ALL: Position = Position(0);

/// The name of the fact that stores the progress of a copy.
pub(crate) const PROGRESS: &str = "copy";

/// An activity with all its data in the store.
#[derive(Clone, Debug)]
pub struct ActivityRecord {
    /// State and body.
    pub activity: Activity,
    /// The union of the audiences of all versions before the current one.
    pub prior: Option<PriorAudience>,
    /// The claim of its external key, if that belongs to this activity.
    pub claim: Option<(ExternalKey, Claim)>,
}

/// An activity that a recipient removed from their `to`.
#[derive(Clone, Copy, Debug)]
pub struct Removal {
    /// The activity.
    pub id: ActivityId,
    /// Its time of receipt.
    pub received: Millis,
    /// The version of the removal.
    pub version: Version,
}

/// The additional operations that a copy needs.
#[async_trait]
pub trait Copying: Store {
    /// Whether all deliveries are done: the log is empty, and no task waits for its retry.
    async fn is_settled(&self, now: Millis) -> Result<bool>;

    /// All facts, set by [`set_once`](Store::set_once).
    async fn facts(&self) -> Result<Vec<(String, String)>>;

    /// A page of all accounts, including removed ones, after `after`, in an order that the engine chooses.
    async fn every_account(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>>;

    /// The follower's edges, including ended ones, ordered by followee, after `after`.
    async fn every_edge(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>>;

    /// The activities that the account removed from its `to`, each with the version of the removal.
    async fn removals(&self, owner: Uid) -> Result<Vec<(ActivityId, Version)>>;

    /// The account's usage by day.
    async fn every_usage(&self, uid: Uid) -> Result<Vec<(i64, Usage)>>;

    /// The account's blocks and mutes.
    async fn every_decision(&self, account: &Account) -> Result<Vec<DecisionChange>>;

    /// The account's connections, including removed ones, by name.
    async fn every_connection(&self, owner: Uid) -> Result<Vec<Connection>>;

    /// The account's hooks, including removed ones, by name.
    async fn every_hook(&self, owner: Uid) -> Result<Vec<Hook>>;

    /// Writes an account under its number, and claims its name.
    async fn copy_account(&self, account: &Account) -> Result<()>;

    /// Writes an access token.
    async fn copy_token(&self, token: &AccessToken) -> Result<()>;

    /// Writes edges of a follower.
    async fn copy_edges(&self, follower: Uid, edges: Vec<(Uid, Edge)>) -> Result<()>;

    /// Writes activities.
    async fn copy_activities(&self, activities: Vec<ActivityRecord>) -> Result<()>;

    /// Writes removals of an account.
    async fn copy_removals(&self, owner: Uid, removals: Vec<Removal>) -> Result<()>;

    /// Writes the usage of an account by day.
    async fn copy_usage(&self, uid: Uid, days: Vec<(i64, Usage)>) -> Result<()>;

    /// Writes a block or mute.
    async fn copy_decision(&self, change: &DecisionChange) -> Result<()>;

    /// Writes entries into a collection.
    async fn copy_entries(&self, owner: Uid, entries: Vec<Entry>) -> Result<()>;

    /// The progress of a copy into this store, as set by [`set_copy_progress`](Copying::set_copy_progress). `None`:
    /// no copy has begun.
    async fn copy_progress(&self) -> Result<Option<String>>;

    /// Stores the progress of a copy.
    async fn set_copy_progress(&self, progress: &str) -> Result<()>;

    /// Continues the empty log above `last`, the last position of the source. Sync tokens of positions up to `last`
    /// become too old: their holders must read again from the start.
    async fn continue_log_above(&self, last: Position) -> Result<()>;
}
