//! The audit log, by hour, and second factors. A record is appended with timestamp 1, and its details are erased with
//! timestamp 2, so a repeated append does not restore them.

use super::db::Query;
use super::lwt::Lwt;
use super::scan::Scan;
use super::{CqlStore, concurrently};
use crate::codec::{Encoded, exactly, take};
use crate::{Audit, Result, SecondFactors};
use async_trait::async_trait;
use model::{AUDIT_DAYS, AuditHead, AuditOffset, AuditRecord, Millis, SecondFactor, Uid, Version};
use uuid::Uuid;

const APPEND: Query = Query::write(
    "INSERT INTO ident.audit (hour, time_ms, shard, number, event, details, salt, digest, mac)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP 1",
);
const LIST: Query = Query::write(
    "INSERT INTO ident.audit_of (uid, time_ms, shard, number) VALUES (?, ?, ?, ?) USING TIMESTAMP 1",
);
const BEFORE: Query = Query::read(
    "SELECT time_ms, shard, number, event, details, salt, digest, mac FROM ident.audit
     WHERE hour = ? AND (time_ms, shard, number) < (?, ?, ?) LIMIT ?",
);
/// The hours that have records, without reading these.
const USED_HOURS: Scan = Scan::new(
    "SELECT DISTINCT hour FROM ident.audit LIMIT ?",
    "SELECT DISTINCT hour FROM ident.audit WHERE token(hour) > token(?) LIMIT ?",
);
const ONE: Query = Query::read(
    "SELECT time_ms, shard, number, event, details, salt, digest, mac FROM ident.audit
     WHERE hour = ? AND time_ms = ? AND shard = ? AND number = ?",
);
const OF_ACCOUNT: Query =
    Query::read("SELECT time_ms, shard, number FROM ident.audit_of WHERE uid = ? LIMIT ?");
const ERASE: Query = Query::write(
    "UPDATE ident.audit USING TIMESTAMP 2 SET details = null, salt = null
     WHERE hour = ? AND time_ms = ? AND shard = ? AND number = ?",
);
const UNLIST: Query = Query::write(
    "DELETE FROM ident.audit_of USING TIMESTAMP 2 WHERE uid = ? AND time_ms = ? AND shard = ? AND number = ?",
);
const PUT_HEAD: Query =
    Query::write("INSERT INTO ident.audit_head (shard, head) VALUES (?, ?) USING TIMESTAMP ?");
const HEADS: Scan = Scan::new(
    "SELECT shard, head FROM ident.audit_head LIMIT ?",
    "SELECT shard, head FROM ident.audit_head WHERE token(shard) > token(?) LIMIT ?",
);

const FACTOR: Query = Query::read("SELECT factor FROM ident.second_factor WHERE owner = ?");
const WRITE_FACTOR: Lwt = Lwt::new(
    "UPDATE ident.second_factor SET factor = ?, ver = ?, op = ? WHERE owner = ? IF ver = ?",
    "SELECT ver, op FROM ident.second_factor WHERE owner = ?",
);

/// Hours that are read before asking which others have records: on a busy service these fill the page.
const LATEST_HOURS: i64 = 4;
/// Hours read concurrently.
const HOURS_AT_ONCE: usize = 24;
/// Records of an account per statement.
const PAGE: i32 = 1_000;

