//! The whole way from headers to a principal, on a store of its own.

mod people;

use super::*;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use model::{Account, AccountName, Key, Millis, Version};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Credentials, NewAccount};

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
const START: Millis = Millis(1_700_000_000_000);

struct World {
    authenticator: Arc<Authenticator>,
    accounts: AccountCache,
    store: Arc<SqliteStore>,
    now: Arc<AtomicI64>,
    folder: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl World {
    fn new() -> World {
        World::with(AuthSettings::default())
    }

    fn with(settings: AuthSettings) -> World {
        let name = primitives::random_text::<8>("tofrom-auth-").unwrap();
        let folder = std::env::temp_dir().join(name.as_str());
        std::fs::create_dir(&folder).unwrap();
        let options = Options { synchronous_off: true, readers: 2, ..Options::default() };
        let store = Arc::new(SqliteStore::open(&folder.join("store"), options).unwrap());
        let now = Arc::new(AtomicI64::new(START.0));
        let told = Arc::clone(&now);
        let clock = Clock::from(move || Millis(told.load(Ordering::Relaxed)));
        let keys = Arc::new(SecretKeys::parse(["00".repeat(32)]).unwrap());
        let accounts = AccountCache::new(Arc::clone(&store) as Arc<dyn Store>);
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let authenticator = Arc::new(Authenticator::new(shared, accounts.clone(), clock, keys, settings));
        World { authenticator, accounts, store, now, folder }
    }

    async fn account(&self, name: &str, password: Option<&str>) -> Account {
        let new = NewAccount {
            name: AccountName::parse(name).unwrap(),
            version: Version(START.0),
            given_name: None,
            family_name: None,
            public: false,
            operator: name == "ops",
            password: password.map(|text| password::hash(text).unwrap()),
            created: START,
        };
        self.store.create_account(new).await.unwrap().unwrap()
    }

    async fn change(&self, account: &Account, change: impl FnMut(&mut Account)) {
        let clock = Clock::from(|| START);
        self.accounts.change(&clock, account.uid, change).await.unwrap().unwrap();
    }

    /// A key's text, and the key as it is stored.
    async fn key(&self, owner: &Account, scopes: Scopes, expires: Option<Millis>) -> (String, Key) {
        let made = key::generate().unwrap();
        let (id, hash, name) = (made.id, made.hash, "test".to_owned());
        let (owner, created) = (owner.uid, START);
        let key = Key { id, hash, owner, name, scopes, created, expires, revoked: None, used: None };
        self.store.add_key(&key).await.unwrap();
        (made.text.to_string(), key)
    }

    async fn application(&self) -> String {
        let made = application::generate().unwrap();
        let keys = SecretKeys::parse(["00".repeat(32)]).unwrap();
        let application = Application {
            key: made.key.clone(),
            sealed_secret: made.sealed_secret(&keys).unwrap(),
            name: "Test".to_owned(),
            callback: "oob".to_owned(),
            rsa_key: None,
            created: START,
            removed: None,
            owner: None,
        };
        self.store.add_application(&application).await.unwrap();
        made.key
    }

    async fn ask(&self, lines: &[(&'static str, &str)], from: IpAddr) -> Result<Principal, AuthError> {
        let lines = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        let headers: HeaderMap = lines.collect();
        let authenticated = self.authenticator.authenticate(&AuthRequest::plain(&headers, from)).await?;
        Ok(authenticated.principal)
    }

    async fn basic(&self, name: &str, password: &str) -> Result<Principal, AuthError> {
        self.ask(&[("authorization", &basic(name, password))], HERE).await
    }

    async fn psk(&self, text: &str) -> Result<Principal, AuthError> {
        self.ask(&[("servicepsk", text)], HERE).await
    }

    fn hashes(&self) -> u64 {
        self.authenticator.hashes_computed()
    }
}

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
}

fn reason(asked: Result<Principal, AuthError>) -> &'static str {
    asked.map(|principal| panic!("{principal:?}")).unwrap_err().reason()
}

#[tokio::test]
async fn a_right_password_is_hashed_once() {
    let world = World::new();
    world.account("alice", Some("secret")).await;
    let ops = world.account("ops", Some("other secret")).await;
    for name in ["alice", "ALICE", "alice"] {
        let principal = world.basic(name, "secret").await.unwrap();
        assert_eq!(principal.account.name.as_str(), "alice");
        assert_eq!((&principal.method, principal.scopes), (&Method::Basic, Scopes::ReadWrite));
        assert!(!principal.is_operator() && principal.consumer.is_none());
    }
    assert_eq!(world.hashes(), 1);
    assert!(world.basic("ops", "other secret").await.unwrap().is_operator());
    assert_eq!(world.hashes(), 2);
    assert_eq!(world.basic("ops", "other secret").await.unwrap().account.uid, ops.uid);
    assert_eq!(world.hashes(), 2);
}

#[tokio::test]
async fn many_at_once_cost_one_hash_and_no_guess() {
    let world = World::new();
    world.account("alice", Some("secret")).await;
    let asked = futures::future::join_all((0..200).map(|_| world.basic("alice", "secret"))).await;
    assert!(asked.iter().all(Result::is_ok));
    assert_eq!(world.hashes(), 1);
    let asked = futures::future::join_all((0..200).map(|_| world.basic("alice", "wrong"))).await;
    let throttled = asked.iter().filter(|one| matches!(one, Err(AuthError::Throttled { .. }))).count();
    assert_eq!(throttled, 170, "each counts, though they share a hash");
}

#[tokio::test]
async fn one_answer_and_one_cost() {
    let world = World::new();
    world.account("alice", Some("secret")).await;
    world.account("nopassword", None).await;
    let gone = world.account("gone", Some("secret")).await;
    world.basic("gone", "secret").await.unwrap();
    world.change(&gone, |account| account.removed = true).await;
    let mut details = Vec::new();
    for (name, password) in
        [("alice", "wrong"), ("nobody", "secret"), ("nopassword", "secret"), ("gone", "secret"), ("é", "x")]
    {
        let before = world.hashes();
        let denied = world.basic(name, password).await.unwrap_err();
        assert!(matches!(denied, AuthError::BadCredentials), "{name}: {denied:?}");
        assert_eq!(world.hashes(), before + 1, "{name}");
        details.push(denied.detail());
    }
    details.dedup();
    assert_eq!(details.len(), 1);
}

#[tokio::test]
async fn a_changed_password_counts() {
    let world = World::new();
    assert_eq!(reason(world.basic("alice", "old").await), "bad-credentials");
    let alice = world.account("alice", Some("old")).await;
    world.basic("alice", "old").await.expect("a new account is seen at once");
    world.change(&alice, |account| account.password = Some(password::hash("new").unwrap())).await;
    assert_eq!(reason(world.basic("alice", "old").await), "bad-credentials");
    world.basic("alice", "new").await.unwrap();
}

#[tokio::test]
async fn guessing_is_throttled_for_who_guesses() {
    let world = World::new();
    world.account("alice", Some("secret")).await;
    world.account("bob", Some("secret")).await;
    world.basic("bob", "secret").await.unwrap();
    for _ in 0..30 {
        assert_eq!(reason(world.basic("alice", "wrong").await), "bad-credentials");
        assert_eq!(reason(world.basic("bob", "wrong").await), "bad-credentials");
    }
    let before = world.hashes();
    let denied = world.basic("alice", "wrong").await.unwrap_err();
    assert!(matches!(denied, AuthError::Throttled { retry_after_seconds: 3 }), "{denied:?}");
    assert_eq!(reason(world.basic("alice", "secret").await), "throttled", "it is not looked at");
    assert_eq!(world.hashes(), before);
    assert_eq!(reason(world.basic("bob", "secret").await), "throttled", "a remembered one is no better");
    let elsewhere = world.ask(&[("authorization", &basic("alice", "secret"))], ELSEWHERE).await;
    assert_eq!(elsewhere.unwrap().account.name.as_str(), "alice");
    world.now.fetch_add(3_000, Ordering::Relaxed);
    assert_eq!(reason(world.basic("alice", "wrong").await), "bad-credentials");
    assert_eq!(reason(world.basic("alice", "wrong").await), "throttled");
}

#[tokio::test]
async fn an_account_that_is_guessed_at_from_everywhere_opens_to_who_is_familiar() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let (key, _) = world.key(&alice, Scopes::Read, None).await;
    let from = |last: u8| IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, last));
    let ask = async |name: &str, password: &str, from: IpAddr| {
        let asked = world.ask(&[("authorization", &basic(name, password))], from).await;
        asked.map_or_else(|denied| denied.reason(), |_| "in")
    };
    let browser = Browser { agent: "", remote: from(250), familiar: None };
    let sign_in = async |browser: Browser<'_>| {
        let signed_in = world.authenticator.sign_in("alice", "secret", &browser).await;
        signed_in.map_err(|denied| denied.reason())
    };
    assert_eq!(ask("alice", "secret", HERE).await, "in");
    let cookies = sign_in(browser).await.unwrap();
    let person = world.authenticator.signed_in(&cookies.session).await.unwrap().unwrap();
    while store::Networks::networks_of(world.store.as_ref(), alice.uid).await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for name in ["alice", "nobody", "é"] {
        for number in 0..100 {
            assert_eq!(ask(name, "wrong", from(number)).await, "bad-credentials", "{name} {number}");
        }
        let before = world.hashes();
        assert_eq!(ask(name, "wrong", from(101)).await, "throttled");
        assert_eq!(ask(name, "secret", from(102)).await, "throttled", "a remembered one is no better");
        assert_eq!(world.hashes(), before);
    }
    assert_eq!(ask("alice", "secret", HERE).await, "in");
    assert_eq!(ask("alice", "secret", from(250)).await, "in");
    let new = Browser { remote: from(251), ..browser };
    assert_eq!(sign_in(new).await.err(), Some("throttled"));
    assert_eq!(sign_in(Browser { familiar: Some("rubbish"), ..new }).await.err(), Some("throttled"));
    assert!(sign_in(Browser { familiar: Some(&cookies.familiar), ..new }).await.is_ok());
    assert!(
        world.authenticator.check_password(&person, "secret", from(252)).await.is_ok(),
        "who is signed in"
    );
    world.ask(&[("servicepsk", &key)], from(253)).await.unwrap();

    // From a familiar network the limit of the address counts as before.
    for _ in 0..30 {
        assert_eq!(ask("alice", "wrong", HERE).await, "bad-credentials");
    }
    assert_eq!(ask("alice", "secret", HERE).await, "throttled");
    world.now.fetch_add(36_000, Ordering::Relaxed);
    assert_eq!(ask("alice", "secret", from(254)).await, "in", "below the limit from anywhere");
}

