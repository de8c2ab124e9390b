//! Sessions, passwords and tickets of people with a browser, and disabled accounts.

use super::*;
use model::{Purpose, Session};
use session::SignedIn;
use store::{Sessions as _, Store, change_account};
use zeroize::Zeroizing;

/// A password that is strong enough.
const STRONG: &str = "tidal lantern quorum fig";
const LAPTOP: &str = "Firefox on a laptop";
const BROWSER: Browser<'_> = Browser { agent: LAPTOP, remote: HERE, familiar: None };

/// The cookies of a sign-in without a second factor.
pub(super) fn cookies(step: SignInStep) -> Cookies {
    match step {
        SignInStep::Done(_, cookies) => cookies,
        SignInStep::Code(_) => panic!("a code is needed"),
    }
}

impl Fixture {
    async fn signed_in(&self, cookie: &str) -> Option<SignedIn> {
        self.auth.sessions.open(cookie).await.unwrap()
    }

    async fn sign_in(&self, name: &str, password: &str) -> Result<Zeroizing<String>, AuthError> {
        Ok(cookies(self.auth.sign_in.with_password(name, password, &BROWSER).await?).session)
    }

    async fn sign_up(
        &self,
        ticket: &str,
        name: &str,
        password: &str,
    ) -> Result<Zeroizing<String>, SignUpError> {
        let result = self.auth.sign_up.accept_invitation(ticket, name, " Ada ", "", password, &BROWSER);
        Ok(result.await?.session)
    }

    async fn register(&self, name: &str) -> Result<Zeroizing<String>, SignUpError> {
        Ok(self.auth.sign_up.register(name, "", "", STRONG, &BROWSER).await?.session)
    }

    async fn found(&self, name: &str) -> Option<Account> {
        self.store.account_by_name(&AccountName::parse(name).unwrap()).await.unwrap()
    }
}

fn devices(sessions: &[Session]) -> Vec<&str> {
    sessions.iter().map(|session| session.device.as_str()).collect()
}

#[tokio::test]
async fn no_credential_works_for_a_disabled_account() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let (key, _) = fixture.key(&alice, Scopes::Read, None).await;
    let cookie = fixture.sign_in("alice", "secret").await.unwrap();
    let (by_password, by_key) =
        (fixture.basic("alice", "secret").await.unwrap(), fixture.psk(&key).await.unwrap());
    let clock = Clock::from(|| Millis(START.0 + 1));
    fixture.accounts.change(&clock, alice.uid, |account| account.set_disabled(true)).await.unwrap().unwrap();
    assert_eq!(reason(fixture.basic("alice", "secret").await), "bad-credentials");
    assert_eq!(reason(fixture.psk(&key).await), "bad-credentials");
    assert!(fixture.sign_in("alice", "secret").await.is_err());
    assert!(fixture.signed_in(&cookie).await.is_none());
    for principal in [&by_password, &by_key] {
        assert!(
            fixture.auth.authenticator.revalidate(principal).await.unwrap().is_none(),
            "streams of the account end"
        );
    }
    fixture.accounts.change(&clock, alice.uid, |account| account.set_disabled(false)).await.unwrap().unwrap();
    assert!(fixture.basic("alice", "secret").await.is_ok());
    assert!(fixture.psk(&key).await.is_ok());
    assert!(fixture.signed_in(&cookie).await.is_none(), "the session stays ended");
    let cookie = fixture.sign_in("alice", "secret").await.unwrap();
    assert!(fixture.signed_in(&cookie).await.is_some());
}

