//! A whole service moves to another store, and readers see no difference.
//!
//! The test with a cluster needs the engines that `scripts/engines up` starts and whose addresses it prints; it is
//! skipped without them. It creates a new keyspace each time.

mod compare;
mod location;

use super::support::demo::BINARY;
use super::support::random_data::RandomData;
use location::ServiceLocation;
use model::{
    AccessToken, Account, AddressableBy, Application, Collection, Decision, Edge, EdgeFilter, HookId, Key,
    KeyId, Millis, Picture, Position, Scopes, SourceId, SyncToken, Uid, Version,
};
use std::process::Command;
use store::{
    Accounts, Connection, Copying, Credentials, DecisionChange, Hook, HookProgress, Log, NewAccount, Seen,
    Source, Store, Usage, Work,
};

/// Runs the command; returns its output, or its error.
fn copy(from: &ServiceLocation, to: &ServiceLocation) -> Result<String, String> {
    let output = Command::new(BINARY)
        .args(["copy", "--from"])
        .arg(from.settings())
        .arg("--to")
        .arg(to.settings())
        .env_remove("TOFROM_SECRET_KEYS")
        .output()
        .unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// A source that all accounts are connected to, one source for each account, and connections that were removed or
/// moved.
async fn connect(store: &dyn Store, accounts: &[Account]) {
    let source = |number: u8, due| Source {
        id: SourceId([number; 16]),
        version: Version(5),
        shard: number.into(),
        due,
        state: vec![number; 300],
    };
    let shared = source(63, Some(Millis(1_000)));
    assert!(store.replace_source(None, &shared).await.unwrap());
    for (number, account) in (0..).zip(accounts) {
        let own_source = source(number, (number % 2 == 0).then_some(Millis(i64::MAX / 2)));
        assert!(store.replace_source(None, &own_source).await.unwrap());
        for (name, source, version, removed) in [
            ("everybody", shared.id, 1, false),
            ("mine", shared.id, 1, false),
            ("mine", own_source.id, 2, false),
            ("no-more", own_source.id, 7, true),
        ] {
            let (owner, name, version) = (account.uid, name.to_owned(), Version(version));
            let connection = Connection { owner, name, version, source, removed, state: vec![number] };
            let before = store.connection(account.uid, &connection.name).await.unwrap();
            let before = before.map(|before| before.version);
            assert!(store.replace_connection(before, &connection).await.unwrap());
        }
    }
}

/// Hooks of each account, one of which was removed, and a seen position.
async fn hook(store: &dyn Store, accounts: &[Account]) {
    for (number, account) in (0..).zip(accounts) {
        let owner = account.uid;
        for (name, at, removed) in [("search", 0, false), ("gone", 100, true)] {
            let id = HookId([at + number; 16]);
            let (name, state) = (name.to_owned(), vec![number; 50]);
            let hook = Hook { owner, name, version: Version(5), id, removed, state };
            assert!(store.replace_hook(None, &hook).await.unwrap());
            let progress = HookProgress { id, version: Version(7), state: vec![number] };
            store.put_hook_progress(&progress).await.unwrap();
        }
        let sync_token = SyncToken::at(Position(number.into()));
        let seen = Seen { owner, collection: Collection::To, version: Version(3), sync_token };
        assert!(store.replace_seen(None, &seen).await.unwrap());
    }
}

/// Accounts that block and mute others, an edge with a filter, an account that no other may address, and usage.
async fn decide(data: &RandomData) {
    let (one, other) = (&data.accounts[1], &data.accounts[2]);
    for (decision, version, holds) in
        [(Decision::Block, 5, true), (Decision::Mute, 6, true), (Decision::Mute, 7, false)]
    {
        let change = DecisionChange {
            owner: one.uid,
            name: one.name.clone(),
            decision,
            other: other.name.clone(),
            other_uid: None,
            version: Version(version),
            holds,
        };
        data.store.copy_decision(&change).await.unwrap();
    }
    let edge = Edge::new(Version(1 << 50), Millis(5), None);
    let edge = Edge { filter: EdgeFilter::of(&["flickr".to_owned()], &[], &[]), ..edge };
    data.store.copy_edges(one.uid, vec![(other.uid, edge)]).await.unwrap();
    let shy =
        Account { addressable_by: AddressableBy::Nobody, version: Version(one.version.0 + 1), ..one.clone() };
    assert!(data.store.replace_account(one.version, &shy).await.unwrap());
    let usage = Usage { activities: 3, bytes: 500 };
    data.store.copy_usage(one.uid, vec![(7, usage), (8, usage)]).await.unwrap();
}

/// A service whose accounts write, change, delete and remove activities, with keys, an application, access tokens and
/// connections.
async fn origin(seed: u64) -> ServiceLocation {
    let mut data = RandomData::new(seed, 12, None).await;
    for number in 0..240 {
        data.write_random().await;
        if number % 12 == 0 {
            data.remove().await;
        }
    }
    let removed = data.accounts.last().unwrap();
    let gone_now = Account { removed: true, version: Version(removed.version.0 + 1), ..removed.clone() };
    assert!(data.store.replace_account(removed.version, &gone_now).await.unwrap());
    let [first, ..] = data.accounts.as_mut_slice() else { panic!("no accounts") };
    let before = first.version;
    *first = Account { disabled: true, version: Version(before.0 + 1), ..first.clone() };
    assert!(data.store.replace_account(before, first).await.unwrap());
    let sizes = [vec![1], vec![2; 2_000], vec![3; 30_000]];
    data.store.put_picture(first.uid, &Picture { version: Version(9), sizes }).await.unwrap();
    let pending: Vec<_> = data.store.pending(10).await.unwrap().iter().map(|task| task.position).collect();
    data.store.acknowledge(&pending, &[]).await.unwrap();
    decide(&data).await;
    for (number, account) in (0..).zip(&data.accounts) {
        let at = Millis(1_000 + number);
        let (used, revoked) =
            ((number % 2 == 0).then_some(at), (number % 3 == 0).then_some(Millis(at.0 + 1)));
        let key = Key {
            id: KeyId(7 + at.0.cast_unsigned()),
            hash: [u8::try_from(number).unwrap(); 32],
            owner: account.uid,
            name: format!("key {number}"),
            scopes: Scopes::Read,
            created: at,
            expires: None,
            revoked,
            used,
            parent: (number > 0).then_some([0; 32]),
        };
        data.store.add_key(&key).await.unwrap();
        let token = AccessToken {
            key: format!("tft_{number}"),
            sealed_secret: location::sealed(&format!("access-token-secret tft_{number}")),
            consumer: "tfc_app".to_owned(),
            owner: account.uid,
            epoch: 2,
            scopes: Scopes::ReadWrite,
            created: at,
            expires: Some(Millis(at.0 * 2)),
            revoked,
            used,
        };
        if number < 4 {
            data.store.copy_token(&token).await.unwrap();
        }
    }
    let application = Application {
        key: "tfc_app".to_owned(),
        sealed_secret: location::sealed("application-secret tfc_app"),
        name: "Photo wall".to_owned(),
        callback: "https://wall.example.org/back".to_owned(),
        rsa_key: None,
        created: Millis(5),
        removed: Some(Millis(6)),
        owner: Some(Uid(1)),
    };
    data.store.add_application(&application).await.unwrap();
    connect(data.store.as_ref(), &data.accounts).await;
    hook(data.store.as_ref(), &data.accounts).await;
    data.store.set_once("tag-host", "feed.example").await.unwrap();
    let place = ServiceLocation::folder();
    data.store.backup(&place.folder_path().join("tofrom.db"), |_, _| {}).await.unwrap();
    place
}

/// The name of a removed account is not given again, and account numbers continue.
async fn names_stay_taken(target: &dyn Copying) {
    let taken = target.every_account(None, 1).await.unwrap().remove(0);
    let new = |name| NewAccount {
        name,
        version: Version(1),
        given_name: None,
        family_name: None,
        public: false,
        operator: false,
        password: None,
        created: Millis(1),
    };
    assert_eq!(target.create_account(new(taken.name)).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_one_machine_to_another() {
    let (from, to) = (origin(7_000).await, ServiceLocation::folder());
    let output = copy(&from, &to).unwrap();
    assert!(output.contains("12 accounts, "), "{output}");
    let (source, target) = (from.open().await, to.open().await);
    compare::assert_same(&source, &target).await;
    names_stay_taken(target.as_ref()).await;
    let output = copy(&from, &to).unwrap();
    assert!(output.contains("nothing to do"), "{output}");

    // New positions come after all positions of the source.
    let last = source.floor().await.unwrap();
    let next = target.append(&Work::Account { uid: Uid(1), after: None }).await.unwrap();
    assert!(next > last && next > target.oldest(Millis(0)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_copy_continues() {
    let (from, to) = (origin(7_001).await, ServiceLocation::folder());
    copy(&from, &to).unwrap();
    let target = to.open().await;
    let done = target.copy_progress().await.unwrap().unwrap();
    // As if the copy had been stopped after the third account.
    let third = target.every_account(None, 3).await.unwrap().pop().unwrap().uid.0;
    let mut progress: serde_json::Value = serde_json::from_str(&done).unwrap();
    (progress["done"], progress["finished"]) = (third.into(), false.into());
    target.set_copy_progress(&progress.to_string()).await.unwrap();
    let served = Command::new(BINARY)
        .args(["serve", "--config"])
        .arg(to.settings())
        .envs([("TOFROM_BASE_URL", "https://feed.example"), ("TOFROM_ADMIN_LISTEN", "127.0.0.1:0")])
        .envs([("TOFROM_PROXY__LISTEN", "127.0.0.1:0"), ("TOFROM_PROXY__TRUSTED", "127.0.0.1")])
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&served.stderr);
    assert!(!served.status.success() && output.contains("a copy into this store is incomplete"), "{output}");

    let output = copy(&from, &to).unwrap();
    assert!(output.contains("9 accounts, "), "{output}");
    compare::assert_same(&from.open().await, &target).await;
    assert_eq!(target.copy_progress().await.unwrap(), Some(done));
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_sources_and_targets_are_refused() {
    let (from, to) = (origin(7_002).await, ServiceLocation::folder());
    let assert_refused = |to: &ServiceLocation, output: &str| {
        let text = copy(&from, to).unwrap_err();
        assert!(text.contains(output) && text.lines().count() == 1, "{text:?} does not say {output:?}");
    };
    std::fs::write(to.folder_path().join("secret.key"), location::OTHER_KEY).unwrap();
    assert_refused(&to, "--to has different secret_keys than the source");
    std::fs::remove_file(to.folder_path().join("secret.key")).unwrap();
    assert_refused(&to, "--to has no secret_keys");
    assert_refused(&from, "the target is not empty");

    let (source, to) = (from.open().await, ServiceLocation::folder());
    let at = source.append(&Work::Account { uid: Uid(1), after: None }).await.unwrap();
    assert_refused(&to, "still has pending deliveries");
    source.acknowledge(&[at], &[]).await.unwrap();
    copy(&from, &to).unwrap();

    let nowhere = ServiceLocation::folder();
    assert!(copy(&nowhere, &to).unwrap_err().contains("--from: no store in"));
    let both =
        Command::new(BINARY).args(["copy", "--from", "a", "--to", "b", "--data", "c"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn to_a_cluster_and_back() {
    let Some(cluster) = ServiceLocation::cluster().await else {
        eprintln!("skipped: TOFROM_TEST_CQL and TOFROM_TEST_NATS are not set");
        return;
    };
    let (from, back) = (origin(7_003).await, ServiceLocation::folder());
    copy(&from, &cluster).unwrap();
    let (source, target) = (from.open().await, cluster.open().await);
    compare::assert_same(&source, &target).await;
    names_stay_taken(target.as_ref()).await;
    copy(&cluster, &back).unwrap();
    let end = back.open().await;
    compare::assert_same(&target, &end).await;
    compare::assert_same(&source, &end).await;
}