#[tokio::test]
async fn wrong_keys_are_throttled_and_right_ones_are_not() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let (right, _) = world.key(&alice, Scopes::Read, None).await;
    for n in 0..300 {
        let wrong = if n % 2 == 0 { "rubbish".to_owned() } else { format!("tfk_{n:043}") };
        assert_eq!(reason(world.psk(&wrong).await), "bad-credentials", "{n}");
    }
    assert_eq!(reason(world.psk("rubbish").await), "throttled");
    assert_eq!(reason(world.basic("alice", "secret").await), "throttled", "the address has no guess left");
    assert_eq!(reason(world.ask(&[("authorization", "Basic !")], HERE).await), "malformed");
    world.psk(&right).await.unwrap();
}

#[tokio::test]
async fn keys_open_what_they_are_for_while_they_live() {
    let world = World::new();
    let ops = world.account("ops", None).await;
    let end = Millis(START.0 + 1_000);
    let (text, _) = world.key(&ops, Scopes::Read, Some(end)).await;
    let principal = world.psk(&text).await.unwrap();
    assert_eq!((principal.method.as_str(), principal.scopes), ("psk", Scopes::Read));
    assert!(principal.is_operator());
    world.now.store(end.0, Ordering::Relaxed);
    assert_eq!(reason(world.psk(&text).await), "bad-credentials", "expired, though it is remembered");

    let (text, key) = world.key(&ops, Scopes::ReadWrite, None).await;
    world.store.revoke_key(ops.uid, key.id, end).await.unwrap();
    assert_eq!(reason(world.psk(&text).await), "bad-credentials", "revoked");

    let (text, _) = world.key(&ops, Scopes::ReadWrite, None).await;
    world.psk(&text).await.unwrap();
    world.change(&ops, |account| account.removed = true).await;
    assert_eq!(reason(world.psk(&text).await), "bad-credentials", "its owner is gone");
    assert_eq!(world.hashes(), 0);
}