/// Another process disables and enables the account; this process still has the old account in its cache.
#[tokio::test]
async fn disabling_ends_sessions_despite_a_cached_account() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let cookie = fixture.sign_in("alice", "secret").await.unwrap();
    assert!(fixture.signed_in(&cookie).await.is_some());
    let clock = Clock::from(|| START);
    for disabled in [true, false] {
        let set = |account: &mut Account| account.set_disabled(disabled);
        change_account(fixture.store.as_ref(), &clock, alice.uid, set).await.unwrap().unwrap();
    }
    let disabled = fixture.found("alice").await.unwrap();
    assert_eq!((disabled.disabled, disabled.credential_epoch), (false, 1));
    // A session that another process started since is valid here, although this process has cached the old account.
    let new =
        Session { hash: [7; 32], epoch: 1, ..fixture.store.sessions_of(alice.uid).await.unwrap().remove(0) };
    fixture.store.add_session(&new).await.unwrap();
    let remembered = fixture.accounts.get(alice.uid).await.unwrap().unwrap();
    assert_eq!(remembered.credential_epoch, 0);
    let read_again = fixture.accounts.get_in_epoch(alice.uid, 1).await.unwrap().unwrap();
    assert_eq!(read_again.credential_epoch, 1);
    assert!(fixture.signed_in(&cookie).await.is_none());
    remove_ended(fixture.store.as_ref(), &clock, &disabled).await;
    assert_eq!(fixture.store.sessions_of(alice.uid).await.unwrap(), [new], "only ended sessions are removed");
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_when_it_is_old() {
    let fixture = Fixture::new();
    fixture.account("alice", Some("secret")).await;
    let [idle, max_age, hour] = [session::IDLE_TIMEOUT, session::MAX_AGE, Duration::from_secs(3_600)]
        .map(|duration| i64::try_from(duration.as_millis()).unwrap());
    let at = |time: i64| fixture.now.store(START.0 + time, Ordering::Relaxed);
    let recorded = |cookie: &str, used: i64| {
        let hash = seal::sha256(cookie.as_bytes());
        let store = Arc::clone(&fixture.store);
        async move {
            for _ in 0..200 {
                if store.session(&hash).await.unwrap().unwrap().used.0 == START.0 + used {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            panic!("the use at {used} was not recorded");
        }
    };
    let (left, used) = (
        fixture.sign_in("alice", "secret").await.unwrap(),
        fixture.sign_in("alice", "secret").await.unwrap(),
    );
    // The use after 59 minutes is not recorded, but still keeps the session alive.
    at(hour - 60_000);
    assert!(fixture.signed_in(&left).await.is_some());
    at(idle + hour - 60_000 - 1);
    assert!(fixture.signed_in(&used).await.is_some(), "idle for less than the timeout");
    recorded(&used, idle + hour - 60_000 - 1).await;
    at(idle + hour);
    assert!(fixture.signed_in(&left).await.is_none(), "idle for longer than the timeout");
    let mut time = 2 * idle;
    while time < max_age {
        at(time);
        assert!(fixture.signed_in(&used).await.is_some(), "{time}");
        recorded(&used, time).await;
        time += idle;
    }
    at(max_age - 1);
    assert!(fixture.signed_in(&used).await.is_some(), "used regularly");
    at(max_age);
    assert!(fixture.signed_in(&used).await.is_none(), "too old, although used");
    // A session that may still be valid is not deleted.
    fixture.store.forget_expired(Millis(START.0 + max_age - 1)).await.unwrap();
    assert!(fixture.store.session(&seal::sha256(used.as_bytes())).await.unwrap().is_some());
}

#[tokio::test]
async fn a_password_change_revokes_keys_on_request() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let (key, _) = fixture.key(&alice, Scopes::Read, None).await;
    assert!(fixture.psk(&key).await.is_ok());
    let here = fixture.sign_in("alice", "secret").await.unwrap();
    let person = fixture.signed_in(&here).await.unwrap();
    let change = |old: &'static str, new: &'static str, revoke| {
        fixture.auth.password_change.change(&person, old, new, revoke, &BROWSER)
    };
    change("secret", STRONG, false).await.unwrap();
    assert!(fixture.psk(&key).await.is_ok());
    let cookie = change(STRONG, "copper walrus meridian", true).await.unwrap().session;
    assert_eq!(reason(fixture.psk(&key).await), "bad-credentials");
    assert!(fixture.signed_in(&cookie).await.is_some());
    assert!(fixture.basic("alice", "copper walrus meridian").await.is_ok());
}

#[tokio::test]
async fn sessions_can_be_seen_and_ended() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let bob = fixture.account("bob", Some("secret")).await;
    let first = fixture.sign_in("alice", "secret").await.unwrap();
    fixture.now.fetch_add(1, Ordering::Relaxed);
    let phone = Browser { agent: "a phone\r\n", ..BROWSER };
    let phone = fixture.auth.sign_in.with_password("alice", "secret", &phone).await.unwrap();
    let phone = cookies(phone).session;
    let sessions = fixture.auth.sessions.of(&alice).await.unwrap();
    assert_eq!(devices(&sessions), ["a phone", LAPTOP]);
    let here = fixture.signed_in(&phone).await.unwrap();
    assert_eq!(here.session_id(), session::public_id(&sessions[0]));
    assert_eq!(here.session_id().len(), 16);

    let other = session::public_id(&sessions[1]);
    assert!(!fixture.auth.sessions.end_of(&bob, &other).await.unwrap(), "the session of another account");
    assert!(!fixture.auth.sessions.end_of(&alice, "").await.unwrap());
    assert!(fixture.auth.sessions.end_of(&alice, &other).await.unwrap());
    assert!(fixture.signed_in(&first).await.is_none());
    assert_eq!(devices(&fixture.auth.sessions.of(&alice).await.unwrap()), ["a phone"]);
    let max_age = i64::try_from(session::MAX_AGE.as_millis()).unwrap();
    fixture.now.fetch_add(max_age, Ordering::Relaxed);
    assert!(fixture.auth.sessions.of(&alice).await.unwrap().is_empty(), "the session is too old");
}

