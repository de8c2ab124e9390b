//! Authentication from headers to a principal, on a separate store.

mod audit;
mod people;
mod second_factor;
mod timing;

use super::*;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Account, AccountName, Application, Key, Millis, Scopes, Version};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use store::sqlite::{Options, SqliteStore};
use store::{Accounts, Credentials, NewAccount};

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
const START: Millis = Millis(1_700_000_000_000);

struct Fixture {
    auth: Arc<Auth>,
    accounts: AccountCache,
    store: Arc<SqliteStore>,
    now: Arc<AtomicI64>,
    folder: PathBuf,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with(AuthSettings::default())
    }

    fn with(settings: AuthSettings) -> Fixture {
        let name = seal::random_text::<8>("tofrom-auth-").unwrap();
        let folder = std::env::temp_dir().join(name.as_str());
        std::fs::create_dir(&folder).unwrap();
        let options = Options { synchronous_off: true, readers: 2, ..Options::default() };
        let store = Arc::new(SqliteStore::open(&folder.join("store"), options).unwrap());
        let now = Arc::new(AtomicI64::new(START.0));
        let current = Arc::clone(&now);
        let clock = Clock::from(move || Millis(current.load(Ordering::Relaxed)));
        let keys = Arc::new(SecretKeys::parse(["00".repeat(32)]).unwrap());
        let accounts = AccountCache::new(Arc::clone(&store) as Arc<dyn Store>);
        let shared = Arc::clone(&store) as Arc<dyn Store>;
        let audit = AuditLog::new(Arc::clone(&shared), clock.clone(), &keys, false).unwrap();
        let auth = Arc::new(Auth::new(shared, accounts.clone(), clock, keys, Arc::new(audit), settings));
        Fixture { auth, accounts, store, now, folder }
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

    /// A key's text, and the stored key.
    async fn key(&self, owner: &Account, scopes: Scopes, expires: Option<Millis>) -> (String, Key) {
        let generated = key::generate().unwrap();
        let (id, hash, name) = (generated.id, generated.hash, "test".to_owned());
        let (owner, created) = (owner.uid, START);
        let key =
            Key { id, hash, owner, name, scopes, created, expires, revoked: None, used: None, parent: None };
        self.store.add_key(&key).await.unwrap();
        (generated.text.to_string(), key)
    }

    async fn application(&self) -> String {
        let generated = application::generate().unwrap();
        let keys = SecretKeys::parse(["00".repeat(32)]).unwrap();
        let application = Application {
            key: generated.key.clone(),
            sealed_secret: generated.sealed_secret(&keys).unwrap(),
            name: "Test".to_owned(),
            callback: "oob".to_owned(),
            rsa_key: None,
            created: START,
            removed: None,
            owner: None,
        };
        self.store.add_application(&application).await.unwrap();
        generated.key
    }

    async fn ask(&self, lines: &[(&'static str, &str)], from: IpAddr) -> Result<Principal, AuthError> {
        let lines = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        let headers: HeaderMap = lines.collect();
        let authenticated = self.auth.authenticator.authenticate(&AuthRequest::plain(&headers, from)).await?;
        Ok(authenticated.principal)
    }

    async fn basic(&self, name: &str, password: &str) -> Result<Principal, AuthError> {
        self.ask(&[("authorization", &basic(name, password))], HERE).await
    }

    async fn psk(&self, text: &str) -> Result<Principal, AuthError> {
        self.ask(&[("servicepsk", text)], HERE).await
    }

    fn hashes(&self) -> u64 {
        self.auth.passwords.hashes_computed()
    }
}

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
}

fn reason(result: Result<Principal, AuthError>) -> &'static str {
    result.map(|principal| panic!("{principal:?}")).unwrap_err().reason()
}

