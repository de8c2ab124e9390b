//! People with a browser: their sessions, passwords and tickets, and accounts that an operator disabled.

use super::*;
use crate::accounts;
use model::{Purpose, Session};
use store::Grants;

/// Strong enough to be set.
const STRONG: &str = "tidal lantern quorum fig";
const LAPTOP: &str = "Firefox on a laptop";
const BROWSER: Browser<'_> = Browser { agent: LAPTOP, remote: HERE, familiar: None };

impl World {
    async fn signed_in(&self, cookie: &str) -> Option<SignedIn> {
        self.authenticator.signed_in(cookie).await.unwrap()
    }

    async fn sign_in(&self, name: &str, password: &str) -> Result<Zeroizing<String>, AuthError> {
        Ok(self.authenticator.sign_in(name, password, &BROWSER).await?.session)
    }

    async fn join(&self, ticket: &str, name: &str, password: &str) -> Result<Zeroizing<String>, Joining> {
        let joined = self.authenticator.accept_invitation(ticket, name, " Ada ", "", password, &BROWSER);
        Ok(joined.await?.session)
    }

    async fn register(&self, name: &str) -> Result<Zeroizing<String>, Joining> {
        Ok(self.authenticator.register(name, "", "", STRONG, &BROWSER).await?.session)
    }

    async fn found(&self, name: &str) -> Option<Account> {
        self.store.account_by_name(&AccountName::parse(name).unwrap()).await.unwrap()
    }
}

fn devices(sessions: &[Session]) -> Vec<&str> {
    sessions.iter().map(|session| session.device.as_str()).collect()
}

#[tokio::test]
async fn a_disabled_account_is_opened_by_nothing() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let (key, _) = world.key(&alice, Scopes::Read, None).await;
    let cookie = world.sign_in("alice", "secret").await.unwrap();
    let (by_password, by_key) =
        (world.basic("alice", "secret").await.unwrap(), world.psk(&key).await.unwrap());
    let clock = Clock::from(|| Millis(START.0 + 1));
    world.accounts.change(&clock, alice.uid, |account| account.set_disabled(true)).await.unwrap().unwrap();
    assert_eq!(reason(world.basic("alice", "secret").await), "bad-credentials");
    assert_eq!(reason(world.psk(&key).await), "bad-credentials");
    assert!(world.sign_in("alice", "secret").await.is_err());
    assert!(world.signed_in(&cookie).await.is_none());
    for principal in [&by_password, &by_key] {
        assert!(world.authenticator.still(principal).await.unwrap().is_none(), "its streams end");
    }
    world.accounts.change(&clock, alice.uid, |account| account.set_disabled(false)).await.unwrap().unwrap();
    assert!(world.basic("alice", "secret").await.is_ok());
    assert!(world.psk(&key).await.is_ok());
    assert!(world.signed_in(&cookie).await.is_none(), "it ended for good");
    let cookie = world.sign_in("alice", "secret").await.unwrap();
    assert!(world.signed_in(&cookie).await.is_some());
}

