//! Records of the audit log.

use crate::{Millis, Uid};

/// How long a record is kept, in days.
pub const AUDIT_DAYS: i64 = 400;

/// A record of a security event. Records of one process run form a chain, a shard: each one authenticates the one
/// before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Time, shard and number.
    pub at: AuditOffset,
    /// The kind of event.
    pub event: String,
    /// Actor, target and outcome, as JSON. `None`: erased.
    pub details: Option<String>,
    /// The salt of the digest, erased together with the details.
    pub salt: Option<[u8; 16]>,
    /// The digest of salt and details. It stays when they are erased, so that the chain stays valid.
    pub digest: [u8; 32],
    /// A MAC of this record and of the MAC before it.
    pub mac: [u8; 32],
    /// The accounts concerned.
    pub accounts: Vec<Uid>,
}

/// The place of a record. Records are ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditOffset {
    /// When it happened. It never decreases within a shard.
    pub time: Millis,
    /// The process run.
    pub shard: [u8; 16],
    /// The number in the shard, from 1.
    pub number: u64,
}

/// The last record of a shard, noted every minute: it shows whether later records were cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// The place of the record.
    pub at: AuditOffset,
    /// The MAC of the record.
    pub mac: [u8; 32],
    /// A MAC of the head itself.
    pub tag: [u8; 32],
}
