//! The cost of the fan-out modes: push to all followers, pull at read time, and catching up after dormancy.

pub(crate) mod activity;
pub(crate) mod catch_up;
pub(crate) mod pages;

use super::bare::Bare;
use scylla::value::CqlValue;

/// Delivered rows with that value in that column: entries in both orders, and arrivals.
async fn delivered_rows(bare: &Bare, column: &str, value: &CqlValue) -> usize {
    let mut rows = 0;
    // An account's own arrivals have another `reason`, and are written on acceptance.
    for table in ["followed_received", "followed_published", "arrival WHERE reason = 2 ALLOW FILTERING"] {
        rows += bare.rows_with(&format!("SELECT {column} FROM feed.{table}"), value).await;
    }
    rows
}