/// Another process disables and enables at once; this one remembers the account as it was before, for a moment.
#[tokio::test]
async fn what_was_disabled_in_between_has_ended() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let cookie = world.sign_in("alice", "secret").await.unwrap();
    assert!(world.signed_in(&cookie).await.is_some());
    let clock = Clock::from(|| START);
    for disabled in [true, false] {
        let set = |account: &mut Account| account.set_disabled(disabled);
        accounts::change(world.store.as_ref(), &clock, alice.uid, set).await.unwrap().unwrap();
    }
    let disabled = world.found("alice").await.unwrap();
    assert_eq!((disabled.disabled, disabled.credential_epoch), (false, 1));
    // A session that another process began since counts here, though this one remembers the account of before.
    let new =
        Session { hash: [7; 32], epoch: 1, ..world.store.sessions_of(alice.uid).await.unwrap().remove(0) };
    world.store.add_session(&new).await.unwrap();
    let remembered = world.accounts.get(alice.uid).await.unwrap().unwrap();
    assert_eq!(remembered.credential_epoch, 0);
    let read_again = world.accounts.get_in_epoch(alice.uid, 1).await.unwrap().unwrap();
    assert_eq!(read_again.credential_epoch, 1);
    assert!(world.signed_in(&cookie).await.is_none());
    accounts::remove_ended(world.store.as_ref(), &clock, &disabled).await;
    assert_eq!(world.store.sessions_of(alice.uid).await.unwrap(), [new], "only what ended is removed");
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_when_it_is_old() {
    let world = World::new();
    world.account("alice", Some("secret")).await;
    let [idle, lives, hour] = [session::IDLE, session::LIVES, Duration::from_secs(3_600)]
        .map(|one| i64::try_from(one.as_millis()).unwrap());
    let at = |time: i64| world.now.store(START.0 + time, Ordering::Relaxed);
    let noted = |cookie: &str, used: i64| {
        let hash = primitives::sha256(cookie.as_bytes());
        let store = Arc::clone(&world.store);
        async move {
            for _ in 0..200 {
                if store.session(&hash).await.unwrap().unwrap().used.0 == START.0 + used {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            panic!("the use at {used} was not noted");
        }
    };
    let (left, used) =
        (world.sign_in("alice", "secret").await.unwrap(), world.sign_in("alice", "secret").await.unwrap());
    // The use after 59 minutes is not noted, and must count all the same.
    at(hour - 60_000);
    assert!(world.signed_in(&left).await.is_some());
    at(idle + hour - 60_000 - 1);
    assert!(world.signed_in(&used).await.is_some(), "idle for less than it may be");
    noted(&used, idle + hour - 60_000 - 1).await;
    at(idle + hour);
    assert!(world.signed_in(&left).await.is_none(), "idle for too long");
    let mut time = 2 * idle;
    while time < lives {
        at(time);
        assert!(world.signed_in(&used).await.is_some(), "{time}");
        noted(&used, time).await;
        time += idle;
    }
    at(lives - 1);
    assert!(world.signed_in(&used).await.is_some(), "used all the time");
    at(lives);
    assert!(world.signed_in(&used).await.is_none(), "old, however much it is used");
    // What may still count is not swept.
    world.store.forget_expired(Millis(START.0 + lives - 1)).await.unwrap();
    assert!(world.store.session(&primitives::sha256(used.as_bytes())).await.unwrap().is_some());
}

#[tokio::test]
async fn a_new_password_revokes_keys_if_asked_to() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let (key, _) = world.key(&alice, Scopes::Read, None).await;
    assert!(world.psk(&key).await.is_ok());
    let here = world.sign_in("alice", "secret").await.unwrap();
    let person = world.signed_in(&here).await.unwrap();
    let change = |old: &'static str, new: &'static str, revoke| {
        world.authenticator.change_password(&person, old, new, revoke, &BROWSER)
    };
    change("secret", STRONG, false).await.unwrap();
    assert!(world.psk(&key).await.is_ok());
    let cookie = change(STRONG, "copper walrus meridian", true).await.unwrap().session;
    assert_eq!(reason(world.psk(&key).await), "bad-credentials");
    assert!(world.signed_in(&cookie).await.is_some());
    assert!(world.basic("alice", "copper walrus meridian").await.is_ok());
}

#[tokio::test]
async fn sessions_can_be_seen_and_ended() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let bob = world.account("bob", Some("secret")).await;
    let first = world.sign_in("alice", "secret").await.unwrap();
    world.now.fetch_add(1, Ordering::Relaxed);
    let phone = world
        .authenticator
        .sign_in("alice", "secret", &Browser { agent: "a phone\r\n", ..BROWSER })
        .await
        .unwrap()
        .session;
    let sessions = world.authenticator.sessions_of(&alice).await.unwrap();
    assert_eq!(devices(&sessions), ["a phone", LAPTOP]);
    let here = world.signed_in(&phone).await.unwrap();
    assert_eq!(here.session_id(), session::public_id(&sessions[0]));
    assert_eq!(here.session_id().len(), 16);

    let other = session::public_id(&sessions[1]);
    assert!(!world.authenticator.end_session_of(&bob, &other).await.unwrap(), "somebody else's");
    assert!(!world.authenticator.end_session_of(&alice, "").await.unwrap());
    assert!(world.authenticator.end_session_of(&alice, &other).await.unwrap());
    assert!(world.signed_in(&first).await.is_none());
    assert_eq!(devices(&world.authenticator.sessions_of(&alice).await.unwrap()), ["a phone"]);
    let lives = i64::try_from(session::LIVES.as_millis()).unwrap();
    world.now.fetch_add(lives, Ordering::Relaxed);
    assert!(world.authenticator.sessions_of(&alice).await.unwrap().is_empty(), "its time is over");
}

