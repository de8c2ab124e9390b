//! Blocks and mutes. A block has a second row with the blocked account, written in the same transaction.

use super::changes::note;
use super::credentials::all;
use super::values::{corrupt, count, version};
use super::{SqliteStore, log};
use crate::dependencies::{Part, Subject, depends_on};
use crate::message::work_of;
use crate::relations::{BLOCKED_BY, BLOCKED_BY_CHANGED, add_to, decision_number};
use crate::{BlockedBy, DecisionChange, Relations, Result, trace};
use async_trait::async_trait;
use model::{Account, AccountName, Decision, Position, Relation, Version};
use rusqlite::{Connection, OptionalExtension, Row, params};

const PUT: &str = "INSERT INTO relation (name, kind, other, ver, holds) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT (name, kind, other) DO UPDATE SET ver = excluded.ver, holds = excluded.holds
     WHERE excluded.ver > relation.ver";
/// Every change counts, even two in one millisecond.
const PUT_CHANGED: &str = "INSERT INTO relation (name, kind, other, ver, holds) VALUES (?1, ?2, '', ?3, TRUE)
     ON CONFLICT (name, kind, other) DO UPDATE SET ver = max(excluded.ver, relation.ver + 1)";
const ANY: &str = "SELECT 1 FROM relation WHERE name = ?1 LIMIT 1";
const ONE: &str = "SELECT ver, holds FROM relation WHERE name = ?1 AND kind = ?2 AND other = ?3";
const OF: &str = "SELECT kind FROM relation WHERE name = ?1 AND kind IN (0, 1, 2) AND other = ?2 AND holds";
const DECIDED: &str = "SELECT other FROM relation WHERE name = ?1 AND kind = ?2 AND other > ?3 AND holds
     ORDER BY other LIMIT ?4";
const EVERY: &str = "SELECT other, ver, holds FROM relation WHERE name = ?1 AND kind = ?2 ORDER BY other";

fn name_of(row: &Row<'_>) -> Result<AccountName> {
    let name = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
    AccountName::parse(name).map_err(|_| corrupt("invalid account name"))
}

fn one(connection: &Connection, name: &str, kind: i8, other: &str) -> Result<Option<(Version, bool)>> {
    let mut statement = connection.prepare_cached(ONE)?;
    let read = |row: &Row<'_>| Ok((Version(row.get(0)?), row.get(1)?));
    Ok(statement.query_row(params![name, kind, other], read).optional()?)
}

/// Writes a decision. `false`: the stored version is equal or later.
pub(super) fn put(connection: &Connection, change: &DecisionChange) -> Result<bool> {
    let (name, other, version) = (change.name.as_str(), change.other.as_str(), change.version.0);
    [name, other].into_iter().for_each(|name| note(Part::Relations, name.as_bytes()));
    let mut put = connection.prepare_cached(PUT)?;
    let number = decision_number(change.decision);
    if put.execute(params![name, number, other, version, change.holds])? == 0 {
        return Ok(false);
    }
    if change.decision == Decision::Block {
        put.execute(params![other, BLOCKED_BY, name, version, change.holds])?;
        connection.prepare_cached(PUT_CHANGED)?.execute(params![other, BLOCKED_BY_CHANGED, version])?;
    }
    Ok(true)
}

/// All decisions of an account.
pub(super) fn every(connection: &Connection, account: &Account) -> Result<Vec<DecisionChange>> {
    let mut found = Vec::new();
    for decision in Decision::ALL {
        let read = |row: &Row<'_>| {
            Ok(DecisionChange {
                owner: account.uid,
                name: account.name.clone(),
                decision,
                other: name_of(row)?,
                other_uid: None,
                version: version(row, 1)?,
                holds: row.get(2)?,
            })
        };
        let key = params![account.name.as_str(), decision_number(decision)];
        found.extend(all(connection, EVERY, key, read)?);
    }
    Ok(found)
}

#[async_trait]
impl Relations for SqliteStore {
    async fn put_decision(&self, change: &DecisionChange) -> Result<Option<Position>> {
        let (change, trace) = (change.clone(), trace::current());
        self.write(move |connection| match put(connection, &change)? {
            true => log::append(connection, &work_of(&change).in_trace(trace)).map(Some),
            false => Ok(None),
        })
        .await
    }

    async fn decision(
        &self,
        name: &AccountName,
        decision: Decision,
        other: &AccountName,
    ) -> Result<Option<(Version, bool)>> {
        self.read(|connection| one(connection, name.as_str(), decision_number(decision), other.as_str()))
            .await
    }

    async fn relations(&self, name: &AccountName, others: &[AccountName]) -> Result<Vec<Relation>> {
        let subject = Subject::new(Part::Relations, name.as_str().as_bytes());
        depends_on([subject]);
        let any = |connection: &Connection| Ok(connection.prepare_cached(ANY)?.exists([name.as_str()])?);
        if !self.read_one_cached(&self.value_caches.any_relations, name, subject, any).await? {
            return Ok(vec![Relation::default(); others.len()]);
        }
        self.read_snapshot(|connection| {
            let mut statement = connection.prepare_cached(OF)?;
            let mut find = |other: &AccountName| {
                let mut relation = Relation::default();
                let mut rows = statement.query([name.as_str(), other.as_str()])?;
                while let Some(row) = rows.next()? {
                    add_to(&mut relation, row.get(0)?);
                }
                Ok(relation)
            };
            others.iter().map(&mut find).collect()
        })
        .await
    }

    async fn decided(
        &self,
        name: &AccountName,
        decision: Decision,
        after: Option<&AccountName>,
        limit: usize,
    ) -> Result<Vec<AccountName>> {
        let (name, after) = (name.clone(), after.map_or_else(String::new, |name| name.as_str().to_owned()));
        self.read_long(move |connection| {
            let key = params![name.as_str(), decision_number(decision), after, count(limit)];
            all(connection, DECIDED, key, name_of)
        })
        .await
    }

    async fn blocked_by(&self, name: &AccountName, by: &AccountName) -> Result<BlockedBy> {
        self.read_snapshot(|connection| {
            let changed = one(connection, name.as_str(), BLOCKED_BY_CHANGED, "")?;
            let Some((changed, _)) = changed else { return Ok(BlockedBy::default()) };
            let found = one(connection, name.as_str(), BLOCKED_BY, by.as_str())?;
            Ok(BlockedBy { holds: found.is_some_and(|(_, holds)| holds), changed })
        })
        .await
    }
}
