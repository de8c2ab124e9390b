//! The words of the index of the names of public accounts. A word is written before the account that has it and deleted after
//! the account lost it, so a stored word is a hint: a reader checks it against the account. Both have the version of the
//! account as their timestamp, so that a late deletion does not delete the word of a later version.

use super::db::Query;
use super::{CqlStore, concurrently};
use crate::name_index::{MAX_ROWS, end_of, folded, initial, is_found, words};
use crate::{Accounts, Result};
use model::{Account, Uid, Version};
use std::collections::HashSet;

const PUT: Query =
    Query::write("INSERT INTO ident.name_index (initial, word, uid) VALUES (?, ?, ?) USING TIMESTAMP ?");
const DELETE: Query =
    Query::write("DELETE FROM ident.name_index USING TIMESTAMP ? WHERE initial = ? AND word = ? AND uid = ?");
const FIND: Query =
    Query::read("SELECT uid FROM ident.name_index WHERE initial = ? AND word >= ? AND word < ? LIMIT ?");

impl CqlStore {
    /// Writes the words of the account. Called before the account is written. All of them: an older program, which does
    /// not know this table, may have written the account before.
    pub(super) async fn add_words(&self, account: &Account) -> Result<()> {
        let (words, Version(version)) = (words(account), account.version);
        let puts = words.iter().map(|word| async move {
            self.db.write(&PUT, (initial(word), word.as_str(), account.uid.0, version)).await
        });
        concurrently(puts).await.map(drop)
    }

    /// Deletes the words that the account had and has no more. Called after the account is written.
    pub(super) async fn delete_words(&self, before: &Account, account: &Account) -> Result<()> {
        let (known, new) = (words(before), words(account));
        let Version(version) = account.version;
        let deletions = known.difference(&new).map(|word| async move {
            self.db.write(&DELETE, (version, initial(word), word.as_str(), account.uid.0)).await
        });
        concurrently(deletions).await.map(drop)
    }

    /// The accounts with a word that begins with the prefix, in the order of their words.
    pub(super) async fn find_by_word(&self, prefix: &str, limit: usize) -> Result<Vec<Account>> {
        let prefix = folded(prefix);
        if prefix.is_empty() {
            return Ok(Vec::new());
        }
        let rows = i32::try_from(MAX_ROWS).unwrap_or(i32::MAX);
        let range = (initial(&prefix), prefix.as_str(), end_of(&prefix), rows);
        let rows: Vec<(i64,)> = self.db.rows(&FIND, range).await?;
        let mut seen = HashSet::new();
        let uids: Vec<Uid> =
            rows.into_iter().map(|(uid,)| Uid(uid)).filter(|uid| seen.insert(*uid)).collect();
        let mut found = Vec::new();
        for some in uids.chunks(limit.max(1)) {
            let accounts = self.accounts(some).await?.into_iter().flatten();
            found.extend(accounts.filter(|account| is_found(account, &prefix)));
            if found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}