#[tokio::test]
async fn the_use_of_a_session_is_noted_now_and_then() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let cookie = world.sign_in("alice", "secret").await.unwrap();
    for (minutes, noted) in [(30, 0), (31, 61), (30, 61)] {
        world.now.fetch_add(minutes * 60_000, Ordering::Relaxed);
        world.signed_in(&cookie).await.unwrap();
        // It is noted beside the request.
        for _ in 0..200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            let used = world.store.sessions_of(alice.uid).await.unwrap()[0].used;
            if used.0 == START.0 + noted * 60_000 {
                break;
            }
        }
        let used = world.store.sessions_of(alice.uid).await.unwrap()[0].used;
        assert_eq!(used.0, START.0 + noted * 60_000);
    }
}

#[tokio::test]
async fn a_changed_password_ends_all_sessions_but_a_new_one() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let (here, there) =
        (world.sign_in("alice", "secret").await.unwrap(), world.sign_in("alice", "secret").await.unwrap());
    let person = world.signed_in(&here).await.unwrap();
    let change = |old: &'static str, new: &'static str| {
        world.authenticator.change_password(&person, old, new, false, &BROWSER)
    };
    assert!(matches!(change("wrong", STRONG).await, Err(PasswordChange::Wrong)));
    assert!(matches!(change("secret", "").await, Err(PasswordChange::Weak(_))));
    assert!(world.signed_in(&there).await.is_some());
    let cookie = change("secret", STRONG).await.unwrap().session;
    assert!(world.signed_in(&cookie).await.is_some());
    assert!(world.signed_in(&here).await.is_none() && world.signed_in(&there).await.is_none());
    let changed = world.found("alice").await.unwrap();
    assert_eq!(world.authenticator.sessions_of(&changed).await.unwrap().len(), 1);
    assert!(world.basic("alice", STRONG).await.is_ok());
    assert_eq!(reason(world.basic("alice", "secret").await), "bad-credentials");

    // Another node remembers the account as it was, for a moment.
    world.accounts.remember(alice);
    assert!(world.signed_in(&cookie).await.is_some());
    let person = world.signed_in(&cookie).await.unwrap();
    for _ in 0..40 {
        let _ = world.authenticator.change_password(&person, "wrong", STRONG, false, &BROWSER).await;
    }
    let throttled = world.authenticator.change_password(&person, "wrong", STRONG, false, &BROWSER).await;
    assert!(matches!(throttled, Err(PasswordChange::AuthError(AuthError::Throttled { .. }))));
}

#[tokio::test]
async fn signing_in_hashes_an_outdated_password_anew_and_ends_nothing() {
    let world = World::new();
    let alice = world.account("alice", None).await;
    let old = password::outdated_hash("secret");
    world.change(&alice, |account| account.password = Some(old.clone())).await;
    let basic = world.basic("alice", "secret").await.unwrap();
    assert_eq!(
        world.found("alice").await.unwrap().password.as_ref(),
        Some(&old),
        "a request changes nothing"
    );
    let session =
        world.authenticator.sessions.begin(&world.found("alice").await.unwrap(), LAPTOP).await.unwrap();
    let new = world.sign_in("alice", "secret").await.unwrap();
    let stored = world.found("alice").await.unwrap().password.unwrap();
    assert!(!password::is_outdated(&stored) && password::verify("secret", &stored));
    for cookie in [&session, &new] {
        assert!(world.signed_in(cookie).await.is_some(), "both sessions go on");
    }
    assert!(world.authenticator.still(&basic).await.unwrap().is_some(), "so does a stream");
    let hashes = world.hashes();
    world.sign_in("alice", "secret").await.unwrap();
    assert_eq!(world.hashes(), hashes, "it is still remembered, and nothing is left to do");
    assert_eq!(world.found("alice").await.unwrap().password.as_ref(), Some(&stored));
}

#[tokio::test]
async fn an_invitation_makes_one_account() {
    let world = World::new();
    let ops = world.account("ops", None).await;
    let (ticket, kept) = world.authenticator.invite(Some(ops.uid)).await.unwrap();
    assert_eq!((kept.purpose, kept.by), (Purpose::Invitation, Some(ops.uid)));
    assert_eq!(world.authenticator.ticket(&ticket).await.unwrap(), Some(kept));
    assert!(matches!(world.join(&ticket, "a b", STRONG).await, Err(Joining::BadName(_))));
    assert!(matches!(world.join(&ticket, "OPS", STRONG).await, Err(Joining::NameTaken)));
    assert!(matches!(world.join(&ticket, "ada", "").await, Err(Joining::Weak(_))));
    assert!(matches!(world.join("tfl_wrong", "ada", STRONG).await, Err(Joining::NoTicket)));
    assert!(world.found("ada").await.is_none(), "a refusal leaves nothing behind");
    let long = "x".repeat(101);
    let joined = world.authenticator.accept_invitation(&ticket, "ada", &long, "", STRONG, &BROWSER).await;
    assert!(matches!(joined, Err(Joining::BadPersonName(_))));

    let cookie = world.join(&ticket, "Ada", STRONG).await.unwrap();
    let person = world.signed_in(&cookie).await.unwrap();
    assert_eq!(person.account.name.as_str(), "ada");
    assert_eq!((person.account.given_name.as_deref(), &person.account.family_name), (Some("Ada"), &None));
    assert!(!person.account.public && !person.account.operator);
    assert!(world.basic("ada", STRONG).await.is_ok());
    assert_eq!(world.authenticator.ticket(&ticket).await.unwrap(), None);
    assert!(matches!(world.join(&ticket, "eve", STRONG).await, Err(Joining::NoTicket)));
    assert!(world.found("eve").await.is_none());
}