#[tokio::test]
async fn the_use_of_a_session_is_recorded_once_an_hour() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let cookie = fixture.sign_in("alice", "secret").await.unwrap();
    for (minutes, recorded) in [(30, 0), (31, 61), (30, 61)] {
        fixture.now.fetch_add(minutes * 60_000, Ordering::Relaxed);
        fixture.signed_in(&cookie).await.unwrap();
        // The use is recorded in the background.
        for _ in 0..200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let used = fixture.store.sessions_of(alice.uid).await.unwrap()[0].used;
            if used.0 == START.0 + recorded * 60_000 {
                break;
            }
        }
        let used = fixture.store.sessions_of(alice.uid).await.unwrap()[0].used;
        assert_eq!(used.0, START.0 + recorded * 60_000);
    }
}

#[tokio::test]
async fn a_password_change_ends_all_other_sessions() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("secret")).await;
    let (here, there) = (
        fixture.sign_in("alice", "secret").await.unwrap(),
        fixture.sign_in("alice", "secret").await.unwrap(),
    );
    let person = fixture.signed_in(&here).await.unwrap();
    let change = |old: &'static str, new: &'static str| {
        fixture.auth.password_change.change(&person, old, new, false, &BROWSER)
    };
    assert!(matches!(change("wrong", STRONG).await, Err(PasswordChangeError::Wrong)));
    assert!(matches!(change("secret", "").await, Err(PasswordChangeError::Weak(_))));
    assert!(fixture.signed_in(&there).await.is_some());
    let cookie = change("secret", STRONG).await.unwrap().session;
    assert!(fixture.signed_in(&cookie).await.is_some());
    assert!(fixture.signed_in(&here).await.is_none() && fixture.signed_in(&there).await.is_none());
    let changed = fixture.found("alice").await.unwrap();
    assert_eq!(fixture.auth.sessions.of(&changed).await.unwrap().len(), 1);
    assert!(fixture.basic("alice", STRONG).await.is_ok());
    assert_eq!(reason(fixture.basic("alice", "secret").await), "bad-credentials");

    // Another server still has the old account in its cache.
    fixture.accounts.remember(alice);
    assert!(fixture.signed_in(&cookie).await.is_some());
    let person = fixture.signed_in(&cookie).await.unwrap();
    for _ in 0..40 {
        let _ = fixture.auth.password_change.change(&person, "wrong", STRONG, false, &BROWSER).await;
    }
    let throttled = fixture.auth.password_change.change(&person, "wrong", STRONG, false, &BROWSER).await;
    assert!(matches!(throttled, Err(PasswordChangeError::AuthError(AuthError::Throttled { .. }))));
}

