//! Verifies the audit log.

use super::{details_digest, head_content, record_content};
use aws_lc_rs::hmac;
use model::{AUDIT_DAYS, AuditHead, AuditOffset, AuditRecord, Millis};
use seal::SecretKeys;
use std::collections::HashMap;
use store::{Store, StoreError};

/// Records per page.
const PAGE: usize = 1_000;
/// Records of this age may be the first of their shard, because the one before them was at most a day older and has expired.
const EXPIRING_MILLIS: i64 = (AUDIT_DAYS - 1) * 24 * 60 * 60 * 1_000;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records.
    pub records: u64,
    /// Records whose details were erased.
    pub erased: u64,
    /// Process runs.
    pub shards: u64,
    /// What is wrong, for people. Empty if the log is complete and unaltered.
    pub findings: Vec<String>,
}

/// Verifies all records and heads. The walk is from the newest record to the oldest, so it needs one record of each
/// shard in memory.
pub async fn verify(store: &dyn Store, keys: &SecretKeys, now: Millis) -> Result<Verified, StoreError> {
    // Heads first: records that are appended meanwhile are beyond them.
    let heads = store.audit_heads().await?;
    let noted = heads.iter().map(|head| (head.at.shard, head.at.number)).collect();
    let mut walk = Walk { keys: keys.derive("audit"), noted, ..Walk::default() };
    let mut before = None;
    loop {
        let page = store.audit_before(before, now, PAGE).await?;
        before = page.last().map(|record| record.at);
        let is_last = page.len() < PAGE;
        for record in page {
            walk.add(record);
        }
        if is_last {
            break;
        }
    }
    Ok(walk.end(&heads, now))
}

#[derive(Default)]
struct Walk {
    keys: Vec<hmac::Key>,
    /// The number of the head of each shard, and the MACs of these records.
    noted: HashMap<[u8; 16], u64>,
    noted_macs: HashMap<[u8; 16], [u8; 32]>,
    /// The oldest record so far of each shard. Its MAC needs the record before it.
    oldest: HashMap<[u8; 16], AuditRecord>,
    verified: Verified,
}

impl Walk {
    fn add(&mut self, record: AuditRecord) {
        self.verified.records += 1;
        match (&record.details, &record.salt) {
            (Some(details), Some(salt)) if details_digest(salt, details) == record.digest => {}
            (None, None) => self.verified.erased += 1,
            _ => self.find(record.at, "was altered"),
        }
        let (at, mac) = (record.at, record.mac);
        if self.noted.get(&at.shard) == Some(&at.number) {
            self.noted_macs.insert(at.shard, mac);
        }
        match self.oldest.insert(at.shard, record) {
            None => self.verified.shards += 1,
            Some(next) if at.number + 1 != next.at.number => {
                self.find(next.at, "does not follow the record before it: records are missing");
            }
            Some(next) if !self.authenticates(&next, &mac) => {
                self.find(next.at, "was altered, or the record before it");
            }
            Some(_) => {}
        }
    }

    fn authenticates(&self, record: &AuditRecord, before: &[u8; 32]) -> bool {
        let content = record_content(before, record.at, &record.event, &record.digest);
        self.is_signed(&content, &record.mac)
    }

    fn is_signed(&self, content: &[u8], mac: &[u8]) -> bool {
        self.keys.iter().any(|key| hmac::verify(key, content, mac).is_ok())
    }

    fn find(&mut self, at: AuditOffset, what: &str) {
        let id = format!("{}-{}", hex::encode(at.shard), at.number);
        self.verified.findings.push(format!("record {id} of {} {what}", at.time.zulu()));
    }

    fn end(mut self, heads: &[AuditHead], now: Millis) -> Verified {
        let expiring = Millis(now.0 - EXPIRING_MILLIS);
        for oldest in std::mem::take(&mut self.oldest).into_values() {
            if oldest.at.number == 1 {
                if !self.authenticates(&oldest, &[0; 32]) {
                    self.find(oldest.at, "was altered");
                }
            } else if oldest.at.time > expiring {
                self.find(oldest.at, "is not the first of its shard: earlier records are missing");
            }
        }
        for head in heads {
            let stored = self.noted_macs.get(&head.at.shard);
            if !self.is_signed(&head_content(head.at, &head.mac), &head.tag) {
                self.find(head.at, "is noted as a head that was altered");
            } else if stored != Some(&head.mac) && head.at.time > expiring {
                self.find(head.at, "is missing or was altered, and so may be later ones");
            }
        }
        self.verified
    }
}
