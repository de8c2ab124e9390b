//! The words of the index of the names of public accounts, written together with the account.

use super::accounts::by_number;
use super::values::count;
use crate::Result;
use crate::name_index::{MAX_ROWS, end_of, folded, words};
use model::{Account, Uid};
use rusqlite::{Connection, params};

const FIND: &str = "SELECT uid FROM name_index WHERE word >= ?1 AND word < ?2 ORDER BY word, uid LIMIT ?3";

/// Replaces the words of an account.
pub(super) fn put(connection: &Connection, before: Option<&Account>, account: &Account) -> Result<()> {
    let (before, after) = (before.map(words).unwrap_or_default(), words(account));
    let mut delete = connection.prepare_cached("DELETE FROM name_index WHERE word = ?1 AND uid = ?2")?;
    for word in before.difference(&after) {
        delete.execute(params![word, account.uid.0])?;
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO name_index (word, uid) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
    // All of them: those of an account from before this table may be missing.
    for word in &after {
        insert.execute(params![word, account.uid.0])?;
    }
    Ok(())
}

/// The accounts with a word that begins with the prefix, in the order of their words.
pub(super) fn find(connection: &Connection, prefix: &str, limit: usize) -> Result<Vec<Account>> {
    let prefix = folded(prefix);
    if prefix.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(FIND)?;
    let mut rows = statement.query(params![prefix, end_of(&prefix), count(MAX_ROWS)])?;
    let mut found: Vec<Uid> = Vec::new();
    while let Some(row) = rows.next()? {
        let uid = Uid(row.get(0)?);
        if !found.contains(&uid) {
            found.push(uid);
        }
        if found.len() == limit {
            break;
        }
    }
    let mut accounts = Vec::with_capacity(found.len());
    for uid in found {
        accounts.extend(by_number(connection, uid)?);
    }
    Ok(accounts)
}