#[tokio::test]
async fn a_right_password_is_hashed_once() {
    let fixture = Fixture::new();
    fixture.account("alice", Some("secret")).await;
    let ops = fixture.account("ops", Some("other secret")).await;
    for name in ["alice", "ALICE", "alice"] {
        let principal = fixture.basic(name, "secret").await.unwrap();
        assert_eq!(principal.account.name.as_str(), "alice");
        assert_eq!((&principal.method, principal.scopes), (&Method::Basic, Scopes::ReadWrite));
        assert!(!principal.is_operator() && principal.consumer.is_none());
    }
    assert_eq!(fixture.hashes(), 1);
    assert!(fixture.basic("ops", "other secret").await.unwrap().is_operator());
    assert_eq!(fixture.hashes(), 2);
    assert_eq!(fixture.basic("ops", "other secret").await.unwrap().account.uid, ops.uid);
    assert_eq!(fixture.hashes(), 2);
}

#[tokio::test]
async fn concurrent_requests_cost_one_hash_and_no_guess() {
    let fixture = Fixture::new();
    fixture.account("alice", Some("secret")).await;
    let result = futures::future::join_all((0..200).map(|_| fixture.basic("alice", "secret"))).await;
    assert!(result.iter().all(Result::is_ok));
    assert_eq!(fixture.hashes(), 1);
    let result = futures::future::join_all((0..200).map(|_| fixture.basic("alice", "wrong"))).await;
    let throttled = result.iter().filter(|one| matches!(one, Err(AuthError::Throttled { .. }))).count();
    assert_eq!(throttled, 170, "each is counted, although they share a hash");
}

#[tokio::test]
async fn all_wrong_credentials_get_the_same_error_at_the_same_cost() {
    let fixture = Fixture::new();
    fixture.account("alice", Some("secret")).await;
    fixture.account("nopassword", None).await;
    let gone = fixture.account("gone", Some("secret")).await;
    fixture.basic("gone", "secret").await.unwrap();
    fixture.change(&gone, |account| account.removed = true).await;
    let mut details = Vec::new();
    for (name, password) in
        [("alice", "wrong"), ("nobody", "secret"), ("nopassword", "secret"), ("gone", "secret"), ("é", "x")]
    {
        let before = fixture.hashes();
        let error = fixture.basic(name, password).await.unwrap_err();
        assert!(matches!(error, AuthError::BadCredentials), "{name}: {error:?}");
        assert_eq!(fixture.hashes(), before + 1, "{name}");
        details.push(error.detail());
    }
    details.dedup();
    assert_eq!(details.len(), 1);
}

#[tokio::test]
async fn a_changed_password_takes_effect() {
    let fixture = Fixture::new();
    assert_eq!(reason(fixture.basic("alice", "old").await), "bad-credentials");
    let alice = fixture.account("alice", Some("old")).await;
    fixture.basic("alice", "old").await.expect("a new account works immediately");
    fixture.change(&alice, |account| account.password = Some(password::hash("new").unwrap())).await;
    assert_eq!(reason(fixture.basic("alice", "old").await), "bad-credentials");
    fixture.basic("alice", "new").await.unwrap();
}

#[tokio::test]
async fn only_the_guessing_address_is_throttled() {
    let fixture = Fixture::new();
    fixture.account("alice", Some("secret")).await;
    fixture.account("bob", Some("secret")).await;
    fixture.basic("bob", "secret").await.unwrap();
    for _ in 0..30 {
        assert_eq!(reason(fixture.basic("alice", "wrong").await), "bad-credentials");
        assert_eq!(reason(fixture.basic("bob", "wrong").await), "bad-credentials");
    }
    let before = fixture.hashes();
    let error = fixture.basic("alice", "wrong").await.unwrap_err();
    assert!(matches!(error, AuthError::Throttled { retry_after_seconds: 3 }), "{error:?}");
    assert_eq!(reason(fixture.basic("alice", "secret").await), "throttled", "the password is not checked");
    assert_eq!(fixture.hashes(), before);
    assert_eq!(reason(fixture.basic("bob", "secret").await), "throttled", "a cached check is throttled too");
    let elsewhere = fixture.ask(&[("authorization", &basic("alice", "secret"))], ELSEWHERE).await;
    assert_eq!(elsewhere.unwrap().account.name.as_str(), "alice");
    fixture.now.fetch_add(3_000, Ordering::Relaxed);
    assert_eq!(reason(fixture.basic("alice", "wrong").await), "bad-credentials");
    assert_eq!(reason(fixture.basic("alice", "wrong").await), "throttled");
}

