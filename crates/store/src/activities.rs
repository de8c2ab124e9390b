//! The types with which an activity is accepted.

use model::{Activity, ActivityId, Position, PriorAudience, Uid, Version};

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
}

/// The outcome of an
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is stored. The task that delivers it is at this position of the log.
    Stored(Position),
    /// The stored claim, whose version is not the one that the caller built on. Nothing was changed.
    Conflict(Option<Claim>),
}
