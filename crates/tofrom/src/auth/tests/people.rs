//! People with a browser: their sessions, passwords and tickets, and accounts that an operator disabled.

use super::*;
use model::{Purpose, Session};
use store::Grants;

const LAPTOP: &str = "Firefox on a laptop";

impl World {
    async fn signed_in(&self, cookie: &str) -> Option<SignedIn> {
        self.authenticator.signed_in(cookie).await.unwrap()
    }

    async fn sign_in(&self, name: &str, password: &str) -> Result<Zeroizing<String>, Denied> {
        self.authenticator.sign_in(name, password, LAPTOP, HERE).await
    }

    async fn join(&self, ticket: &str, name: &str, password: &str) -> Result<Zeroizing<String>, Joining> {
        self.authenticator.accept_invitation(ticket, name, " Ada ", "", password, LAPTOP).await
    }

    async fn register(&self, name: &str) -> Result<Zeroizing<String>, Joining> {
        self.authenticator.register(name, "", "", "secret", HERE, LAPTOP).await
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
    world.accounts.change(&clock, alice.uid, |account| account.disabled = true).await.unwrap().unwrap();
    assert_eq!(reason(world.basic("alice", "secret").await), "bad-credentials");
    assert_eq!(reason(world.psk(&key).await), "bad-credentials");
    assert!(world.sign_in("alice", "secret").await.is_err());
    assert!(world.signed_in(&cookie).await.is_none());
    for principal in [&by_password, &by_key] {
        assert!(world.authenticator.still(principal).await.unwrap().is_none(), "its streams end");
    }
    world.accounts.change(&clock, alice.uid, |account| account.disabled = false).await.unwrap().unwrap();
    assert!(world.basic("alice", "secret").await.is_ok());
    assert!(world.psk(&key).await.is_ok());
    assert!(world.signed_in(&cookie).await.is_some(), "nothing of it was lost");
}

#[tokio::test]
async fn sessions_can_be_seen_and_ended() {
    let world = World::new();
    let alice = world.account("alice", Some("secret")).await;
    let bob = world.account("bob", Some("secret")).await;
    let first = world.sign_in("alice", "secret").await.unwrap();
    world.now.fetch_add(1, Ordering::Relaxed);
    let phone = world.authenticator.sign_in("alice", "secret", "a phone\r\n", HERE).await.unwrap();
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
        world.authenticator.change_password(&person, old, new, LAPTOP, HERE)
    };
    assert!(matches!(change("wrong", "new secret").await, Err(PasswordChange::Wrong)));
    assert!(matches!(change("secret", "").await, Err(PasswordChange::Weak(_))));
    assert!(world.signed_in(&there).await.is_some());
    let cookie = change("secret", "new secret").await.unwrap();
    assert!(world.signed_in(&cookie).await.is_some());
    assert!(world.signed_in(&here).await.is_none() && world.signed_in(&there).await.is_none());
    let changed = world.found("alice").await.unwrap();
    assert_eq!(world.authenticator.sessions_of(&changed).await.unwrap().len(), 1);
    assert!(world.basic("alice", "new secret").await.is_ok());
    assert_eq!(reason(world.basic("alice", "secret").await), "bad-credentials");

    // Another node remembers the account as it was, for a moment.
    world.accounts.remember(alice);
    assert!(world.signed_in(&cookie).await.is_some());
    let person = world.signed_in(&cookie).await.unwrap();
    for _ in 0..40 {
        let _ = world.authenticator.change_password(&person, "wrong", "x", LAPTOP, HERE).await;
    }
    let throttled = world.authenticator.change_password(&person, "wrong", "x", LAPTOP, HERE).await;
    assert!(matches!(throttled, Err(PasswordChange::Denied(Denied::Throttled { .. }))));
}

#[tokio::test]
async fn an_invitation_makes_one_account() {
    let world = World::new();
    let ops = world.account("ops", None).await;
    let (ticket, kept) = world.authenticator.invite(Some(ops.uid)).await.unwrap();
    assert_eq!((kept.purpose, kept.by), (Purpose::Invitation, Some(ops.uid)));
    assert_eq!(world.authenticator.ticket(&ticket).await.unwrap(), Some(kept));
    assert!(matches!(world.join(&ticket, "a b", "secret").await, Err(Joining::BadName(_))));
    assert!(matches!(world.join(&ticket, "OPS", "secret").await, Err(Joining::NameTaken)));
    assert!(matches!(world.join(&ticket, "ada", "").await, Err(Joining::Weak(_))));
    assert!(matches!(world.join("tfl_wrong", "ada", "secret").await, Err(Joining::NoTicket)));
    assert!(world.found("ada").await.is_none(), "a refusal leaves nothing behind");
    let long = "x".repeat(101);
    let joined = world.authenticator.accept_invitation(&ticket, "ada", &long, "", "secret", LAPTOP).await;
    assert!(matches!(joined, Err(Joining::BadPersonName(_))));

    let cookie = world.join(&ticket, "Ada", "secret").await.unwrap();
    let person = world.signed_in(&cookie).await.unwrap();
    assert_eq!(person.account.name.as_str(), "ada");
    assert_eq!((person.account.given_name.as_deref(), &person.account.family_name), (Some("Ada"), &None));
    assert!(!person.account.public && !person.account.operator);
    assert!(world.basic("ada", "secret").await.is_ok());
    assert_eq!(world.authenticator.ticket(&ticket).await.unwrap(), None);
    assert!(matches!(world.join(&ticket, "eve", "secret").await, Err(Joining::NoTicket)));
    assert!(world.found("eve").await.is_none());
}

#[tokio::test]
async fn of_many_who_bring_one_invitation_one_gets_in() {
    let world = World::new();
    let (ticket, _) = world.authenticator.invite(None).await.unwrap();
    let names: Vec<String> = (0..6).map(|number| format!("ada{number}")).collect();
    let joined =
        futures::future::join_all(names.iter().map(|name| world.join(&ticket, name, "secret"))).await;
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
        async move { authenticator.reset_password(&ticket, new, LAPTOP).await }
    };
    assert!(matches!(reset(&invitation, "secret").await, Err(PasswordReset::NoTicket)), "that is none");
    assert!(
        matches!(world.join(&ticket, "ada", "secret").await, Err(Joining::NoTicket)),
        "nor the other way"
    );
    assert!(matches!(reset(&ticket, "").await, Err(PasswordReset::Weak(_))));
    let cookie = reset(&ticket, "secret").await.unwrap();
    assert!(world.signed_in(&cookie).await.is_some() && world.signed_in(&before).await.is_none());
    assert!(world.basic("alice", "secret").await.is_ok());
    assert!(matches!(reset(&ticket, "again").await, Err(PasswordReset::NoTicket)));

    let (late, _) = world.authenticator.reset_link(alice.uid, None).await.unwrap();
    world.now.fetch_add(24 * 60 * 60 * 1_000, Ordering::Relaxed);
    assert!(matches!(reset(&late, "again").await, Err(PasswordReset::NoTicket)), "a day is over");
    let (ticket, _) = world.authenticator.reset_link(alice.uid, None).await.unwrap();
    let alice = world.found("alice").await.unwrap();
    world.change(&alice, |account| account.disabled = true).await;
    assert!(matches!(reset(&ticket, "again").await, Err(PasswordReset::NoTicket)), "it is disabled");
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
    assert!(matches!(throttled, Err(Joining::Denied(Denied::Throttled { .. }))));
    assert_eq!(taken, 19);
    let elsewhere = world.authenticator.register("eve", "", "", "secret", ELSEWHERE, LAPTOP).await;
    assert!(elsewhere.is_ok());
}
