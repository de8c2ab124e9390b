//! How access ends: by the application, by the operator, by time.

use super::super::support::client::Answer;
use super::super::support::given::wait_for;
use super::super::support::signer::now;
use super::super::support::world::Folder;
use super::answers::{not_signed_by, refused};
use super::application::App;
use super::service::{Service, authorize, consent, password_of, stage};
use std::time::Duration;

/// Asks until it is so, for as long as a change may take to count.
fn within_5_seconds(what: &str, is_so: impl FnMut() -> bool) {
    assert!(wait_for(Duration::from_secs(5), is_so, |so| *so), "after 5 s: {what}");
}

#[test]
fn a_token_ends_itself_and_no_other() {
    let (stage, client) = (stage(), &stage().service.client);
    let (one, other) = (stage.app.token_of("alice"), stage.app.token_of("alice"));
    let end = |token| stage.app.draft("DELETE", "/200909/whoami/token").token(token).send(client);
    assert_eq!(stage.app.whoami(&one).send(client).status, 200);
    let ended = end(&one);
    assert_eq!((ended.status, ended.body.len()), (204, 0));
    for answer in [stage.app.whoami(&one).send(client), end(&one)] {
        refused(&answer, 401, "token-revoked", "token_revoked");
    }
    not_signed_by(&stage.app.whoami(&one.with_secret("wrong")).send(client));
    not_signed_by(&end(&other.with_secret("wrong")));
    assert_eq!(stage.app.whoami(&other).send(client).status, 200, "a forged request ends nothing");

    use base64::Engine;
    let basic = base64::prelude::BASE64_STANDARD.encode(format!("alice:{}", password_of("alice")));
    let headers = [("Authorization", format!("Basic {basic}"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let answer = client.send("DELETE", "/social/200909/whoami/token", &headers, &[]);
    assert_eq!((answer.status, answer.json()["reason"].as_str()), (403, Some("not-a-token")));
}

#[test]
fn what_an_operator_takes_away_ends_within_5_seconds() {
    let (service, client) = (stage().service, &stage().service.client);
    let app = App::register(service, "Soon gone", "http://localhost/cb", &[]);
    service.add_account("erin", &[]);
    service.add_account("frank", &[]);
    let (of_gone_app, of_gone_account) = (app.token_of("alice"), stage().app.token_of("erin"));
    let (open, (allowed, verifier)) = (app.asked(), stage().app.allowed("erin"));
    let mut frank = service.signed_in("frank", &stage().app);
    let mut erin = service.signed_in("erin", &stage().app);
    let of_frank = stage().app.token_of("frank");
    let question = stage().app.asked();
    assert!(frank.visit(&authorize(&question)).form("decision").is_some());
    for token in [&of_gone_account, &of_frank] {
        assert_eq!(stage().app.whoami(token).send(client).status, 200);
    }
    assert_eq!(app.whoami(&of_gone_app).send(client).status, 200);

    service.run(&["app", "remove", &app.pair.key], "");
    service.run(&["account", "remove", "erin"], "");
    service.run(&["account", "set", "frank", "--password-stdin"], "another-word\n");
    within_5_seconds("a changed password leaves a session", || {
        frank.visit(&authorize(&question)).form("decision").is_none()
    });
    within_5_seconds("a removed account's session counts", || {
        erin.visit(&authorize(&question)).form("decision").is_none()
    });
    let ended = |answer: &Answer| answer.status != 200;
    within_5_seconds("a removed application's token counts", || {
        ended(&app.whoami(&of_gone_app).send(client))
    });
    refused(&app.whoami(&of_gone_app).send(client), 401, "unknown-consumer", "consumer_key_unknown");
    assert_eq!(service.browser().visit(&authorize(&open)).status(), 404, "nor can its question be answered");
    within_5_seconds("a removed account's token counts", || {
        ended(&stage().app.whoami(&of_gone_account).send(client))
    });
    refused(&stage().app.whoami(&of_gone_account).send(client), 401, "token-revoked", "token_revoked");
    let late = stage().app.exchange(&allowed, &verifier).send(client);
    refused(&late, 401, "token-rejected", "token_rejected");

    let form = frank.visit(&authorize(&question)).form("password").unwrap();
    let old = frank.submit(&form, &[("username", "frank"), ("password", &password_of("frank"))]);
    assert_eq!(old.status(), 403, "the old password opens nothing");
    let new = frank.submit(&form, &[("username", "frank"), ("password", "another-word")]);
    assert!(new.form("decision").is_some());
}

/// Nobody waits a quarter of an hour for a test: the store is told that it has passed.
#[test]
fn a_question_ends_after_15_minutes_and_a_session_after_two_weeks() {
    let stage = stage();
    let store = rusqlite::Connection::open(stage.service.file("tofrom.db")).unwrap();
    let seconds_left = |table: &str, end: &str| -> i64 {
        let sql = format!("SELECT max({end}) / 1000 FROM {table}");
        let end: i64 = store.query_row(&sql, [], |row| row.get(0)).unwrap();
        end - i64::try_from(now()).unwrap()
    };
    let mut browser = stage.service.browser();
    let (open, (allowed, verifier)) = (stage.app.asked(), stage.app.allowed("alice"));
    let (_, form) = consent(&mut browser, "alice", &open);
    let in_time = |left: i64, whole: i64| (whole - 10..=whole + 1).contains(&left);
    assert!(in_time(seconds_left("temporary", "expires_ms"), 15 * 60));
    assert!(in_time(seconds_left("session", "expires_ms"), 14 * 24 * 60 * 60));

    let past = i64::try_from(now()).unwrap() * 1_000 - 1;
    for key in [&open.key, &allowed.key] {
        store.execute("UPDATE temporary SET expires_ms = ?1 WHERE key = ?2", (past, key)).unwrap();
    }
    assert_eq!(browser.visit(&authorize(&open)).status(), 404);
    assert_eq!(browser.submit(&form, &[("decision", "allow")]).status(), 404);
    let late = stage.app.exchange(&allowed, &verifier).send(&stage.service.client);
    refused(&late, 401, "token-expired", "token_expired");

    let cookie = browser.cookie.clone().unwrap();
    let hash =
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, cookie.split('=').nth(1).unwrap().as_bytes());
    let ended =
        store.execute("UPDATE session SET expires_ms = ?1 WHERE hash = ?2", (past, hash.as_ref())).unwrap();
    assert_eq!(ended, 1, "the store has the hash of the cookie");
    assert!(browser.visit(&authorize(&stage.app.asked())).form("password").is_some());
}

#[test]
fn tokens_live_as_long_as_the_settings_say() {
    let service = Service::start(Folder::new(), "token_lifetime = \"3s\"", "info");
    service.add_account("alice", &[]);
    let app = App::register(&service, "Short visit", "http://localhost/cb", &[]);
    let token = app.token_of("alice");
    assert_eq!(app.whoami(&token).send(&service.client).status, 200);
    std::thread::sleep(Duration::from_millis(3_100));
    refused(&app.whoami(&token).send(&service.client), 401, "token-expired", "token_expired");
}
