//! How an activity comes into the store.

use model::{Activity, ActivityId, Position, PriorAudience, Uid, Version};

/// The address of an activity from outside: who did it, on which service (folded), and the service's own id for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExternalKey {
    /// Who did it.
    pub actor: Uid,
    /// The service's name in the form that names are compared in.
    pub service: String,
    /// The service's identifier of the activity.
    pub id: String,
}

/// What stands at such an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The activity.
    pub id: ActivityId,
    /// Its latest version.
    pub version: Version,
    /// A hash of that version's content: equal content needs no new version.
    pub fingerprint: [u8; 16],
    /// That version took the activity back.
    pub deleted: bool,
}

/// A version of an activity to take in.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// Where it is claimed.
    pub source: ExternalKey,
    /// The version that the caller found claimed there, and builds upon.
    pub before: Option<Version>,
    /// A hash of its content.
    pub fingerprint: [u8; 16],
    /// What that version was, if there was one: others may have entries that the new version takes back.
    pub prior: Option<PriorAudience>,
    /// The new state, with a version later than `before`, and the body.
    pub activity: Activity,
}

/// What became of an [`Acceptance`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is stored, and its delivery is in the log there.
    Stored(Position),
    /// Something else is claimed at the address than the caller built upon; nothing was changed.
    Conflict(Option<Claim>),
}
