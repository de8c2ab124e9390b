//! A whole table, in the order of its rows' tokens.

use super::db::{Db, Query};
use crate::Result;
use scylla::deserialize::row::DeserializeRow;
use scylla::serialize::value::SerializeValue;

/// How many rows are asked for at once. At least some: most may be of those that are left out.
const MIN_PAGE: usize = 100;
const MAX_PAGE: usize = 1_000;

/// The rows from the beginning (how many), and those after a key (the key, how many).
pub(super) struct Scan {
    first: Query,
    after: Query,
}

impl Scan {
    pub(super) const fn new(first: &'static str, after: &'static str) -> Scan {
        Scan { first: Query::read(first), after: Query::read(after) }
    }
}

impl Db {
    /// The first that `read` makes of the rows after a key; it gives each row's key, and `None` for one to leave
    /// out. Fewer than the limit means that there are no more.
    pub(super) async fn scan<K, R, T>(
        &self,
        scan: &Scan,
        mut after: Option<K>,
        limit: usize,
        read: impl Fn(R) -> Result<(K, Option<T>)>,
    ) -> Result<Vec<T>>
    where
        K: SerializeValue,
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        let mut found = Vec::new();
        let at_once = limit.clamp(MIN_PAGE, MAX_PAGE);
        let count = i32::try_from(at_once).unwrap_or(i32::MAX);
        while found.len() < limit {
            let rows: Vec<R> = match &after {
                None => self.rows(&scan.first, (count,)).await?,
                Some(key) => self.rows(&scan.after, (key, count)).await?,
            };
            let is_last = rows.len() < at_once;
            for row in rows {
                let (key, value) = read(row)?;
                after = Some(key);
                found.extend(value);
            }
            if is_last {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }
}