#[tokio::test]
async fn a_keys_use_is_noted_once_an_hour() {
    let world = World::new();
    let alice = world.account("alice", None).await;
    let (text, _) = world.key(&alice, Scopes::Read, None).await;
    for (after, noted) in [(0, 0), (1, 0), (3_599_999, 0), (3_600_000, 3_600_000), (3_700_000, 3_600_000)] {
        world.now.store(START.0 + after, Ordering::Relaxed);
        world.psk(&text).await.unwrap();
        // It is noted beside the request.
        for _ in 0..200 {
            if world.store.keys_of(alice.uid).await.unwrap()[0].used == Some(Millis(START.0 + noted)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let used = world.store.keys_of(alice.uid).await.unwrap()[0].used;
        assert_eq!(used, Some(Millis(START.0 + noted)), "after {after}");
    }
}

#[tokio::test]
async fn applications() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let (key, _) = world.key(&alice, Scopes::Read, None).await;
    let consumer = world.application().await;
    let named = world.ask(&[("servicepsk", &key), ("serviceconsumerkey", &consumer)], HERE).await.unwrap();
    assert_eq!(named.consumer.unwrap().key, consumer);

    let removed = world.application().await;
    world.store.remove_application(&removed, START).await.unwrap();
    for empty in ["", "\t"] {
        let asked = world.ask(&[("servicepsk", &key), ("serviceconsumerkey", empty)], HERE).await;
        assert!(asked.unwrap().consumer.is_none(), "{empty:?} is as if absent");
    }
    for wrong in ["tfc_unknown", &removed] {
        let asked = world.ask(&[("servicepsk", &key), ("serviceconsumerkey", wrong)], HERE).await;
        assert_eq!(reason(asked), "unknown-consumer", "{wrong:?}");
    }
    let wrong = basic("alice", "wrong");
    let asked = world.ask(&[("authorization", &wrong), ("serviceconsumerkey", "tfc_unknown")], HERE).await;
    assert_eq!(reason(asked), "bad-credentials");
    assert_eq!(reason(world.ask(&[("serviceconsumerkey", &consumer)], HERE).await), "missing");
}

#[tokio::test]
async fn an_application_may_be_asked_for() {
    let world = World::with(AuthSettings { require_consumer_key: true, ..AuthSettings::default() });
    let alice = world.account("alice", None).await;
    let (key, _) = world.key(&alice, Scopes::Read, None).await;
    let consumer = world.application().await;
    assert_eq!(reason(world.psk(&key).await), "missing-consumer");
    let empty = world.ask(&[("servicepsk", &key), ("serviceconsumerkey", "")], HERE).await;
    assert_eq!(reason(empty), "missing-consumer");
    assert_eq!(reason(world.psk("rubbish").await), "bad-credentials");
    assert_eq!(reason(world.ask(&[], HERE).await), "missing");
    world.ask(&[("servicepsk", &key), ("serviceconsumerkey", &consumer)], HERE).await.unwrap();
}