#[tokio::test]
async fn familiar_networks_and_browsers_can_sign_in_during_an_attack() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let (key, _) = fixture.key(&alice, Scopes::Read, None).await;
    let from = |last: u8| IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, last));
    let ask = async |name: &str, password: &str, from: IpAddr| {
        let result = fixture.ask(&[("authorization", &basic(name, password))], from).await;
        result.map_or_else(|error| error.reason(), |_| "in")
    };
    let browser = Browser { agent: "", remote: from(250), familiar: None };
    let sign_in = async |browser: Browser<'_>| {
        let signed_in = fixture.auth.sign_in.with_password("alice", "secret", &browser).await;
        signed_in.map(people::cookies).map_err(|error| error.reason())
    };
    assert_eq!(ask("alice", "secret", HERE).await, "in");
    let cookies = sign_in(browser).await.unwrap();
    let person = fixture.auth.sessions.open(&cookies.session).await.unwrap().unwrap();
    while store::Networks::networks_of(fixture.store.as_ref(), alice.uid).await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for name in ["alice", "nobody", "é"] {
        for number in 0..100 {
            assert_eq!(ask(name, "wrong", from(number)).await, "bad-credentials", "{name} {number}");
        }
        let before = fixture.hashes();
        assert_eq!(ask(name, "wrong", from(101)).await, "throttled");
        assert_eq!(ask(name, "secret", from(102)).await, "throttled", "a cached check is throttled too");
        assert_eq!(fixture.hashes(), before);
    }
    assert_eq!(ask("alice", "secret", HERE).await, "in");
    assert_eq!(ask("alice", "secret", from(250)).await, "in");
    let new = Browser { remote: from(251), ..browser };
    assert_eq!(sign_in(new).await.err(), Some("throttled"));
    assert_eq!(sign_in(Browser { familiar: Some("rubbish"), ..new }).await.err(), Some("throttled"));
    assert!(sign_in(Browser { familiar: Some(&cookies.familiar), ..new }).await.is_ok());
    assert!(
        fixture.auth.sign_in.check_password(&person, "secret", from(252)).await.is_ok(),
        "a signed-in person is not throttled"
    );
    fixture.ask(&[("servicepsk", &key)], from(253)).await.unwrap();

    // For a familiar network the limit of the address still applies.
    for _ in 0..30 {
        assert_eq!(ask("alice", "wrong", HERE).await, "bad-credentials");
    }
    assert_eq!(ask("alice", "secret", HERE).await, "throttled");
    fixture.now.fetch_add(36_000, Ordering::Relaxed);
    assert_eq!(ask("alice", "secret", from(254)).await, "in", "below the limit over all addresses");
}

#[tokio::test]
async fn wrong_keys_are_throttled_and_right_ones_are_not() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let (right, _) = fixture.key(&alice, Scopes::Read, None).await;
    for n in 0..300 {
        let wrong = if n % 2 == 0 { "rubbish".to_owned() } else { format!("tfk_{n:043}") };
        assert_eq!(reason(fixture.psk(&wrong).await), "bad-credentials", "{n}");
    }
    assert_eq!(reason(fixture.psk("rubbish").await), "throttled");
    assert_eq!(reason(fixture.basic("alice", "secret").await), "throttled", "the address has no guess left");
    assert_eq!(reason(fixture.ask(&[("authorization", "Basic !")], HERE).await), "malformed");
    fixture.psk(&right).await.unwrap();
}

