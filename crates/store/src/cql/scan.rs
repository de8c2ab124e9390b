//! Full table scans, in token order.

use super::db::{Db, Query};
use crate::Result;
use scylla::deserialize::row::DeserializeRow;
use scylla::serialize::value::SerializeValue;

/// Rows per statement. The minimum is for scans that leave out most rows.
const MIN_PAGE: usize = 100;
const MAX_PAGE: usize = 1_000;

/// A statement for the first page (parameter: limit), and one for the page after a key (parameters: key, limit).
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
    /// The first `limit` values of the rows after a key. `read` returns the key of a row and its value, or `None` to
    /// leave the row out. Fewer values than the limit means that there are no more.
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
        let page = limit.clamp(MIN_PAGE, MAX_PAGE);
        let count = i32::try_from(page).unwrap_or(i32::MAX);
        while found.len() < limit {
            let rows: Vec<R> = match &after {
                None => self.rows(&scan.first, (count,)).await?,
                Some(key) => self.rows(&scan.after, (key, count)).await?,
            };
            let is_last = rows.len() < page;
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
