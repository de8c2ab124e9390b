//! The host limiter.

use super::support::{ATOM, get, server};
use fetcher::{HostBudget, HostLimiter, RetryLater};
use std::sync::Arc;
use std::time::Duration;
use test_server::{Behaviour, CannedResponse};
use tokio::time::{Instant, advance};

const BUDGET: HostBudget = HostBudget { burst: 3, every: Duration::from_secs(10) };

#[tokio::test(start_paused = true)]
async fn one_connection_at_a_time_within_the_budget() {
    let hosts = HostLimiter::new(BUDGET);
    let turn = hosts.try_enter("a.example").unwrap();
    assert_eq!(hosts.try_enter("A.example").unwrap_err(), RetryLater(Duration::from_secs(2)));
    assert!(hosts.try_enter("b.example").is_ok(), "another host");
    drop(turn);
    for _ in 0..2 {
        assert!(hosts.try_enter("a.example").is_ok());
    }
    assert_eq!(hosts.try_enter("a.example").unwrap_err(), RetryLater(Duration::from_secs(10)));
    advance(Duration::from_secs(4)).await;
    assert_eq!(hosts.try_enter("a.example").unwrap_err(), RetryLater(Duration::from_secs(6)));
    advance(Duration::from_secs(6)).await;
    assert!(hosts.try_enter("a.example").is_ok());
    assert!(hosts.try_enter("a.example").is_err());
    advance(Duration::from_secs(3_600)).await;
    for _ in 0..3 {
        assert!(hosts.try_enter("a.example").is_ok(), "a long pause refills no more than the burst");
    }
    assert!(hosts.try_enter("a.example").is_err());
}

#[tokio::test(start_paused = true)]
async fn permits_are_granted_in_order() {
    let hosts = Arc::new(HostLimiter::new(HostBudget { burst: 1, every: Duration::from_secs(10) }));
    let begun = Instant::now();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let waiting = (0..5).map(|number| {
        let (hosts, order) = (hosts.clone(), order.clone());
        tokio::spawn(async move {
            let _turn = hosts.enter("a.example").await;
            order.lock().unwrap().push((number, begun.elapsed().as_secs()));
        })
    });
    for task in waiting.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [(0, 0), (1, 10), (2, 20), (3, 30), (4, 40)]);
}

#[tokio::test]
async fn a_server_sees_one_connection_at_a_time() {
    let (server, setting) = server().await;
    server.on("/feed", Behaviour::Slow(CannedResponse::feed(&ATOM[..5]), Duration::from_millis(5)));
    let url = server.url("feeds.example", "/feed");
    let hosts = Arc::new(HostLimiter::new(HostBudget { burst: 100, every: Duration::from_millis(1) }));
    let fetcher = Arc::new(setting.fetcher());
    let mut fetches = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (hosts, fetcher, request) = (hosts.clone(), fetcher.clone(), get(&url));
        fetches.spawn(async move {
            let _turn = hosts.enter("feeds.example").await;
            fetcher.get(&request).await.unwrap()
        });
    }
    fetches.join_all().await;
    let host = format!("feeds.example:{}", server.address().port());
    assert_eq!((server.requests().len(), server.max_concurrent_requests(&host)), (8, 1));
}