#[tokio::test]
async fn a_key_is_valid_until_it_expires_or_is_revoked() {
    let fixture = Fixture::new();
    let ops = fixture.account("ops", None).await;
    let end = Millis(START.0 + 1_000);
    let (text, _) = fixture.key(&ops, Scopes::Read, Some(end)).await;
    let principal = fixture.psk(&text).await.unwrap();
    assert_eq!((principal.method.as_str(), principal.scopes), ("psk", Scopes::Read));
    assert!(principal.is_operator());
    fixture.now.store(end.0, Ordering::Relaxed);
    assert_eq!(reason(fixture.psk(&text).await), "bad-credentials", "expired, although cached");

    let (text, key) = fixture.key(&ops, Scopes::ReadWrite, None).await;
    fixture.store.revoke_key(ops.uid, key.id, end).await.unwrap();
    assert_eq!(reason(fixture.psk(&text).await), "bad-credentials", "revoked");

    let (text, _) = fixture.key(&ops, Scopes::ReadWrite, None).await;
    fixture.psk(&text).await.unwrap();
    fixture.change(&ops, |account| account.removed = true).await;
    assert_eq!(reason(fixture.psk(&text).await), "bad-credentials", "the owner was removed");
    assert_eq!(fixture.hashes(), 0);
}

#[tokio::test]
async fn the_use_of_a_key_is_recorded_once_an_hour() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", None).await;
    let (text, _) = fixture.key(&alice, Scopes::Read, None).await;
    for (after, recorded) in [(0, 0), (1, 0), (3_599_999, 0), (3_600_000, 3_600_000), (3_700_000, 3_600_000)]
    {
        fixture.now.store(START.0 + after, Ordering::Relaxed);
        fixture.psk(&text).await.unwrap();
        // The use is recorded in the background.
        for _ in 0..200 {
            if fixture.store.keys_of(alice.uid).await.unwrap()[0].used == Some(Millis(START.0 + recorded)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let used = fixture.store.keys_of(alice.uid).await.unwrap()[0].used;
        assert_eq!(used, Some(Millis(START.0 + recorded)), "after {after}");
    }
}

#[tokio::test]
async fn a_consumer_key_must_belong_to_a_live_application() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let (key, _) = fixture.key(&alice, Scopes::Read, None).await;
    let consumer = fixture.application().await;
    let named = fixture.ask(&[("servicepsk", &key), ("serviceconsumerkey", &consumer)], HERE).await.unwrap();
    assert_eq!(named.consumer.unwrap().key, consumer);

    let removed = fixture.application().await;
    fixture.store.remove_application(&removed, START).await.unwrap();
    for empty in ["", "\t"] {
        let result = fixture.ask(&[("servicepsk", &key), ("serviceconsumerkey", empty)], HERE).await;
        assert!(result.unwrap().consumer.is_none(), "{empty:?} counts as absent");
    }
    for wrong in ["tfc_unknown", &removed] {
        let result = fixture.ask(&[("servicepsk", &key), ("serviceconsumerkey", wrong)], HERE).await;
        assert_eq!(reason(result), "unknown-consumer", "{wrong:?}");
    }
    let wrong = basic("alice", "wrong");
    let result = fixture.ask(&[("authorization", &wrong), ("serviceconsumerkey", "tfc_unknown")], HERE).await;
    assert_eq!(reason(result), "bad-credentials");
    assert_eq!(reason(fixture.ask(&[("serviceconsumerkey", &consumer)], HERE).await), "missing");
}

#[tokio::test]
async fn a_consumer_key_can_be_required() {
    let fixture = Fixture::with(AuthSettings { require_consumer_key: true, ..AuthSettings::default() });
    let alice = fixture.account("alice", None).await;
    let (key, _) = fixture.key(&alice, Scopes::Read, None).await;
    let consumer = fixture.application().await;
    assert_eq!(reason(fixture.psk(&key).await), "missing-consumer");
    let empty = fixture.ask(&[("servicepsk", &key), ("serviceconsumerkey", "")], HERE).await;
    assert_eq!(reason(empty), "missing-consumer");
    assert_eq!(reason(fixture.psk("rubbish").await), "bad-credentials");
    assert_eq!(reason(fixture.ask(&[], HERE).await), "missing");
    fixture.ask(&[("servicepsk", &key), ("serviceconsumerkey", &consumer)], HERE).await.unwrap();
}