#[tokio::test]
async fn of_many_who_bring_one_invitation_one_gets_in() {
    let world = World::new();
    let (ticket, _) = world.authenticator.invite(None).await.unwrap();
    let names: Vec<String> = (0..6).map(|number| format!("ada{number}")).collect();
    let joined = futures::future::join_all(names.iter().map(|name| world.join(&ticket, name, STRONG))).await;
    assert_eq!(joined.iter().filter(|joined| joined.is_ok()).count(), 1);
    let mut usable = 0;
    for name in &names {
        let account = world.found(name).await;
        usable += usize::from(account.is_some_and(|account| account.may_act() && account.password.is_some()));
    }
    assert_eq!(usable, 1);
}

#[tokio::test]
async fn a_link_sets_a_new_password_once() {
    let world = World::new();
    let alice = world.account("alice", Some("forgotten")).await;
    let before = world.sign_in("alice", "forgotten").await.unwrap();
    let (ticket, _) = world.authenticator.reset_link(alice.uid, None).await.unwrap();
    let (invitation, _) = world.authenticator.invite(None).await.unwrap();
    let reset = |ticket: &str, new: &'static str| {
        let ticket = ticket.to_owned();
        let authenticator = Arc::clone(&world.authenticator);
        async move { authenticator.reset_password(&ticket, new, &BROWSER).await }
    };
    assert!(matches!(reset(&invitation, STRONG).await, Err(PasswordReset::NoTicket)), "that is none");
    assert!(matches!(world.join(&ticket, "ada", STRONG).await, Err(Joining::NoTicket)), "nor the other way");
    assert!(matches!(reset(&ticket, "").await, Err(PasswordReset::Weak(_))));
    let cookie = reset(&ticket, STRONG).await.unwrap().session;
    assert!(world.signed_in(&cookie).await.is_some() && world.signed_in(&before).await.is_none());
    assert!(world.basic("alice", STRONG).await.is_ok());
    assert!(matches!(reset(&ticket, STRONG).await, Err(PasswordReset::NoTicket)));

    let (late, _) = world.authenticator.reset_link(alice.uid, None).await.unwrap();
    world.now.fetch_add(24 * 60 * 60 * 1_000, Ordering::Relaxed);
    assert!(matches!(reset(&late, STRONG).await, Err(PasswordReset::NoTicket)), "a day is over");
    let (ticket, _) = world.authenticator.reset_link(alice.uid, None).await.unwrap();
    let alice = world.found("alice").await.unwrap();
    world.change(&alice, |account| account.disabled = true).await;
    assert!(matches!(reset(&ticket, STRONG).await, Err(PasswordReset::NoTicket)), "it is disabled");
}

#[tokio::test]
async fn registration_is_closed_unless_it_is_opened() {
    assert!(matches!(World::new().register("ada").await, Err(Joining::Closed)));
    let world = World::with(AuthSettings { open_registration: true, ..AuthSettings::default() });
    assert!(world.authenticator.is_registration_open());
    let cookie = world.register("ada").await.unwrap();
    assert_eq!(world.signed_in(&cookie).await.unwrap().account.name.as_str(), "ada");
    let mut taken = 0;
    let throttled = loop {
        match world.register("ada").await {
            Err(Joining::NameTaken) => taken += 1,
            other => break other,
        }
    };
    assert!(matches!(throttled, Err(Joining::AuthError(AuthError::Throttled { .. }))));
    assert_eq!(taken, 19);
    let elsewhere =
        world.authenticator.register("eve", "", "", STRONG, &Browser { remote: ELSEWHERE, ..BROWSER }).await;
    assert!(elsewhere.is_ok());
}
