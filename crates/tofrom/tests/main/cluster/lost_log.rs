//! The log loses everything while no worker runs: deliveries are late, but no activity is lost.

use super::{Engines, RUNTIME, make_tables, prepared};
use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use domain::fanout::{Rules, deliver_pending};
use domain::following;
use domain::ingest::{Draft, Ingest, Outcome, json, normalise};
use model::{
    Account, AccountName, Clock, EdgeFilter, EntryReasons, Filter, Millis, Order, Quotas, Uid, Version,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use store::cql::{CqlStore, Nodes};
use store::jetstream::Servers;
use store::links::{ClientTls, NatsLogin};
use store::{Accounts, Activities, Feeds, Log, NewAccount, Slice};

const ACTIVITIES: usize = 60;
const FOLLOWERS: usize = 3;
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// More passes of the sweep than a day has.
const PASSES: usize = 20;

#[test]
fn tasks_lost_by_the_log_are_delivered_after_a_sweep() {
    let Some(engines) = prepared() else { return };
    RUNTIME.block_on(lose(separate_engines(&engines)));
}

/// Separate tables and a separate log: the sweep processes everything that it finds in them.
fn separate_engines(engines: &Engines) -> Engines {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let keyspace = format!("{}_lost_{seconds}", engines.nodes.keyspace);
    Engines {
        servers: Servers { stream: keyspace.clone(), ..engines.servers.clone() },
        nodes: Nodes { keyspace, ..engines.nodes.clone() },
    }
}

/// A client with the servers' login and TLS files.
pub(super) async fn nats(servers: &Servers) -> async_nats::Client {
    let mut options = async_nats::ConnectOptions::new();
    if let Some(ClientTls { ca, client: Some((certificate, key)) }) = &servers.tls {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    options = match &servers.login {
        Some(NatsLogin::Credentials(content)) => options.credentials(content.reveal()).unwrap(),
        Some(NatsLogin::NKey(seed)) => options.nkey(seed.reveal().to_owned()),
        Some(NatsLogin::Password(_)) | None => options,
    };
    options.connect(&servers.servers).await.unwrap()
}

async fn lose(Engines { nodes, servers }: Engines) {
    make_tables(&nodes).await;
    let store = Arc::new(CqlStore::open(&nodes, &servers).await.unwrap());
    let clock = Clock::system();
    let actor = account(&store, "actor", clock.now()).await;
    let mut followers = Vec::new();
    for number in 0..FOLLOWERS {
        let follower = account(&store, &format!("follower-{number}"), clock.now()).await;
        following::follow(&*store, &clock, &follower, &actor, &EdgeFilter::default(), &Quotas::default())
            .await
            .unwrap();
        followers.push(follower.uid);
    }
    deliver_pending(&*store, &clock, &Rules::default()).await.unwrap();

    // The workers are down, and writes are acknowledged nevertheless.
    let ingest = Ingest::new(store.clone(), clock.clone());
    let drafts = (0..ACTIVITIES).map(draft).collect();
    let outcomes = ingest.accept(&actor, drafts).await.unwrap();
    assert_eq!(outcomes.len(), ACTIVITIES);
    drop((store, ingest));
    let log = async_nats::jetstream::new(nats(&servers).await);
    assert!(log.delete_stream(&servers.stream).await.unwrap().success);

    let store = CqlStore::open(&nodes, &servers).await.unwrap();
    take_message_ids(&store, &log, &servers.stream, &outcomes).await;
    let a_day_later = Clock::from(move || Millis(Clock::system().now().0 + DAY));
    let mut put_back = 0;
    for _ in 0..PASSES {
        put_back += store.sweep(a_day_later.now()).await.unwrap();
        deliver_pending(&store, &a_day_later, &Rules::default()).await.unwrap();
    }
    assert!(put_back >= ACTIVITIES, "the sweep put back {put_back} tasks");
    for follower in followers {
        assert_eq!(followed(&store, follower).await, ACTIVITIES, "of follower {follower:?}");
    }
    assert_eq!(store.sweep(a_day_later.now()).await.unwrap(), 0, "a second sweep finds nothing");
}

/// An intruder with a login to NATS publishes messages under the identifiers of the lost ones, so that NATS would discard
/// those as duplicates.
async fn take_message_ids(store: &CqlStore, log: &Context, stream: &str, outcomes: &[Outcome]) {
    let created = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Created(id) => Some(*id),
        _ => None,
    });
    let states = store.states(&created.collect::<Vec<_>>()).await.unwrap();
    let found = log.get_stream(stream).await.unwrap();
    let subject = &found.cached_info().config.subjects[0];
    for state in states.into_iter().flatten() {
        let id = format!("v:{}:{}", state.id, state.version.0);
        let forged = PublishMessage::build().payload("forged".into()).message_id(id);
        log.send_publish(subject.clone(), forged).await.unwrap().await.unwrap();
    }
}

fn draft(number: usize) -> Draft {
    let text = format!(
        r#"{{"SourceId":"{number}","Title":"Something","Category":"NotePosted","Note":{{"Title":"A note"}},
            "SourceService":{{"Name":"Elsewhere"}}}}"#
    );
    normalise(&json::read(text.as_bytes()).unwrap(), Clock::system().now()).unwrap()
}

async fn account(store: &CqlStore, name: &str, now: Millis) -> Account {
    let new = NewAccount {
        name: AccountName::parse(name).unwrap(),
        version: Version::next(now, None),
        given_name: None,
        family_name: None,
        public: true,
        operator: false,
        password: None,
        created: now,
    };
    store.create_account(new).await.unwrap().unwrap()
}

async fn followed(store: &CqlStore, owner: Uid) -> usize {
    let (filter, reasons) = (Filter::default(), EntryReasons::default().with(model::EntryReason::Followed));
    let slice = Slice { owner, reasons, order: Order::Received, filter: &filter, after: None, limit: 1_000 };
    let entries = store.slice(&slice).await.unwrap();
    let ids: HashSet<_> = entries.iter().map(|entry| entry.id).collect();
    assert_eq!(ids.len(), entries.len(), "each once");
    ids.len()
}
