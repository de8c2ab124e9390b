//! The interface of activities, and the types with which one is accepted.

use crate::{Result, Usage};
use async_trait::async_trait;
use model::{Activity, ActivityId, Position, PriorAudience, State, Uid, Version};

/// The identity of an activity outside the store: its actor, its service, and the service's own identifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExternalKey {
    /// The actor.
    pub actor: Uid,
    /// The folded name of the service.
    pub service: String,
    /// The service's identifier of the activity.
    pub id: String,
}

/// The claim of an external key: the activity that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The identifier of the activity.
    pub id: ActivityId,
    /// The latest version.
    pub version: Version,
    /// A hash of the content of that version. Equal content needs no new version.
    pub fingerprint: [u8; 16],
    /// Whether that version deleted the activity.
    pub deleted: bool,
}

/// A version of an activity to store.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The external key of the activity.
    pub source: ExternalKey,
    /// The version of the claim that the caller has read and builds on.
    pub before: Option<Version>,
    /// A hash of the content.
    pub fingerprint: [u8; 16],
    /// The audience of that version, if there was one: their entries may need a retraction.
    pub prior: Option<PriorAudience>,
    /// The body and the new state, whose version is later than `before`.
    pub activity: Activity,
    /// How it changes the usage of the actor.
    pub usage: Usage,
}

/// The outcome of an [`Acceptance`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is stored. The task that delivers it is at this position of the log.
    Stored(Position),
    /// The stored claim, whose version is not the one that the caller built on. Nothing was changed.
    Conflict(Option<Claim>),
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

    /// The current states of these activities with their bodies, both of the same version. `None` also if the body
    /// has expired: an activity older than the store's retention keeps only its claim and its state.
    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Option<Activity>>>;

    /// Activities of all accounts whose texts have all words of the query, of its last word at least the beginning, the
    /// newest first. Nothing if the store does not [search texts](crate::Store::searches_text). Each with its place in that order: the next page is `before` the last one.
    async fn search(&self, words: &str, before: Option<i64>, limit: usize) -> Result<Vec<(ActivityId, i64)>>;
}
