//! What the ways cost by which activities come into collections: pushed to everybody, pulled by those who read, and
//! brought to who was away for long.

pub(crate) mod activity;
pub(crate) mod pages;
pub(crate) mod returning;

use super::bare::Bare;
use scylla::value::CqlValue;

/// The rows of deliveries that have that value in that column: entries in both orders, and arrivals.
async fn delivered_rows(bare: &Bare, column: &str, value: &CqlValue) -> usize {
    let mut rows = 0;
    // An account's own arrivals are in another box, and come with the acceptance.
    for table in ["followed_received", "followed_published", "arrival WHERE box = 2 ALLOW FILTERING"] {
        rows += bare.rows_with(&format!("SELECT {column} FROM feed.{table}"), value).await;
    }
    rows
}
