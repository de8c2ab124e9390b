//! Moving a whole service from one store to another, whichever engines they are. The demo fills its store the same way.
//!
//! What the rest of the interface tells is not told here again. Whatever is put is put as it is given: nothing is logged,
//! nothing arrives anywhere, and to put it twice changes nothing. Nobody else may use the target meanwhile.

use crate::{Claim, Connection, ExternalKey, Result, Store};
use async_trait::async_trait;
use model::{
    AccessToken, Account, Activity, ActivityId, Edge, Entry, Millis, Picture, Position, PriorAudience, Uid,
    Version,
};

/// Where entries and edges that were copied have arrived: before everything that the target's own log brings.
pub(crate) const BEFORE_ALL: Position = Position(0);

/// The name of the fact that keeps a copy's progress.
pub(crate) const PROGRESS: &str = "copy";

/// An activity with everything that the store knows of it.
#[derive(Clone, Debug)]
pub struct ActivityRecord {
    /// Its state and body.
    pub activity: Activity,
    /// What the versions before the present one were together.
    pub prior: Option<PriorAudience>,
    /// What stands at its address, if that is this activity.
    pub claim: Option<(ExternalKey, Claim)>,
}

/// What a recipient took out of what reaches them.
#[derive(Clone, Copy, Debug)]
pub struct Removal {
    /// The activity.
    pub id: ActivityId,
    /// When it was received.
    pub received: Millis,
    /// When it was taken out.
    pub version: Version,
}

/// What a copy needs of a store besides.
#[async_trait]
pub trait Copying: Store {
    /// Whether every delivery is done: nothing is in the log, and nothing waits outside it for its time.
    async fn is_settled(&self, now: Millis) -> Result<bool>;

    /// The facts that were fixed.
    async fn facts(&self) -> Result<Vec<(String, String)>>;

    /// A page of all accounts, removed ones too, in an order of the store's own: those after `after`.
    async fn every_account(&self, after: Option<Uid>, limit: usize) -> Result<Vec<Account>>;

    /// The follower's edges, also those that say "not any more", by number, those after `after`.
    async fn every_edge(&self, follower: Uid, after: Option<Uid>, limit: usize) -> Result<Vec<(Uid, Edge)>>;

    /// What the account took out of what reaches it, each with its version.
    async fn removals(&self, owner: Uid) -> Result<Vec<(ActivityId, Version)>>;

    /// The account's connections, also those that were removed, by name.
    async fn every_connection(&self, owner: Uid) -> Result<Vec<Connection>>;

    /// Puts an account under its number; its name is its own from then on.
    async fn copy_account(&self, account: &Account) -> Result<()>;

    /// Puts an access token.
    async fn copy_token(&self, token: &AccessToken) -> Result<()>;

    /// Puts an account's picture.
    async fn copy_picture(&self, uid: Uid, picture: &Picture) -> Result<()> {
        self.put_picture(uid, picture).await
    }

    /// Puts edges of a follower.
    async fn copy_edges(&self, follower: Uid, edges: Vec<(Uid, Edge)>) -> Result<()>;

    /// Puts activities.
    async fn copy_activities(&self, activities: Vec<ActivityRecord>) -> Result<()>;

    /// Puts what an account took out.
    async fn copy_removals(&self, owner: Uid, removals: Vec<Removal>) -> Result<()>;

    /// Puts entries into a collection.
    async fn copy_entries(&self, owner: Uid, entries: Vec<Entry>) -> Result<()>;

    /// How far a copy into this store has come, as whoever copies noted it; `None`: there was none.
    async fn copied(&self) -> Result<Option<String>>;

    /// Notes how far it has come.
    async fn note_copied(&self, progress: &str) -> Result<()>;

    /// The log, in which nothing is, goes on above `last`, where that of the source has ended; whoever has seen what came
    /// up to there must read anew.
    async fn go_on_above(&self, last: Position) -> Result<()>;
}