/// Time, shard, number.
type OffsetRow = (i64, Vec<u8>, i64);
/// Time, shard, number, event, details, salt, digest, MAC. An erased row may have nothing but its key.
type Row =
    (i64, Vec<u8>, i64, Option<String>, Option<String>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

fn hour(time: Millis) -> i64 {
    time.0.div_euclid(3_600_000)
}

fn offset((time, shard, number): OffsetRow) -> Result<AuditOffset> {
    Ok(AuditOffset { time: Millis(time), shard: exactly(&shard)?, number: number.cast_unsigned() })
}

fn record((time, shard, number, event, details, salt, digest, mac): Row) -> Result<Option<AuditRecord>> {
    let (Some(event), Some(digest), Some(mac)) = (event, digest, mac) else { return Ok(None) };
    Ok(Some(AuditRecord {
        at: offset((time, shard, number))?,
        event,
        details,
        salt: salt.map(|salt| exactly(&salt)).transpose()?,
        digest: exactly(&digest)?,
        mac: exactly(&mac)?,
        accounts: Vec::new(),
    }))
}

impl CqlStore {
    async fn audit_in_hour(&self, hour: i64, before: AuditOffset, limit: i32) -> Result<Vec<AuditRecord>> {
        let AuditOffset { time, shard, number } = before;
        let bounds = (hour, time.0, shard.as_slice(), number.cast_signed(), limit);
        let rows: Vec<Row> = self.db.rows(&BEFORE, bounds).await?;
        let records = rows.into_iter().map(record).collect::<Result<Vec<_>>>()?;
        Ok(records.into_iter().flatten().collect())
    }

    /// The hours of these that have records, latest first.
    async fn used_hours(&self, among: std::ops::Range<i64>) -> Result<Vec<i64>> {
        let read = |(hour,): (i64,)| Ok((hour, among.contains(&hour).then_some(hour)));
        let mut hours = self.db.scan(&USED_HOURS, None, usize::MAX, read).await?;
        hours.sort_unstable_by(|a: &i64, b| b.cmp(a));
        Ok(hours)
    }

    async fn audit_record(&self, at: AuditOffset) -> Result<Option<AuditRecord>> {
        let key = (hour(at.time), at.time.0, at.shard.as_slice(), at.number.cast_signed());
        let row: Option<Row> = self.db.row(&ONE, key).await?;
        row.map_or(Ok(None), record)
    }

    async fn audit_offsets_of(&self, uid: Uid, limit: i32) -> Result<Vec<AuditOffset>> {
        let rows: Vec<OffsetRow> = self.db.rows(&OF_ACCOUNT, (uid.0, limit)).await?;
        rows.into_iter().map(offset).collect()
    }
}

#[async_trait]
impl Audit for CqlStore {
    async fn append_audit(&self, new: &AuditRecord) -> Result<()> {
        let AuditOffset { time, shard, number } = new.at;
        let (shard, number) = (shard.as_slice(), number.cast_signed());
        // Listed first, so that an erasure finds every record.
        for uid in &new.accounts {
            self.db.write(&LIST, (uid.0, time.0, shard, number)).await?;
        }
        let salt = new.salt.as_ref().map(|salt| salt.as_slice());
        let hash = (new.digest.as_slice(), new.mac.as_slice());
        let values = (hour(time), time.0, shard, number, &new.event, &new.details, salt, hash.0, hash.1);
        self.db.write(&APPEND, values).await
    }

    async fn audit_before(
        &self,
        before: Option<AuditOffset>,
        now: Millis,
        limit: usize,
    ) -> Result<Vec<AuditRecord>> {
        // A record of another process may have a time slightly ahead of ours.
        let latest = AuditOffset { time: Millis(now.0 + 3_600_000), shard: [0xff; 16], number: 0 };
        let before = before.unwrap_or(latest);
        let (first, oldest) = (hour(before.time), hour(now) - AUDIT_DAYS * 24 - 1);
        let count = i32::try_from(limit).unwrap_or(i32::MAX);
        let read = |hours: Vec<i64>| {
            concurrently(hours.into_iter().map(|hour| self.audit_in_hour(hour, before, count)))
        };
        let after_latest = first - LATEST_HOURS;
        let latest = read((after_latest + 1..=first).rev().collect()).await?;
        let mut found: Vec<AuditRecord> = latest.into_iter().flatten().collect();
        if found.len() < limit {
            for hours in self.used_hours(oldest..after_latest + 1).await?.chunks(HOURS_AT_ONCE) {
                found.extend(read(hours.to_vec()).await?.into_iter().flatten());
                if found.len() >= limit {
                    break;
                }
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn audit_of(&self, uid: Uid, limit: usize) -> Result<Vec<AuditRecord>> {
        let offsets = self.audit_offsets_of(uid, i32::try_from(limit).unwrap_or(i32::MAX)).await?;
        let records = concurrently(offsets.into_iter().map(|at| self.audit_record(at))).await?;
        Ok(records.into_iter().flatten().collect())
    }

    async fn put_audit_head(&self, head: &AuditHead) -> Result<()> {
        let AuditHead { at, mac, tag } = head;
        let cell = [&at.time.0.to_be_bytes()[..], &at.number.to_be_bytes(), mac, tag].concat();
        self.db.write(&PUT_HEAD, (at.shard.as_slice(), cell, at.number.cast_signed())).await
    }

    async fn audit_heads(&self) -> Result<Vec<AuditHead>> {
        let read = |(shard, cell): (Vec<u8>, Vec<u8>)| {
            let mut cell = cell.as_slice();
            let (time, number) = (i64::from_be_bytes(take(&mut cell)?), u64::from_be_bytes(take(&mut cell)?));
            let at = AuditOffset { time: Millis(time), shard: exactly(&shard)?, number };
            let head = AuditHead { at, mac: take(&mut cell)?, tag: take(&mut cell)? };
            Ok((shard, Some(head)))
        };
        let mut heads = self.db.scan(&HEADS, None, usize::MAX, read).await?;
        heads.sort_by_key(|head: &AuditHead| head.at);
        Ok(heads)
    }

    async fn erase_audit_details(&self, uid: Uid) -> Result<()> {
        loop {
            let offsets = self.audit_offsets_of(uid, PAGE).await?;
            let erase = |at: &AuditOffset| {
                let AuditOffset { time, shard, number } = *at;
                let number = number.cast_signed();
                async move {
                    self.db.write(&ERASE, (hour(time), time.0, shard.to_vec(), number)).await?;
                    self.db.write(&UNLIST, (uid.0, time.0, shard.to_vec(), number)).await
                }
            };
            concurrently(offsets.iter().map(erase)).await?;
            if offsets.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }
}

#[async_trait]
impl SecondFactors for CqlStore {
    async fn second_factor(&self, owner: Uid) -> Result<Option<SecondFactor>> {
        let found: Option<(Option<Vec<u8>>,)> = self.db.row(&FACTOR, (owner.0,)).await?;
        let cell = found.and_then(|(cell,)| cell);
        cell.map(|cell| SecondFactor::decoded_beside(&cell, owner)).transpose()
    }

    async fn replace_second_factor(&self, before: Option<Version>, factor: &SecondFactor) -> Result<bool> {
        let (owner, op) = (factor.owner.0, Uuid::new_v4());
        let values = (factor.encoded(), factor.version.0, op, owner, before.map(|before| before.0));
        self.db.replace(&WRITE_FACTOR, before, op, values, (owner,)).await
    }
}
