//! The audit log and the second factors of accounts.

use crate::{Result, Store, Versioned};
use async_trait::async_trait;
use model::{AuditHead, AuditOffset, AuditRecord, SecondFactor, Uid, Version};

/// The audit log: append-only, except that details can be erased. Records are deleted after
/// [`AUDIT_DAYS`](model::AUDIT_DAYS).
#[async_trait]
pub trait Audit: Send + Sync {
    /// Stores a record. Repeating the call changes nothing, and does not restore erased details.
    async fn append_audit(&self, record: &AuditRecord) -> Result<()>;

    /// A page of all records before `before`, newest first. `now` bounds the search for the newest. The accounts
    /// concerned are left out.
    async fn audit_before(
        &self,
        before: Option<AuditOffset>,
        now: model::Millis,
        limit: usize,
    ) -> Result<Vec<AuditRecord>>;

    /// The newest records that concern an account, newest first, without the accounts concerned.
    async fn audit_of(&self, uid: Uid, limit: usize) -> Result<Vec<AuditRecord>>;

    /// Notes the head of a shard. The latest wins.
    async fn put_audit_head(&self, head: &AuditHead) -> Result<()>;

    /// The heads of all shards.
    async fn audit_heads(&self) -> Result<Vec<AuditHead>>;

    /// Erases the details of all records that concern an account.
    async fn erase_audit_details(&self, uid: Uid) -> Result<()>;
}

/// Second factors.
#[async_trait]
pub trait SecondFactors: Send + Sync {
    /// The second factor of an account, including a removed one.
    async fn second_factor(&self, owner: Uid) -> Result<Option<SecondFactor>>;

    /// Replaces the second factor if the stored version is `before`. `false`: another version is stored.
    async fn replace_second_factor(&self, before: Option<Version>, factor: &SecondFactor) -> Result<bool>;
}

#[async_trait]
impl Versioned for SecondFactor {
    type Key = Uid;

    async fn load(store: &dyn Store, key: &Uid) -> Result<Option<SecondFactor>> {
        store.second_factor(*key).await
    }

    async fn replace(&self, store: &dyn Store, before: Option<Version>) -> Result<bool> {
        store.replace_second_factor(before, self).await
    }

    fn key(&self) -> Uid {
        self.owner
    }

    fn version(&self) -> Version {
        self.version
    }

    fn with_version(self, version: Version) -> SecondFactor {
        SecondFactor { version, ..self }
    }
}
