//! Second factors and fresh sign-ins.

use super::people::cookies;
use super::*;
use totp_rs::{Algorithm, TOTP};
use zeroize::Zeroizing;

const BROWSER: Browser<'_> = Browser { agent: "Firefox", remote: HERE, familiar: None };

/// An account with a second factor, the secret of its device, and its recovery codes.
struct Device {
    totp: TOTP,
    recovery: Vec<Zeroizing<String>>,
    account: Account,
}

impl Device {
    async fn of(fixture: &Fixture, name: &str) -> Device {
        let account = fixture.account(name, Some("secret")).await;
        let cookie = cookies(fixture.auth.sign_in.with_password(name, "secret", &BROWSER).await.unwrap());
        let person = fixture.auth.sessions.open(&cookie.session).await.unwrap().unwrap();
        let setup = fixture.auth.second_factors.begin(&account, "feed.example:8443").unwrap();
        let totp = TOTP::from_url_unchecked(setup.address.as_str()).unwrap();
        assert_eq!(totp.get_secret_base32(), *setup.secret);
        assert_eq!((totp.algorithm, totp.digits, totp.step), (Algorithm::SHA1, 6, 30));
        let none = fixture.auth.second_factors.confirm(&person, &setup.sealed, "000000").await.unwrap();
        assert!(none.is_none(), "a wrong code");
        let code = totp.generate(fixture.seconds());
        let recovery =
            fixture.auth.second_factors.confirm(&person, &setup.sealed, &code).await.unwrap().unwrap();
        Device { totp, recovery, account }
    }

    fn code(&self, fixture: &Fixture) -> String {
        self.totp.generate(fixture.seconds())
    }
}

impl Fixture {
    fn seconds(&self) -> u64 {
        u64::try_from(self.now.load(Ordering::Relaxed) / 1_000).unwrap()
    }

    fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds * 1_000, Ordering::Relaxed);
    }

    async fn pending(&self, name: &str) -> String {
        match self.auth.sign_in.with_password(name, "secret", &BROWSER).await.unwrap() {
            SignInStep::Code(pending) => pending,
            SignInStep::Done(..) => panic!("no code is needed"),
        }
    }

    async fn with_code(&self, pending: &str, code: &str) -> Result<bool, &'static str> {
        let done = self.auth.sign_in.with_code(pending, code, &BROWSER).await;
        done.map(|done| done.is_some()).map_err(|error| error.reason())
    }
}

#[tokio::test]
async fn a_code_is_needed_and_counts_once() {
    let fixture = Fixture::new();
    let device = Device::of(&fixture, "alice").await;
    let pending = fixture.pending("alice").await;
    let code = device.code(&fixture);
    assert_eq!(fixture.with_code(&pending, &code).await, Err("bad-credentials"), "it confirmed the device");
    fixture.pass(30);
    let code = device.code(&fixture);
    assert_eq!(fixture.with_code(&pending, &format!("{} {}", &code[..3], &code[3..])).await, Ok(true));
    assert_eq!(fixture.with_code(&pending, &code).await, Err("bad-credentials"), "a second time");
    fixture.pass(90);
    assert_eq!(fixture.with_code(&pending, &code).await, Err("bad-credentials"), "an old code");
    fixture.pass(600);
    assert_eq!(
        fixture.with_code(&pending, &device.code(&fixture)).await,
        Ok(false),
        "the password is too long ago"
    );
    assert_eq!(fixture.with_code("", &device.code(&fixture)).await, Ok(false));
}

#[tokio::test]
async fn of_concurrent_sign_ins_with_one_code_one_succeeds() {
    let fixture = Fixture::new();
    let device = Device::of(&fixture, "alice").await;
    fixture.pass(30);
    let (pending, code) = (fixture.pending("alice").await, device.code(&fixture));
    let all = (0..8).map(|_| fixture.with_code(&pending, &code));
    let done = futures::future::join_all(all).await;
    assert_eq!(done.iter().filter(|done| **done == Ok(true)).count(), 1, "{done:?}");
}

#[tokio::test]
async fn a_recovery_code_counts_once() {
    let fixture = Fixture::new();
    let device = Device::of(&fixture, "alice").await;
    let pending = fixture.pending("alice").await;
    assert_eq!(device.recovery.len(), 10);
    assert_eq!(fixture.with_code(&pending, &device.recovery[3].to_uppercase()).await, Ok(true));
    assert_eq!(fixture.with_code(&pending, &device.recovery[3]).await, Err("bad-credentials"));
    let anew = fixture.auth.second_factors.renew_codes(device.account.uid).await.unwrap().unwrap();
    assert_eq!(fixture.with_code(&pending, &device.recovery[4]).await, Err("bad-credentials"));
    assert_eq!(fixture.with_code(&pending, &anew[0]).await, Ok(true));
}

