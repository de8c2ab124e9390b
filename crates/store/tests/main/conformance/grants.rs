//! Temporary credentials, access tokens, nonces, sessions and tickets; and steps that happen only once.

use super::{Engine, fresh};
use model::{AccessToken, Application, Millis, Progress, Purpose, Scopes, Session, Temporary, Ticket, Uid};
use std::sync::Arc;
use store::{KnownNetwork, Nonce, Secret};

/// Concurrent calls, and rounds.
const CONCURRENCY: usize = 40;
const ROUNDS: usize = 5;

fn temporary() -> Temporary {
    Temporary {
        key: format!("temporary-{:x}", fresh::number()),
        sealed_secret: vec![0, 255, 0],
        consumer: "app".to_owned(),
        callback: Some("https://reader.example/back?x=1".to_owned()),
        scopes: Scopes::Read,
        expires: Millis(fresh::NOON + 900_000),
        progress: Progress::Requested,
    }
}

fn allowed(by: Uid) -> Progress {
    Progress::Allowed { by, epoch: 5, verifier: hash() }
}

fn token(owner: Uid, created: i64) -> AccessToken {
    AccessToken {
        key: format!("token-{:x}", fresh::number()),
        sealed_secret: vec![255, 0, 255],
        consumer: "app".to_owned(),
        owner,
        epoch: 5,
        scopes: Scopes::ReadWrite,
        created: Millis(created),
        expires: None,
        revoked: None,
        used: None,
    }
}

fn hash() -> [u8; 32] {
    let mut hash = [0x80; 32];
    hash[..8].copy_from_slice(&fresh::number().to_be_bytes());
    hash
}

fn nonce() -> Nonce {
    let mut short = [0; 16];
    short.copy_from_slice(&hash()[..16]);
    Nonce { hash: short, until: Millis(fresh::NOON) }
}

fn session(owner: Uid, created: i64) -> Session {
    Session {
        hash: hash(),
        owner,
        epoch: 6,
        password: hash(),
        created: Millis(created),
        expires: Millis(created + 5),
        device: "Firefox/128 \u{1f98a}".to_owned(),
        used: Millis(created),
    }
}

fn ticket(purpose: Purpose) -> Ticket {
    let (created, expires) = (Millis(fresh::NOON), Millis(fresh::NOON + 900_000));
    Ticket { hash: hash(), purpose, by: None, created, expires }
}

/// Temporary credentials that an account allowed.
async fn granted(store: &Engine, by: Uid) -> Temporary {
    let requested = temporary();
    store.add_temporary(&requested).await.unwrap();
    let progress = allowed(by);
    assert!(store.decide(&requested.key, &progress).await.unwrap());
    Temporary { progress, ..requested }
}

/// The token, created by an exchange.
async fn exchanged(store: &Engine, token: AccessToken) -> AccessToken {
    let temporary = granted(store, token.owner).await;
    assert!(store.exchange(&temporary.key, &token).await.unwrap());
    token
}

/// Runs calls concurrently, and returns how many returned `true`.
async fn winners<F: Future<Output = store::Result<bool>> + Send + 'static>(calls: Vec<F>) -> usize {
    let barrier = Arc::new(tokio::sync::Barrier::new(calls.len()));
    let tasks: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let barrier = Arc::clone(&barrier);
            tokio::spawn(async move {
                barrier.wait().await;
                call.await.unwrap()
            })
        })
        .collect();
    let mut won = 0;
    for task in tasks {
        won += usize::from(task.await.unwrap());
    }
    won
}

pub(crate) async fn temporary_credentials_are_stored(store: Engine) {
    let with_callback = temporary();
    let out_of_band = Temporary { callback: None, scopes: Scopes::ReadWrite, ..temporary() };
    for one in [with_callback, out_of_band] {
        assert_eq!(store.temporary(&one.key).await.unwrap(), None);
        store.add_temporary(&one).await.unwrap();
        store.add_temporary(&one).await.unwrap();
        assert_eq!(store.temporary(&one.key).await.unwrap(), Some(one));
    }
}

