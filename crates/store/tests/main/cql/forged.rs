//! A NATS login alone changes nothing: messages and notices without a valid MAC are not executed.

use super::super::secure::nats;
use super::{addresses_of_engines, separate_log};
use async_nats::jetstream;
use aws_lc_rs::hmac;
use model::Uid;
use std::time::Duration;
use store::cql::CqlStore;
use store::jetstream::{MessageKeys, Servers};
use store::{DeadLetter, Log, Notice, Store, Work};

/// A store of an intruder with a login to both engines, but with another secret key.
async fn intruder(servers: &Servers) -> CqlStore {
    let (nodes, _) = addresses_of_engines();
    let keys = MessageKeys::new(vec![hmac::Key::new(hmac::HMAC_SHA256, &[8; 32])]);
    CqlStore::open(&nodes, &Servers { keys, ..servers.clone() }).await.unwrap()
}

fn work(uid: i64) -> Work {
    Work::Account { uid: Uid(uid), after: None }
}

/// The dead letters of messages that do not verify.
async fn letters(store: &CqlStore) -> Vec<DeadLetter> {
    let mut letters = store.dead_letters(None, 1_000).await.unwrap();
    letters.retain(|letter| letter.work.is_none());
    letters
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_message_becomes_a_dead_letter_and_is_not_executed() {
    let Some((store, servers)) = separate_log("forged").await else { return };
    let context = jetstream::new(nats(&servers).await);
    let stream = context.get_stream(&servers.stream).await.unwrap();
    let subject = &stream.cached_info().config.subjects[0];
    // Of an earlier attempt.
    let known: Vec<u64> = letters(&store).await.iter().map(|letter| letter.number).collect();
    for payload in [&b"rubbish"[..], b"", &[0; 32]] {
        context.publish(subject.clone(), payload.into()).await.unwrap().await.unwrap();
    }
    intruder(&servers).await.append(&work(1)).await.unwrap();
    let genuine = store.append(&work(2)).await.unwrap();

    // On a busy machine a message may take longer than a call waits.
    let mut tasks = Vec::new();
    for _ in 0..30 {
        tasks = store.pending(100).await.unwrap();
        if !tasks.is_empty() {
            break;
        }
    }
    let found: Vec<_> = tasks.iter().map(|task| (task.position, &task.work)).collect();
    assert_eq!(found, [(genuine, &work(2))]);
    let mut letters = letters(&store).await;
    letters.retain(|letter| !known.contains(&letter.number));
    assert_eq!(letters.len(), 4);
    assert!(letters.iter().all(|letter| letter.error.contains("does not verify")));

    store.acknowledge(&[genuine], &[]).await.unwrap();
    assert!(store.floor().await.unwrap() >= genuine, "a forged message does not hold back the floor");
    for letter in letters {
        assert!(store.replay(letter.number).await.unwrap());
        assert!(!store.replay(letter.number).await.unwrap(), "it is gone");
    }
    assert_eq!(store.pending(100).await.unwrap(), [], "and it was not published again");
    context.delete_stream(&servers.stream).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_or_repeated_notice_is_ignored() {
    let Some((store, servers)) = separate_log("notices").await else { return };
    let (nodes, _) = addresses_of_engines();
    let colleague = CqlStore::open(&nodes, &servers).await.unwrap();
    let mut notices = store.subscribe().await.unwrap().unwrap();
    let client = nats(&servers).await;
    let mut recorded = client.subscribe(format!("{}.notices", servers.stream)).await.unwrap();
    client.flush().await.unwrap();
    // The subscription of the store reaches the servers with its next request.
    store.backlog(1).await.unwrap();

    let failed = |number| Notice::Failed(vec![number]);
    intruder(&servers).await.broadcast(&failed(1)).await.unwrap();
    colleague.broadcast(&failed(2)).await.unwrap();
    for _ in 0..2 {
        let next = futures::StreamExt::next(&mut recorded);
        let sent = tokio::time::timeout(Duration::from_secs(5), next).await.unwrap().unwrap();
        client.publish(sent.subject.clone(), sent.payload.clone()).await.unwrap();
    }
    client.publish(format!("{}.notices", servers.stream), "rubbish".into()).await.unwrap();
    client.flush().await.unwrap();
    colleague.broadcast(&failed(3)).await.unwrap();
    for expected in [failed(2), failed(3)] {
        let received = tokio::time::timeout(Duration::from_secs(5), notices.recv()).await.unwrap();
        assert_eq!(received, Some(expected));
    }
    jetstream::new(client).delete_stream(&servers.stream).await.unwrap();
}
