//! The audit log and second factors.

use super::SqliteStore;
use super::credentials::all;
use super::values::{count, millis};
use crate::codec::Encoded;
use crate::{Audit, Result, SecondFactors};
use async_trait::async_trait;
use model::{AuditHead, AuditOffset, AuditRecord, Millis, SecondFactor, Uid, Version};
use rusqlite::{OptionalExtension, Row, params};

const BEFORE: &str = "SELECT time_ms, shard, number, event, details, salt, digest, mac FROM audit
     WHERE (time_ms, shard, number) < (?1, ?2, ?3) ORDER BY time_ms DESC, shard DESC, number DESC LIMIT ?4";
const OF_ACCOUNT: &str =
    "SELECT audit.time_ms, audit.shard, audit.number, event, details, salt, digest, mac FROM audit_of
     JOIN audit USING (time_ms, shard, number) WHERE uid = ?1
     ORDER BY audit_of.time_ms DESC, audit_of.shard DESC, audit_of.number DESC LIMIT ?2";
const HEADS: &str = "SELECT time_ms, shard, number, mac, tag FROM audit_head ORDER BY time_ms, shard";

fn offset(row: &Row<'_>) -> Result<AuditOffset> {
    let number: i64 = row.get(2)?;
    Ok(AuditOffset { time: millis(row, 0)?, shard: row.get(1)?, number: number.unsigned_abs() })
}

fn record(row: &Row<'_>) -> Result<AuditRecord> {
    Ok(AuditRecord {
        at: offset(row)?,
        event: row.get(3)?,
        details: row.get(4)?,
        salt: row.get(5)?,
        digest: row.get(6)?,
        mac: row.get(7)?,
        accounts: Vec::new(),
    })
}

fn head(row: &Row<'_>) -> Result<AuditHead> {
    Ok(AuditHead { at: offset(row)?, mac: row.get(3)?, tag: row.get(4)? })
}

#[async_trait]
impl Audit for SqliteStore {
    async fn append_audit(&self, record: &AuditRecord) -> Result<()> {
        let new = record.clone();
        self.write(move |connection| {
            let AuditOffset { time, shard, number } = new.at;
            let number = number.cast_signed();
            connection
                .prepare_cached(
                    "INSERT INTO audit (time_ms, shard, number, event, details, salt, digest, mac)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    time.0,
                    shard,
                    number,
                    new.event,
                    new.details,
                    new.salt,
                    new.digest,
                    new.mac
                ])?;
            let mut list = connection.prepare_cached(
                "INSERT INTO audit_of (uid, time_ms, shard, number) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?;
            for uid in &new.accounts {
                list.execute(params![uid.0, time.0, shard, number])?;
            }
            Ok(())
        })
        .await
    }

    async fn audit_before(
        &self,
        before: Option<AuditOffset>,
        _now: Millis,
        limit: usize,
    ) -> Result<Vec<AuditRecord>> {
        let latest = AuditOffset { time: Millis(i64::MAX), shard: [0; 16], number: 0 };
        let AuditOffset { time, shard, number } = before.unwrap_or(latest);
        self.read_long(move |connection| {
            all(connection, BEFORE, params![time.0, shard, number.cast_signed(), count(limit)], record)
        })
        .await
    }

    async fn audit_of(&self, uid: Uid, limit: usize) -> Result<Vec<AuditRecord>> {
        self.read_long(move |connection| all(connection, OF_ACCOUNT, [uid.0, count(limit)], record)).await
    }

    async fn put_audit_head(&self, head: &AuditHead) -> Result<()> {
        let AuditHead { at, mac, tag } = *head;
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO audit_head (shard, number, time_ms, mac, tag) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (shard) DO UPDATE SET number = excluded.number, time_ms = excluded.time_ms,
                     mac = excluded.mac, tag = excluded.tag WHERE excluded.number > audit_head.number",
                )?
                .execute(params![at.shard, at.number.cast_signed(), at.time.0, mac, tag])?;
            Ok(())
        })
        .await
    }

    async fn audit_heads(&self) -> Result<Vec<AuditHead>> {
        self.read_long(|connection| all(connection, HEADS, [], head)).await
    }

    async fn erase_audit_details(&self, uid: Uid) -> Result<()> {
        self.write(move |connection| {
            connection
                .prepare_cached(
                    "UPDATE audit SET details = NULL, salt = NULL WHERE details IS NOT NULL
                     AND (time_ms, shard, number) IN
                     (SELECT time_ms, shard, number FROM audit_of WHERE uid = ?1)",
                )?
                .execute([uid.0])?;
            connection.prepare_cached("DELETE FROM audit_of WHERE uid = ?1")?.execute([uid.0])?;
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl SecondFactors for SqliteStore {
    async fn second_factor(&self, owner: Uid) -> Result<Option<SecondFactor>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT factor FROM second_factor WHERE owner = ?1")?;
            let found: Option<Vec<u8>> = statement.query_row([owner.0], |row| row.get(0)).optional()?;
            found.map(|factor| SecondFactor::decoded_beside(&factor, owner)).transpose()
        })
        .await
    }

    async fn replace_second_factor(&self, before: Option<Version>, factor: &SecondFactor) -> Result<bool> {
        let (owner, version, factor) = (factor.owner.0, factor.version.0, factor.encoded());
        self.write(move |connection| {
            let replaced = match before {
                None => connection
                    .prepare_cached(
                        "INSERT INTO second_factor (owner, ver, factor) VALUES (?1, ?2, ?3)
                         ON CONFLICT DO NOTHING",
                    )?
                    .execute(params![owner, version, factor])?,
                Some(before) => connection
                    .prepare_cached(
                        "UPDATE second_factor SET ver = ?2, factor = ?3 WHERE owner = ?1 AND ver = ?4",
                    )?
                    .execute(params![owner, version, factor, before.0])?,
            };
            Ok(replaced > 0)
        })
        .await
    }
}