pub(crate) async fn the_first_decision_counts(store: Engine) {
    let by = fresh::uid(&*store).await;
    for (first, second) in
        [(allowed(by), Progress::Refused), (Progress::Refused, allowed(by)), (allowed(by), allowed(by))]
    {
        let one = temporary();
        assert!(!store.decide(&one.key, &first).await.unwrap(), "the credentials do not exist");
        store.add_temporary(&one).await.unwrap();
        assert!(store.decide(&one.key, &first).await.unwrap());
        assert!(!store.decide(&one.key, &second).await.unwrap());
        assert!(store.decide(&one.key, &first).await.unwrap(), "a repeated call succeeds");
        store.add_temporary(&one).await.unwrap();
        let decided = Temporary { progress: first, ..one };
        assert_eq!(store.temporary(&decided.key).await.unwrap(), Some(decided));
    }
}

pub(crate) async fn of_concurrent_decisions_one_counts(store: Engine) {
    let by = fresh::uid(&*store).await;
    for _ in 0..ROUNDS {
        let one = temporary();
        store.add_temporary(&one).await.unwrap();
        let calls = (0..CONCURRENCY).map(|n| {
            let (store, key) = (Arc::clone(&store), one.key.clone());
            // All refusals are equal, so several of them could count as the first.
            let decision = if n == 0 { Progress::Refused } else { allowed(by) };
            async move { store.decide(&key, &decision).await }
        });
        assert_eq!(winners(calls.collect()).await, 1);
    }
}

pub(crate) async fn only_allowed_credentials_are_exchanged(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let one = temporary();
    let new = token(owner, fresh::NOON);
    assert!(!store.exchange(&one.key, &new).await.unwrap(), "the credentials do not exist");
    store.add_temporary(&one).await.unwrap();
    assert!(!store.exchange(&one.key, &new).await.unwrap(), "not decided yet");
    store.decide(&one.key, &Progress::Refused).await.unwrap();
    assert!(!store.exchange(&one.key, &new).await.unwrap(), "it was refused");
    assert_eq!(store.token(&new.key).await.unwrap(), None, "no token was stored");

    let one = granted(&store, owner).await;
    assert!(store.exchange(&one.key, &new).await.unwrap());
    assert!(store.exchange(&one.key, &new).await.unwrap(), "a repeated call succeeds");
    assert_eq!(store.token(&new.key).await.unwrap(), Some(new.clone()));
    let second = token(owner, fresh::NOON);
    assert!(!store.exchange(&one.key, &second).await.unwrap());
    assert_eq!(store.token(&second.key).await.unwrap(), None);
    assert!(!store.decide(&one.key, &allowed(owner)).await.unwrap(), "a step is never reverted");
    let progress = Progress::Exchanged { token: new.key };
    assert_eq!(store.temporary(&one.key).await.unwrap().unwrap().progress, progress);
}

pub(crate) async fn of_concurrent_exchanges_one_wins(store: Engine) {
    let owner = fresh::uid(&*store).await;
    for round in 1..=ROUNDS {
        let one = granted(&store, owner).await;
        let calls = (0..CONCURRENCY).map(|_| {
            let (store, key, token) = (Arc::clone(&store), one.key.clone(), token(owner, fresh::NOON));
            async move { store.exchange(&key, &token).await }
        });
        assert_eq!(winners(calls.collect()).await, 1);
        assert_eq!(store.tokens_of(owner).await.unwrap().len(), round, "one token per round");
    }
}

pub(crate) async fn tokens_are_listed_oldest_first(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(store.tokens_of(owner).await.unwrap(), []);
    let late = exchanged(&store, AccessToken { expires: Some(Millis(400)), ..token(owner, 300) }).await;
    let early = exchanged(&store, AccessToken { scopes: Scopes::Read, ..token(owner, 200) }).await;
    exchanged(&store, token(other, 100)).await;
    assert_eq!(store.tokens_of(owner).await.unwrap(), [early, late]);
}