#[tokio::test]
async fn signing_in_rehashes_an_outdated_password_and_keeps_sessions() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", None).await;
    let old = password::outdated_hash("secret");
    fixture.change(&alice, |account| account.password = Some(old.clone())).await;
    let basic = fixture.basic("alice", "secret").await.unwrap();
    assert_eq!(
        fixture.found("alice").await.unwrap().password.as_ref(),
        Some(&old),
        "an API request does not rehash"
    );
    let session = fixture.auth.sessions.start(&fixture.found("alice").await.unwrap(), LAPTOP).await.unwrap();
    let new = fixture.sign_in("alice", "secret").await.unwrap();
    let stored = fixture.found("alice").await.unwrap().password.unwrap();
    assert!(!password::is_outdated(&stored) && password::verify("secret", &stored));
    for cookie in [&session, &new] {
        assert!(fixture.signed_in(cookie).await.is_some(), "both sessions stay valid");
    }
    assert!(fixture.auth.authenticator.revalidate(&basic).await.unwrap().is_some(), "a stream continues");
    let hashes = fixture.hashes();
    fixture.sign_in("alice", "secret").await.unwrap();
    assert_eq!(fixture.hashes(), hashes, "the check is cached, and the hash is current");
    assert_eq!(fixture.found("alice").await.unwrap().password.as_ref(), Some(&stored));
}

#[tokio::test]
async fn an_invitation_creates_one_account() {
    let fixture = Fixture::new();
    let ops = fixture.account("ops", None).await;
    let (ticket, stored_ticket) = fixture.auth.tickets.invite(Some(ops.uid)).await.unwrap();
    assert_eq!((stored_ticket.purpose, stored_ticket.by), (Purpose::Invitation, Some(ops.uid)));
    assert_eq!(fixture.auth.tickets.get(&ticket).await.unwrap(), Some(stored_ticket));
    assert!(matches!(fixture.sign_up(&ticket, "a b", STRONG).await, Err(SignUpError::BadName(_))));
    assert!(matches!(fixture.sign_up(&ticket, "OPS", STRONG).await, Err(SignUpError::NameTaken)));
    assert!(matches!(fixture.sign_up(&ticket, "ada", "").await, Err(SignUpError::Weak(_))));
    assert!(matches!(fixture.sign_up("tfl_wrong", "ada", STRONG).await, Err(SignUpError::NoTicket)));
    assert!(fixture.found("ada").await.is_none(), "a failed sign-up creates no account");
    let long = "x".repeat(101);
    let result = fixture.auth.sign_up.accept_invitation(&ticket, "ada", &long, "", STRONG, &BROWSER).await;
    assert!(matches!(result, Err(SignUpError::BadPersonName(_))));

    let cookie = fixture.sign_up(&ticket, "Ada", STRONG).await.unwrap();
    let person = fixture.signed_in(&cookie).await.unwrap();
    assert_eq!(person.account.name.as_str(), "ada");
    assert_eq!((person.account.given_name.as_deref(), &person.account.family_name), (Some("Ada"), &None));
    assert!(!person.account.public && !person.account.operator);
    assert!(fixture.basic("ada", STRONG).await.is_ok());
    assert_eq!(fixture.auth.tickets.get(&ticket).await.unwrap(), None);
    assert!(matches!(fixture.sign_up(&ticket, "eve", STRONG).await, Err(SignUpError::NoTicket)));
    assert!(fixture.found("eve").await.is_none());
}

