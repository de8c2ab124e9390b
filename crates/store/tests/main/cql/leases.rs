//! Leases end early if their holder has crashed.

use super::super::conformance::fresh;
use super::super::secure::nats;
use super::{addresses_of_engines, separate_log};
use async_nats::jetstream;
use model::Millis;
use std::time::{Duration, Instant};
use store::Leases;
use store::cql::CqlStore;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_of_a_crashed_process_is_free_within_seconds() {
    let Some((store, servers)) = separate_log("leases").await else { return };
    let (nodes, _) = addresses_of_engines();
    let crashed = CqlStore::open(&nodes, &servers).await.unwrap();
    let name = format!("test {}", fresh::number());
    let lease = async |store: &CqlStore, holder: &str| {
        store.lease(&name, holder, Millis(100), Millis(60_100)).await.unwrap()
    };
    assert!(lease(&crashed, "ada").await);
    for _ in 0..6 {
        assert!(!lease(&store, "bob").await, "the holder runs");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    drop(crashed);
    let began = Instant::now();
    while !lease(&store, "bob").await {
        assert!(began.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(began.elapsed() > Duration::from_secs(2), "one answer is not enough");
    jetstream::new(nats(&servers).await).delete_stream(&servers.stream).await.unwrap();
}