pub(crate) async fn all_tokens_are_paged(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let mut made = Vec::new();
    for _ in 0..7 {
        made.push(exchanged(&store, token(owner, 1)).await.key);
    }
    let mut found: Vec<String> = Vec::new();
    loop {
        let page = store.list_tokens(found.last().map(String::as_str), 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        found.extend(page.into_iter().map(|token| token.key));
    }
    for key in made {
        assert_eq!(found.iter().filter(|one| **one == key).count(), 1, "{key}");
    }
}

pub(crate) async fn a_revoked_token_stays_revoked(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let one = exchanged(&store, token(owner, 1)).await;
    assert!(!store.revoke_token("no-such-token", Millis(5)).await.unwrap());
    for at in [10, 20, 5] {
        assert!(store.revoke_token(&one.key, Millis(at)).await.unwrap());
    }
    let revoked = AccessToken { revoked: Some(Millis(10)), ..one };
    assert_eq!(store.token(&revoked.key).await.unwrap(), Some(revoked.clone()));
    assert_eq!(store.tokens_of(owner).await.unwrap(), [revoked]);
}

pub(crate) async fn the_latest_use_of_a_token_wins(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let one = exchanged(&store, token(owner, 1)).await;
    for at in [10, 30, 20] {
        store.touch_token(&one.key, Millis(at)).await.unwrap();
    }
    assert_eq!(store.tokens_of(owner).await.unwrap(), [AccessToken { used: Some(Millis(30)), ..one }]);
    store.touch_token("no-such-token", Millis(10)).await.unwrap();
    assert_eq!(store.token("no-such-token").await.unwrap(), None, "using a token does not create it");
}

pub(crate) async fn a_secret_is_resealed_by_compare_and_set(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let token = exchanged(&store, token(owner, 1)).await;
    let application = Application {
        key: format!("app-{:x}", fresh::number()),
        sealed_secret: token.sealed_secret.clone(),
        name: "Reader".to_owned(),
        callback: "oob".to_owned(),
        rsa_key: None,
        created: Millis(1),
        removed: None,
        owner: None,
    };
    store.add_application(&application).await.unwrap();
    let old = token.sealed_secret.clone();
    for secret in [Secret::Token(token.key.clone()), Secret::Application(application.key.clone())] {
        assert!(!store.reseal(&secret, b"another", b"new").await.unwrap());
        assert!(store.reseal(&secret, &old, b"new").await.unwrap());
        assert!(store.reseal(&secret, &old, b"new").await.unwrap(), "a repeated call succeeds");
        assert!(!store.reseal(&secret, &old, b"newer").await.unwrap());
    }
    assert_eq!(store.token(&token.key).await.unwrap().unwrap().sealed_secret, b"new");
    assert_eq!(store.application(&application.key).await.unwrap().unwrap().sealed_secret, b"new");
    assert!(!store.reseal(&Secret::Token("no-such-token".to_owned()), &old, b"new").await.unwrap());
}

pub(crate) async fn a_nonce_is_claimed_once(store: Engine) {
    let one = nonce();
    assert!(store.claim_nonce(&one).await.unwrap());
    assert!(!store.claim_nonce(&one).await.unwrap());
    assert!(store.claim_nonce(&nonce()).await.unwrap(), "another nonce is free");
}

pub(crate) async fn of_concurrent_claims_of_a_nonce_one_wins(store: Engine) {
    for _ in 0..ROUNDS {
        let one = nonce();
        let calls = (0..CONCURRENCY).map(|_| {
            let store = Arc::clone(&store);
            async move { store.claim_nonce(&one).await }
        });
        assert_eq!(winners(calls.collect()).await, 1);
    }
}

pub(crate) async fn sessions_are_stored_until_they_end(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let one = session(owner, fresh::NOON);
    assert_eq!(store.session(&one.hash).await.unwrap(), None);
    store.add_session(&one).await.unwrap();
    store.add_session(&one).await.unwrap();
    assert_eq!(store.session(&one.hash).await.unwrap(), Some(one.clone()));
    store.end_session(&one.hash).await.unwrap();
    store.end_session(&one.hash).await.unwrap();
    assert_eq!(store.session(&one.hash).await.unwrap(), None);
}

pub(crate) async fn sessions_are_listed_newest_first(store: Engine) {
    let (owner, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    assert_eq!(store.sessions_of(owner).await.unwrap(), []);
    let (early, late, ended) = (session(owner, 200), session(owner, 300), session(owner, 400));
    let foreign = Session { device: String::new(), ..session(other, 100) };
    for one in [&early, &late, &ended, &foreign, &early] {
        store.add_session(one).await.unwrap();
    }
    store.end_session(&ended.hash).await.unwrap();
    assert_eq!(store.sessions_of(owner).await.unwrap(), [late, early], "without ended sessions");
    assert_eq!(store.sessions_of(other).await.unwrap(), [foreign]);
}

pub(crate) async fn the_latest_use_of_a_session_wins(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let one = session(owner, 5);
    store.add_session(&one).await.unwrap();
    for at in [10, 30, 20] {
        store.touch_session(&one.hash, Millis(at)).await.unwrap();
    }
    let used = Session { used: Millis(30), ..one };
    assert_eq!(store.session(&used.hash).await.unwrap(), Some(used.clone()));
    assert_eq!(store.sessions_of(owner).await.unwrap(), std::slice::from_ref(&used));
    store.end_session(&used.hash).await.unwrap();
    store.touch_session(&used.hash, Millis(40)).await.unwrap();
    assert_eq!(store.session(&used.hash).await.unwrap(), None, "using an ended session does not restore it");
    let unknown = hash();
    store.touch_session(&unknown, Millis(40)).await.unwrap();
    assert_eq!(store.session(&unknown).await.unwrap(), None, "using a session does not create it");
}

pub(crate) async fn a_ticket_is_used_once(store: Engine) {
    let uid = fresh::uid(&*store).await;
    for one in [ticket(Purpose::Invitation), Ticket { by: Some(uid), ..ticket(Purpose::Reset(uid)) }] {
        assert_eq!(store.ticket(&one.hash).await.unwrap(), None);
        assert!(!store.use_ticket(&one.hash).await.unwrap(), "the ticket does not exist");
        assert_eq!(store.ticket(&one.hash).await.unwrap(), None, "using a ticket does not create it");
        store.add_ticket(&one).await.unwrap();
        store.add_ticket(&one).await.unwrap();
        assert_eq!(store.ticket(&one.hash).await.unwrap(), Some(one.clone()));
        assert!(store.use_ticket(&one.hash).await.unwrap());
        assert!(!store.use_ticket(&one.hash).await.unwrap());
        assert_eq!(store.ticket(&one.hash).await.unwrap(), None);
        store.add_ticket(&one).await.unwrap();
        assert_eq!(store.ticket(&one.hash).await.unwrap(), None, "adding it again does not restore it");
        assert!(!store.use_ticket(&one.hash).await.unwrap());
    }
}

pub(crate) async fn of_concurrent_uses_of_a_ticket_one_wins(store: Engine) {
    for _ in 0..ROUNDS {
        let one = ticket(Purpose::Invitation);
        store.add_ticket(&one).await.unwrap();
        let calls = (0..CONCURRENCY).map(|_| {
            let (store, hash) = (Arc::clone(&store), one.hash);
            async move { store.use_ticket(&hash).await }
        });
        assert_eq!(winners(calls.collect()).await, 1);
    }
}

/// Nothing is deleted before it expires; expired rows may be.
pub(crate) async fn nothing_is_deleted_before_it_expires(store: Engine) {
    let owner = fresh::uid(&*store).await;
    let session = Session { expires: Millis(fresh::NOON), ..session(owner, 1) };
    let ticket = Ticket { expires: Millis(fresh::NOON), ..ticket(Purpose::Invitation) };
    let (requested, used) = (temporary(), nonce());
    store.add_ticket(&ticket).await.unwrap();
    store.add_session(&session).await.unwrap();
    store.add_temporary(&requested).await.unwrap();
    assert!(store.claim_nonce(&used).await.unwrap());
    let network = KnownNetwork { hash: [1; 16], expires: Millis(fresh::NOON) };
    store.note_network(owner, &network).await.unwrap();
    store.forget_expired(Millis(fresh::NOON)).await.unwrap();
    assert_eq!(store.networks_of(owner).await.unwrap(), [network]);
    assert_eq!(store.session(&session.hash).await.unwrap(), Some(session));
    assert_eq!(store.temporary(&requested.key).await.unwrap(), Some(requested));
    assert_eq!(store.ticket(&ticket.hash).await.unwrap(), Some(ticket));
    assert!(!store.claim_nonce(&used).await.unwrap());
}
