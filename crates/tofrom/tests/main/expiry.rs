//! Writes and reads of activities that are older than the retention: both engines give the same results, and nothing
//! reappears.

use super::cluster::{self, Engines};
use super::support::folder::Folder;
use domain::fanout::{Rules, deliver_pending};
use domain::feed::{Feed, FeedLimits};
use domain::following;
use domain::ingest::{Draft, Ingest, Outcome, json, normalise};
use model::{
    Account, AccountName, Clock, Collection, EdgeFilter, FeedQuery, Filter, Millis, Order, Quotas, Reader,
    Start, Version,
};
use std::sync::Arc;
use std::time::Duration;
use store::cql::CqlStore;
use store::sqlite::{Options, SqliteStore};
use store::{AccountCache, ExternalKey, NewAccount, Store};

const RETENTION: Duration = Duration::from_hours(1);
const HOUR: i64 = 60 * 60 * 1_000;

fn draft(id: &str, title: &str, received: i64) -> Draft {
    let text = serde_json::json!({
        "SourceId": id, "Title": title, "Category": "BookmarkShared", "SourceService": {"Name": "Delicious"},
        "Bookmark": {"Title": "t", "Url": "https://example.org/"},
    });
    let draft = normalise(&json::read(text.to_string().as_bytes()).unwrap(), Clock::system().now()).unwrap();
    Draft { received: Some(Millis(received)), ..draft }
}

async fn account(store: &dyn Store, name: &str) -> Account {
    let new = NewAccount {
        name: AccountName::parse(&format!("{name}-{}", Clock::system().now().0)).unwrap(),
        version: Version(1),
        given_name: None,
        family_name: None,
        public: true,
        operator: false,
        password: None,
        created: Millis(1),
    };
    store.create_account(new).await.unwrap().unwrap()
}

/// The results of all steps, without identifiers.
async fn run(store: Arc<dyn Store>) -> Vec<String> {
    let clock = Clock::system();
    let ingest = Ingest::new(Arc::clone(&store), clock.clone());
    let limits = FeedLimits { retention: Some(RETENTION), ..FeedLimits::default() };
    let feed = Feed::new(Arc::clone(&store), AccountCache::new(Arc::clone(&store)), clock.clone(), limits);
    let (actor, reader) = (account(store.as_ref(), "actor").await, account(store.as_ref(), "reader").await);
    following::follow(store.as_ref(), &clock, &reader, &actor, &EdgeFilter::default(), &Quotas::default())
        .await
        .unwrap();
    let key = ExternalKey { actor: actor.uid, service: "delicious".to_owned(), id: "old".to_owned() };
    let mut results = Vec::new();
    let (old, new) = (clock.now().0 - 2 * HOUR, clock.now().0 - HOUR / 2);
    for (id, title, received) in [
        ("old", "first", old),
        ("new", "first", new),
        ("old", "first", old),
        ("old", "second", old),
        ("new", "second", new),
        // Deleted between the two.
        ("old", "third", old),
        ("old", "third", new),
    ] {
        if title == "third" {
            results.push(format!("deleted: {}", ingest.delete(&key).await.unwrap()));
            results.push(format!("deleted again: {}", ingest.delete(&key).await.unwrap()));
        }
        let outcomes = ingest.accept(&actor, vec![draft(id, title, received)]).await.unwrap();
        results.push(match &outcomes[..] {
            [Outcome::Created(_)] => format!("{id} {title}: created"),
            [Outcome::Updated(_)] => format!("{id} {title}: updated"),
            [Outcome::Unchanged(_)] => format!("{id} {title}: unchanged"),
            other => panic!("{other:?}"),
        });
        deliver_pending(store.as_ref(), &clock, &Rules::default()).await.unwrap();
        store.forget_expired(clock.now()).await.unwrap();
        results.push(format!("read: {}", ingest.activity(&key).await.unwrap().is_some()));
        for (owner, collection) in [(&actor, Collection::From), (&reader, Collection::To)] {
            for order in [Order::Received, Order::Published] {
                let query = FeedQuery {
                    owner: owner.uid,
                    collection,
                    filter: Filter::default(),
                    order,
                    start: Start::Skip(0),
                    count: 10,
                    format: None,
                };
                let page = feed.hydrated_page(Reader::Owner, &query, |_| (), |(), _| true).await.unwrap().0;
                let titles = page.items.iter().filter_map(|item| item.body.as_ref());
                let titles: Vec<String> =
                    titles.map(|body| format!("{} {}", body.source_id, body.title)).collect();
                results.push(format!("{collection:?} by {order:?}: {titles:?}"));
            }
        }
    }
    results
}

#[test]
fn an_expired_activity_stays_away_on_both_engines() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = Folder::new();
    let options = Options { synchronous_off: true, retention: Some(RETENTION), ..Options::default() };
    let store = SqliteStore::open(&folder.path().join("store.db"), options).unwrap();
    let one = runtime.block_on(run(Arc::new(store)));
    let seen: Vec<&str> = one.iter().filter(|line| !line.contains(" by ")).map(String::as_str).collect();
    let expected = [
        "old first: created",
        "read: false",
        "new first: created",
        "read: false",
        "old first: unchanged",
        "read: false",
        "old second: updated",
        "read: false",
        "new second: updated",
        "read: false",
        "deleted: true",
        "deleted again: false",
        "old third: created",
        "read: false",
        "deleted: true",
        "deleted again: false",
        "old third: created",
        "read: true",
    ];
    assert_eq!(seen, expected);
    assert!(one.iter().filter(|line| line.contains("old")).all(|line| !line.contains("[\"old first")));

    let Some(engines) = cluster::engines() else { return };
    let other = runtime.block_on(async {
        cluster::make_tables(&engines.nodes).await;
        let Engines { nodes, servers } = engines.on_stream("expiry");
        let client = async_nats::connect(&servers.servers).await.unwrap();
        let _ = async_nats::jetstream::new(client).delete_stream(&servers.stream).await;
        let store = CqlStore::open(&nodes, &servers).await.unwrap().with_retention(Some(RETENTION));
        run(Arc::new(store)).await
    });
    assert_eq!(one, other);
}
