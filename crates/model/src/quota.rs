//! Quotas: how much one account may store.

/// The quotas of every account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Activities that are not deleted.
    pub activities: u64,
    /// The size of their bodies in bytes.
    pub bytes: u64,
    /// Accounts that it follows.
    pub following: u64,
    /// Accounts that it blocks, and accounts that it mutes.
    pub decisions: u64,
    /// Keys that are neither revoked nor expired.
    pub keys: u64,
    /// Sessions. One more ends the oldest.
    pub sessions: u64,
    /// Applications.
    pub applications: u64,
    /// Connected sources.
    pub sources: u64,
}

impl Default for Quotas {
    fn default() -> Quotas {
        Quotas {
            activities: 1_000_000,
            bytes: 1 << 30,
            following: 10_000,
            decisions: 10_000,
            keys: 100,
            sessions: 100,
            applications: 50,
            sources: 200,
        }
    }
}

/// What a quota limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// Activities.
    Activities,
    /// Bytes of bodies.
    Bytes,
    /// Accounts that it follows.
    Following,
    /// Accounts that it blocks.
    Blocked,
    /// Accounts that it mutes.
    Muted,
    /// Keys.
    Keys,
    /// Applications.
    Applications,
    /// Sources.
    Sources,
}

impl Quota {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Quota::Activities => "activities",
            Quota::Bytes => "bytes",
            Quota::Following => "following",
            Quota::Blocked => "blocked",
            Quota::Muted => "muted",
            Quota::Keys => "keys",
            Quota::Applications => "applications",
            Quota::Sources => "sources",
        }
    }

    /// What there is too much of, and what makes room.
    fn described(self) -> (&'static str, &'static str) {
        match self {
            Quota::Activities => ("activities", "delete some first"),
            Quota::Bytes => ("bytes of activities", "delete some activities first"),
            Quota::Following => ("accounts that it follows", "unfollow one first"),
            Quota::Blocked => ("blocked accounts", "unblock one first"),
            Quota::Muted => ("muted accounts", "unmute one first"),
            Quota::Keys => ("keys that are neither revoked nor expired", "revoke one first"),
            Quota::Applications => ("applications", "remove one first"),
            Quota::Sources => ("sources", "remove one first"),
        }
    }
}

/// The account has as much as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an account may have {max} {}: {}", .quota.described().0, .quota.described().1)]
pub struct QuotaReached {
    /// What the quota limits.
    pub quota: Quota,
    /// The maximum.
    pub max: u64,
}
