//! Sizes for operators. They cost a read of all activities.

use super::SqliteStore;
use super::values::count;
use crate::{AccountUse, Result, StorageUse};
use model::Uid;
use rusqlite::Connection;

const LARGEST: &str = "SELECT actor, count(*), sum(length(content)) AS bytes FROM activity
     JOIN body ON body.id = activity.body GROUP BY actor ORDER BY bytes DESC, actor LIMIT ?1";

impl SqliteStore {
    pub(super) async fn sizes(&self, accounts: usize) -> Result<StorageUse> {
        let log = std::fs::metadata(format!("{}-wal", self.path.display())).map_or(0, |file| file.len());
        let measured = self.read_long(move |connection| {
            let pragma = |name: &str| -> Result<u64> {
                let value: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
                Ok(u64::try_from(value).unwrap_or_default())
            };
            let page = pragma("page_size")?;
            Ok(StorageUse {
                database: pragma("page_count")? * page,
                unused: pragma("freelist_count")? * page,
                log: 0,
                accounts: largest(connection, accounts)?,
            })
        });
        Ok(StorageUse { log, ..measured.await? })
    }
}

fn largest(connection: &Connection, limit: usize) -> Result<Vec<AccountUse>> {
    let mut statement = connection.prepare_cached(LARGEST)?;
    let mut rows = statement.query([count(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let number = |at| -> Result<u64> { Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or_default()) };
        found.push(AccountUse { uid: Uid(row.get(0)?), activities: number(1)?, bytes: number(2)? });
    }
    Ok(found)
}
