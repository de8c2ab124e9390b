//! The full-text index: what it finds, and that it keeps nothing of a deleted text.

use super::super::conformance::fresh;
use super::super::scratch::Scratch;
use super::{open, quick};
use model::{ActivityId, Uid};
use std::time::Duration;
use store::sqlite::{Options, SqliteStore};
use store::{Acceptance, Activities, Log, Store};

async fn add(store: &SqliteStore, actor: Uid, number: i64, title: &str, description: &str) -> Acceptance {
    let mut item = fresh::acceptance(actor, &number.to_string(), fresh::NOON + number);
    item.activity.body.title = title.to_owned();
    item.activity.body.object.description = Some(description.to_owned());
    let position = fresh::accept(store, &item).await;
    store.acknowledge(&[position], &[]).await.unwrap();
    item
}

fn id(item: &Acceptance) -> ActivityId {
    item.activity.state.id
}

async fn found(store: &SqliteStore, words: &str) -> Vec<ActivityId> {
    let found = store.search(words, None, 100).await.unwrap();
    found.into_iter().map(|(id, _)| id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn activities_are_found_by_all_words_and_the_beginning_of_the_last() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let actor = fresh::uid(&store).await;
    let fisher = add(&store, actor, 1, "Kingfisher, 1,000 frames a second", "One dive").await;
    let bridge = add(&store, actor, 2, "Fog on the Öresund bridge", "a kingfisher below").await;
    assert!(store.searches_text());
    for (words, expected) in [
        ("kingfisher", vec![id(&bridge), id(&fisher)]),
        ("KING", vec![id(&bridge), id(&fisher)]),
        ("kingfisher dive", vec![id(&fisher)]),
        ("oresund", vec![id(&bridge)]),
        ("Öresund-bridge", vec![id(&bridge)]),
        ("king dive", vec![]),
        ("fisher", vec![]),
        ("flickr fog", vec![id(&bridge)]),
        ("", vec![]),
        ("\" OR * NEAR(", vec![]),
    ] {
        assert_eq!(found(&store, words).await, expected, "{words}");
    }
    let first = store.search("kingfisher", None, 1).await.unwrap();
    let [(_, place)] = first[..] else { panic!("{first:?}") };
    let second = store.search("kingfisher", Some(place), 10).await.unwrap();
    assert_eq!(second.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [id(&fisher)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_or_deleted_text_leaves_the_index_and_the_file() {
    let scratch = Scratch::new();
    // A store with a retention zeroes what it deletes.
    let options = Options { retention: Some(Duration::from_hours(24)), ..quick() };
    let store = SqliteStore::open(&scratch.file("store.db"), options).unwrap();
    let actor = fresh::uid(&store).await;
    for number in 10..200 {
        add(&store, actor, number, &format!("usual words number{number}"), "of others").await;
    }
    let first = add(&store, actor, 1, "zebrafinchsecret here", "wrynecksecret too").await;
    let second = fresh::next(&first, "nuthatchsecret now", false);
    fresh::accept(&store, &second).await;
    assert_eq!(found(&store, "zebrafinchsecret").await, []);
    assert_eq!(found(&store, "nuthatchsecret").await, [id(&first)]);
    let third = fresh::next(&second, "deleted", true);
    fresh::accept(&store, &third).await;
    assert_eq!(found(&store, "nuthatchsecret").await, []);
    assert_eq!(found(&store, "deleted").await, []);
    assert_eq!(found(&store, "usual number150").await.len(), 1);
    assert_eq!(store.integrity_check().await.unwrap(), [""; 0]);
    // Closing copies the write-ahead log into the file and deletes it.
    drop(store);
    for _ in 0..500 {
        if !scratch.file("store.db-wal").exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!scratch.file("store.db-wal").exists());
    let file = std::fs::read(scratch.file("store.db")).unwrap();
    // Without the first letter, which the index may share with the word before.
    for word in ["ebrafinchsecret", "rynecksecret", "uthatchsecret"] {
        let place = file.windows(word.len()).position(|window| window == word.as_bytes());
        let around = place.map(|at| String::from_utf8_lossy(&file[at.saturating_sub(40)..at + 40]));
        assert_eq!(around, None, "{word}");
    }
}