#[tokio::test]
async fn concurrent_uses_of_an_invitation_create_one_account() {
    let fixture = Fixture::new();
    let (ticket, _) = fixture.auth.tickets.invite(None).await.unwrap();
    let names: Vec<String> = (0..6).map(|number| format!("ada{number}")).collect();
    let result =
        futures::future::join_all(names.iter().map(|name| fixture.sign_up(&ticket, name, STRONG))).await;
    assert_eq!(result.iter().filter(|result| result.is_ok()).count(), 1);
    let mut usable = 0;
    for name in &names {
        let account = fixture.found(name).await;
        usable += usize::from(account.is_some_and(|account| account.may_act() && account.password.is_some()));
    }
    assert_eq!(usable, 1);
}

#[tokio::test]
async fn a_link_sets_a_new_password_once() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", Some("forgotten")).await;
    let before = fixture.sign_in("alice", "forgotten").await.unwrap();
    let (ticket, _) = fixture.auth.tickets.reset_link(alice.uid, None).await.unwrap();
    let (invitation, _) = fixture.auth.tickets.invite(None).await.unwrap();
    let reset = |ticket: &str, new: &'static str| {
        let ticket = ticket.to_owned();
        let auth = Arc::clone(&fixture.auth);
        async move { auth.password_change.reset(&ticket, new, &BROWSER).await }
    };
    assert!(
        matches!(reset(&invitation, STRONG).await, Err(PasswordResetError::NoTicket)),
        "an invitation resets no password"
    );
    assert!(
        matches!(fixture.sign_up(&ticket, "ada", STRONG).await, Err(SignUpError::NoTicket)),
        "a reset link is no invitation"
    );
    assert!(matches!(reset(&ticket, "").await, Err(PasswordResetError::Weak(_))));
    let cookie = cookies(reset(&ticket, STRONG).await.unwrap()).session;
    assert!(fixture.signed_in(&cookie).await.is_some() && fixture.signed_in(&before).await.is_none());
    assert!(fixture.basic("alice", STRONG).await.is_ok());
    assert!(matches!(reset(&ticket, STRONG).await, Err(PasswordResetError::NoTicket)));

    let (late, _) = fixture.auth.tickets.reset_link(alice.uid, None).await.unwrap();
    fixture.now.fetch_add(24 * 60 * 60 * 1_000, Ordering::Relaxed);
    assert!(matches!(reset(&late, STRONG).await, Err(PasswordResetError::NoTicket)), "expired after a day");
    let (ticket, _) = fixture.auth.tickets.reset_link(alice.uid, None).await.unwrap();
    let alice = fixture.found("alice").await.unwrap();
    fixture.change(&alice, |account| account.disabled = true).await;
    assert!(
        matches!(reset(&ticket, STRONG).await, Err(PasswordResetError::NoTicket)),
        "the account is disabled"
    );
}

#[tokio::test]
async fn registration_is_closed_unless_it_is_opened() {
    assert!(matches!(Fixture::new().register("ada").await, Err(SignUpError::Closed)));
    let fixture = Fixture::with(AuthSettings { open_registration: true, ..AuthSettings::default() });
    assert!(fixture.auth.sign_up.is_open);
    let cookie = fixture.register("ada").await.unwrap();
    assert_eq!(fixture.signed_in(&cookie).await.unwrap().account.name.as_str(), "ada");
    let mut taken = 0;
    let throttled = loop {
        match fixture.register("ada").await {
            Err(SignUpError::NameTaken) => taken += 1,
            other => break other,
        }
    };
    assert!(matches!(throttled, Err(SignUpError::AuthError(AuthError::Throttled { .. }))));
    assert_eq!(taken, 19);
    let elsewhere =
        fixture.auth.sign_up.register("eve", "", "", STRONG, &Browser { remote: ELSEWHERE, ..BROWSER }).await;
    assert!(elsewhere.is_ok());
}