#[tokio::test]
async fn wrong_codes_are_throttled() {
    let fixture = Fixture::new();
    let device = Device::of(&fixture, "alice").await;
    let pending = fixture.pending("alice").await;
    for _ in 0..10 {
        assert_eq!(fixture.with_code(&pending, "123456").await, Err("bad-credentials"));
    }
    fixture.pass(30);
    assert_eq!(
        fixture.with_code(&pending, &device.code(&fixture)).await,
        Err("throttled"),
        "even a right one"
    );
    fixture.pass(3_600);
    let pending = fixture.pending("alice").await;
    assert_eq!(fixture.with_code(&pending, &device.code(&fixture)).await, Ok(true));
}

#[tokio::test]
async fn a_second_factor_ends_other_sessions_and_does_not_reach_the_store_in_plain_text() {
    let fixture = Fixture::new();
    let account = fixture.account("bob", Some("secret")).await;
    let other = cookies(fixture.auth.sign_in.with_password("bob", "secret", &BROWSER).await.unwrap());
    let mine = cookies(fixture.auth.sign_in.with_password("bob", "secret", &BROWSER).await.unwrap());
    let person = fixture.auth.sessions.open(&mine.session).await.unwrap().unwrap();
    let setup = fixture.auth.second_factors.begin(&account, "x").unwrap();
    let totp = TOTP::from_url_unchecked(setup.address.as_str()).unwrap();
    let code = totp.generate(fixture.seconds());
    fixture.auth.second_factors.confirm(&person, &setup.sealed, &code).await.unwrap().unwrap();
    assert!(fixture.auth.sessions.open(&other.session).await.unwrap().is_none());
    assert!(fixture.auth.sessions.open(&mine.session).await.unwrap().is_some());
    let stored =
        store::SecondFactors::second_factor(fixture.store.as_ref(), account.uid).await.unwrap().unwrap();
    let sealed = stored.sealed_secret.unwrap();
    assert!(!sealed.windows(totp.secret.len()).any(|window| window == totp.secret));
}

#[tokio::test]
async fn an_account_may_refuse_its_password_on_the_api() {
    let fixture = Fixture::new();
    let device = Device::of(&fixture, "alice").await;
    let (key, _) = fixture.key(&device.account, Scopes::Read, None).await;
    assert!(fixture.basic("alice", "secret").await.is_ok(), "the API asks for no code");
    assert!(fixture.auth.second_factors.set_refuses_basic(device.account.uid, true).await.unwrap());
    let refused = fixture.basic("alice", "secret").await.map(drop).unwrap_err();
    assert_eq!(refused.reason(), "bad-credentials");
    assert!(fixture.ask(&[("servicepsk", &key)], HERE).await.is_ok());
    assert!(fixture.auth.second_factors.remove(device.account.uid).await.unwrap());
    assert!(fixture.basic("alice", "secret").await.is_ok());
    cookies(fixture.auth.sign_in.with_password("alice", "secret", &BROWSER).await.unwrap());
}

#[tokio::test]
async fn a_sign_in_is_fresh_for_15_minutes() {
    let fixture = Fixture::new();
    fixture.account("alice", Some("secret")).await;
    let first = cookies(fixture.auth.sign_in.with_password("alice", "secret", &BROWSER).await.unwrap());
    let person = fixture.auth.sessions.open(&first.session).await.unwrap().unwrap();
    let now = |fixture: &Fixture| Millis(fixture.now.load(Ordering::Relaxed));
    assert!(person.is_fresh(now(&fixture)));
    fixture.pass(15 * 60);
    assert!(!person.is_fresh(now(&fixture)));
    let wrong = fixture.auth.sign_in.again(&person, "wrong", &BROWSER).await.map(drop).unwrap_err();
    assert_eq!(wrong.reason(), "bad-credentials");
    let again = fixture.auth.sign_in.again(&person, "secret", &BROWSER).await.unwrap();
    assert!(fixture.auth.sessions.open(&first.session).await.unwrap().is_none(), "a new session replaces it");
    let person = fixture.auth.sessions.open(&again.session).await.unwrap().unwrap();
    assert!(person.is_fresh(now(&fixture)));
}
