//! Blocks and mutes, by name. A block has a second row in the partition of the blocked account.

use super::{CqlStore, Query};
use crate::codec::take;
use crate::message::Intent;
use crate::relations::{BLOCKED_BY, BLOCKED_BY_CHANGED, add_to, decision_number};
use crate::{BlockedBy, DecisionChange, Relations, Result, StoreError};
use async_trait::async_trait;
use model::{Account, AccountName, Decision, Position, Relation, Version};
use std::collections::HashMap;
use uuid::Uuid;

/// How long a row stays that no longer holds, in seconds: later than any write of an earlier version.
const ENDED_TTL: i32 = 14 * 24 * 60 * 60;
/// Names per statement: ScyllaDB allows 100 rows, and there are three kinds.
const NAMES_PER_STATEMENT: usize = 33;
/// Rows per page.
const PAGE: i32 = 1_000;

const OF: Query = Query::read(
    "SELECT kind, other, cell FROM feed.relation WHERE name = ? AND kind IN (0, 1, 2) AND other IN ?",
);
const ONE: Query = Query::read("SELECT cell FROM feed.relation WHERE name = ? AND kind = ? AND other = ?");
const BLOCKED: Query =
    Query::read("SELECT kind, cell FROM feed.relation WHERE name = ? AND (kind, other) IN ((2, ?), (3, ''))");
const AFTER: Query =
    Query::read("SELECT other, cell FROM feed.relation WHERE name = ? AND kind = ? AND other > ? LIMIT ?");
const PUT: Query = Query::write(
    "INSERT INTO feed.relation (name, kind, other, cell) VALUES (?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?",
);

/// The cell: the version, and whether it holds.
fn cell(version: Version, holds: bool) -> Vec<u8> {
    [version.0.to_be_bytes().as_slice(), &[u8::from(holds)]].concat()
}

fn read(mut cell: &[u8]) -> Result<(Version, bool)> {
    let version = take(&mut cell).map(i64::from_be_bytes).map(Version)?;
    let [holds] = take(&mut cell)?;
    Ok((version, holds != 0))
}

fn parsed(name: &str) -> Result<AccountName> {
    AccountName::parse(name).map_err(|_| StoreError::Corrupt("invalid account name".to_owned()))
}

impl CqlStore {
    /// Writes a decision. The latest version wins. The account's own row comes last: it is the one that the account sees.
    pub(super) async fn write_decision(&self, change: &DecisionChange) -> Result<()> {
        let DecisionChange { name, decision, other, version, holds, .. } = change;
        let (name, other, cell) = (name.as_str(), other.as_str(), cell(*version, *holds));
        let ttl = if *holds { 0 } else { ENDED_TTL };
        if *decision == Decision::Block {
            self.db.write(&PUT, (other, BLOCKED_BY, name, &cell, version.0, ttl)).await?;
            self.db.write(&PUT, (other, BLOCKED_BY_CHANGED, "", &cell, version.0, 0)).await?;
        }
        self.db.write(&PUT, (name, decision_number(*decision), other, &cell, version.0, ttl)).await
    }

    /// All decisions of an account.
    pub(super) async fn decisions_of(&self, account: &Account) -> Result<Vec<DecisionChange>> {
        let mut found = Vec::new();
        for decision in Decision::ALL {
            for (other, version, holds) in
                self.rows_after(&account.name, decision, None, usize::MAX, |_| true).await?
            {
                found.push(DecisionChange {
                    owner: account.uid,
                    name: account.name.clone(),
                    decision,
                    other,
                    other_uid: None,
                    version,
                    holds,
                });
            }
        }
        Ok(found)
    }

    /// The rows of a decision for which `include` is true: name, version, and whether it holds.
    async fn rows_after(
        &self,
        name: &AccountName,
        decision: Decision,
        after: Option<&AccountName>,
        limit: usize,
        include: impl Fn(bool) -> bool,
    ) -> Result<Vec<(AccountName, Version, bool)>> {
        let mut after = after.map_or_else(String::new, |name| name.as_str().to_owned());
        let mut found = Vec::new();
        while found.len() < limit {
            let key = (name.as_str(), decision_number(decision), &after, PAGE);
            let rows: Vec<(String, Vec<u8>)> = self.db.rows(&AFTER, key).await?;
            let ended = rows.len() < PAGE.unsigned_abs() as usize;
            for (other, cell) in rows {
                let (version, holds) = read(&cell)?;
                if include(holds) {
                    found.push((parsed(&other)?, version, holds));
                }
                after = other;
            }
            if ended {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}

#[async_trait]
impl Relations for CqlStore {
    async fn put_decision(&self, change: &DecisionChange) -> Result<Option<Position>> {
        let stored = self.decision(&change.name, change.decision, &change.other).await?;
        if stored.is_some_and(|(version, _)| version >= change.version) {
            return Ok(None);
        }
        let intent = Intent::Decision { change: change.clone(), op: Uuid::new_v4() };
        self.commit_intent(intent).await.map(Some)
    }

    async fn decision(
        &self,
        name: &AccountName,
        decision: Decision,
        other: &AccountName,
    ) -> Result<Option<(Version, bool)>> {
        let key = (name.as_str(), decision_number(decision), other.as_str());
        let found: Option<(Vec<u8>,)> = self.db.row(&ONE, key).await?;
        found.map(|(cell,)| read(&cell)).transpose()
    }

    async fn relations(&self, name: &AccountName, others: &[AccountName]) -> Result<Vec<Relation>> {
        let mut found: HashMap<String, Relation> = HashMap::new();
        for part in others.chunks(NAMES_PER_STATEMENT) {
            let names: Vec<&str> = part.iter().map(AccountName::as_str).collect();
            let rows: Vec<(i8, String, Vec<u8>)> = self.db.rows(&OF, (name.as_str(), names)).await?;
            for (kind, other, cell) in rows {
                if read(&cell)?.1 {
                    add_to(found.entry(other).or_default(), kind);
                }
            }
        }
        Ok(others.iter().map(|other| found.get(other.as_str()).copied().unwrap_or_default()).collect())
    }

    async fn decided(
        &self,
        name: &AccountName,
        decision: Decision,
        after: Option<&AccountName>,
        limit: usize,
    ) -> Result<Vec<AccountName>> {
        let rows = self.rows_after(name, decision, after, limit, |holds| holds).await?;
        Ok(rows.into_iter().map(|(other, ..)| other).collect())
    }

    async fn blocked_by(&self, name: &AccountName, by: &AccountName) -> Result<BlockedBy> {
        let rows: Vec<(i8, Vec<u8>)> = self.db.rows(&BLOCKED, (name.as_str(), by.as_str())).await?;
        let mut blocked = BlockedBy::default();
        for (kind, cell) in rows {
            match (kind, read(&cell)?) {
                (BLOCKED_BY, (_, holds)) => blocked.holds = holds,
                (_, (version, _)) => blocked.changed = version,
            }
        }
        Ok(blocked)
    }
}
