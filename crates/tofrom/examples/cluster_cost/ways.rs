//! What the ways cost by which activities come into collections: pushed to everybody, pulled by those who read, and
//! brought to who was away for long.

mod activity;
mod pages;
mod returning;

use super::bare::Bare;
use super::cluster::Cluster;
use scylla::value::CqlValue;

pub(crate) async fn measure(cluster: &Cluster, followers: usize) {
    pages::measure(cluster).await;
    returning::measure(cluster).await;
    // The last one, because the others would have to look for their rows among those that this leaves.
    activity::measure(cluster, followers).await;
}

/// The rows of deliveries that have that value in that column: entries in both orders, and arrivals.
async fn delivered_rows(bare: &Bare, column: &str, value: &CqlValue) -> usize {
    let mut rows = 0;
    // An account's own arrivals are in another box, and come with the acceptance.
    for table in ["followed_received", "followed_published", "arrival WHERE box = 2 ALLOW FILTERING"] {
        rows += bare.rows_with(&format!("SELECT {column} FROM feed.{table}"), value).await;
    }
    rows
}
