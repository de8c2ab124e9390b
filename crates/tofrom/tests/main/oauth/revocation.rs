//! How access ends: through the application, the operator, or expiry.

use super::super::support::browser::Form;
use super::super::support::client::Answer;
use super::super::support::folder::Folder;
use super::super::support::signer::now;
use super::super::support::steal_adjusted_clock::wait_for;
use super::answers::{not_signed_by, refused};
use super::application::App;
use super::service::{BASE, Service, authorize, consent, fixture, password_of};
use std::time::Duration;

/// Polls until the condition holds, for as long as a change may take to apply.
fn within_5_seconds(label: &str, condition: impl FnMut() -> bool) {
    assert!(wait_for(Duration::from_secs(5), condition, |met| *met), "after 5 s: {label}");
}

#[test]
fn a_token_can_revoke_only_itself() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let (one, other) = (fixture.app.token_of("alice"), fixture.app.token_of("alice"));
    let end = |token| fixture.app.draft("DELETE", "/200909/whoami/token").token(token).send(client);
    assert_eq!(fixture.app.whoami(&one).send(client).status, 200);
    let ended = end(&one);
    assert_eq!((ended.status, ended.body.len()), (204, 0));
    for answer in [fixture.app.whoami(&one).send(client), end(&one)] {
        refused(&answer, 401, "token-revoked", "token_revoked");
    }
    not_signed_by(&fixture.app.whoami(&one.with_secret("wrong")).send(client));
    not_signed_by(&end(&other.with_secret("wrong")));
    assert_eq!(fixture.app.whoami(&other).send(client).status, 200, "a forged request revokes nothing");

    use base64::Engine;
    let basic = base64::prelude::BASE64_STANDARD.encode(format!("alice:{}", password_of("alice")));
    let headers = [("Authorization", format!("Basic {basic}"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let answer = client.send("DELETE", "/social/200909/whoami/token", &headers, &[]);
    assert_eq!((answer.status, answer.json()["reason"].as_str()), (403, Some("not-a-token")));
}

#[test]
fn revocations_by_an_operator_apply_within_5_seconds() {
    let (service, client) = (fixture().service, &fixture().service.client);
    let app = App::register(service, "Soon gone", "http://localhost/cb", &[]);
    service.add_account("erin", &[]);
    service.add_account("frank", &[]);
    let (of_gone_app, of_gone_account) = (app.token_of("alice"), fixture().app.token_of("erin"));
    let (open, (allowed, verifier)) = (app.temporary_credentials(), fixture().app.allowed("erin"));
    let mut frank = service.signed_in("frank", &fixture().app);
    let mut erin = service.signed_in("erin", &fixture().app);
    let of_frank = fixture().app.token_of("frank");
    let question = fixture().app.temporary_credentials();
    assert!(frank.visit(&authorize(&question)).form("decision").is_some());
    for token in [&of_gone_account, &of_frank] {
        assert_eq!(fixture().app.whoami(token).send(client).status, 200);
    }
    assert_eq!(app.whoami(&of_gone_app).send(client).status, 200);

    service.run(&["app", "remove", &app.pair.key], "");
    service.run(&["account", "remove", "erin"], "");
    service.run(&["account", "set", "frank", "--password-stdin"], "another-very-own-word\n");
    within_5_seconds("a session survives a password change", || {
        frank.visit(&authorize(&question)).form("decision").is_none()
    });
    within_5_seconds("a removed account's session is valid", || {
        erin.visit(&authorize(&question)).form("decision").is_none()
    });
    let ended = |answer: &Answer| answer.status != 200;
    within_5_seconds("a removed application's token is valid", || {
        ended(&app.whoami(&of_gone_app).send(client))
    });
    refused(&app.whoami(&of_gone_app).send(client), 401, "unknown-consumer", "consumer_key_unknown");
    assert_eq!(
        service.browser().visit(&authorize(&open)).status(),
        404,
        "its temporary credentials are invalid"
    );
    within_5_seconds("a removed account's token is valid", || {
        ended(&fixture().app.whoami(&of_gone_account).send(client))
    });
    refused(&fixture().app.whoami(&of_gone_account).send(client), 401, "token-revoked", "token_revoked");
    let late = fixture().app.exchange(&allowed, &verifier).send(client);
    refused(&late, 401, "token-rejected", "token_rejected");

    let form = frank.visit(&authorize(&question)).form("password").unwrap();
    let old = frank.submit(&form, &[("username", "frank"), ("password", &password_of("frank"))]);
    assert_eq!(old.status(), 403, "the old password is refused");
    let new = frank.submit(&form, &[("username", "frank"), ("password", "another-very-own-word")]);
    assert!(new.form("decision").is_some());
}

#[test]
fn disabling_an_account_ends_its_sessions_and_tokens_for_good() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let service = fixture.service;
    service.add_account("warden", &["--operator"]);
    let mut warden = service.signed_in("warden", &fixture.app);
    let mut by_page = |name: &str, label: &str| {
        let page = warden.visit(&format!("{BASE}/operator/accounts?name={name}"));
        let forms = page.forms();
        let form = forms.iter().find(|form| form.action.ends_with(&format!("{name}/{label}")));
        let form = form.unwrap_or_else(|| panic!("no {label}: {}", page.text()));
        assert!(warden.submit(form, &[]).status() < 400);
    };
    let by_command =
        |name: &str, label: &str| drop(service.run(&["account", "set", name, &format!("--{label}d")], ""));
    for (name, page) in [("greta", true), ("heidi", false)] {
        service.add_account(name, &[]);
        let token = fixture.app.token_of(name);
        let (allowed, verifier) = fixture.app.allowed(name);
        let mut browser = service.signed_in(name, &fixture.app);
        let key = service.run(&["key", "add", name, "--json"], "");
        let key: serde_json::Value = serde_json::from_str(&key).unwrap();
        let by_key = || {
            let headers = [("ServicePSK", key["key"].as_str().unwrap())];
            client.get("/social/200909/whoami", &headers).status
        };
        assert_eq!((fixture.app.whoami(&token).send(client).status, by_key()), (200, 200));
        // Immediately after each other: no cache may have seen the disabled state.
        for label in ["disable", "enable"] {
            if page { by_page(name, label) } else { by_command(name, label) }
        }
        within_5_seconds("the token is valid", || fixture.app.whoami(&token).send(client).status != 200);
        refused(&fixture.app.whoami(&token).send(client), 401, "token-revoked", "token_revoked");
        let question = authorize(&fixture.app.temporary_credentials());
        assert!(browser.visit(&question).form("decision").is_none(), "the session is valid");
        let late = fixture.app.exchange(&allowed, &verifier).send(client);
        refused(&late, 401, "token-rejected", "token_rejected");
        within_5_seconds("the key is not valid", || by_key() == 200);
        let listed = service.run(&["token", "list", name, "--json"], "");
        assert!(listed.contains("revoked") && !listed.contains("live"), "{listed}");
        // New grants work.
        assert_eq!(fixture.app.whoami(&fixture.app.token_of(name)).send(client).status, 200);
    }
}

#[test]
fn a_new_password_revokes_keys_and_tokens_on_request() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let service = fixture.service;
    service.add_account("ivan", &[]);
    let mut browser = service.signed_in("ivan", &fixture.app);
    let token = fixture.app.token_of("ivan");
    let key = service.run(&["key", "add", "ivan", "--json"], "");
    let key: serde_json::Value = serde_json::from_str(&key).unwrap();
    let statuses = || {
        let headers = [("ServicePSK", key["key"].as_str().unwrap())];
        (client.get("/social/200909/whoami", &headers).status, fixture.app.whoami(&token).send(client).status)
    };
    let security = format!("{BASE}/settings/security");
    let mut old = password_of("ivan");
    for (revoke, expected) in [(false, (200, 200)), (true, (401, 401))] {
        let page = browser.visit(&security);
        assert!(page.text().contains("revoke all keys and all connected applications"), "{}", page.text());
        let (form, new) = (page.form("again").unwrap(), format!("{old}-more"));
        let passwords = [("old", old.as_str()), ("new", &new), ("again", &new), ("revoke", "1")];
        let sent = if revoke { &passwords[..] } else { &passwords[..3] };
        let fields: Vec<_> = form.fields.iter().filter(|(name, _)| name != "revoke").cloned().collect();
        let changed = browser.submit(&Form { fields, ..form }, sent);
        assert_eq!(changed.status(), 200, "{}", changed.text());
        assert!(browser.visit(&security).form("again").is_some(), "this session continues");
        assert_eq!(statuses(), expected, "revoke: {revoke}");
        old = new;
    }
}

/// A test cannot wait 15 minutes: the expiry is moved into the past in the store.
#[test]
fn temporary_credentials_expire_after_15_minutes_and_sessions_expire() {
    let fixture = fixture();
    let store = rusqlite::Connection::open(fixture.service.file("tofrom.db")).unwrap();
    let seconds_left = |table: &str, end: &str| -> i64 {
        let sql = format!("SELECT max({end}) / 1000 FROM {table}");
        let end: i64 = store.query_row(&sql, [], |row| row.get(0)).unwrap();
        end - i64::try_from(now()).unwrap()
    };
    let mut browser = fixture.service.browser();
    let (open, (allowed, verifier)) = (fixture.app.temporary_credentials(), fixture.app.allowed("alice"));
    let (_, form) = consent(&mut browser, "alice", &open);
    let in_time = |left: i64, whole: i64| (whole - 10..=whole + 1).contains(&left);
    assert!(in_time(seconds_left("temporary", "expires_ms"), 15 * 60));
    assert!(in_time(seconds_left("session", "expires_ms"), 90 * 24 * 60 * 60));

    let past = i64::try_from(now()).unwrap() * 1_000 - 1;
    for key in [&open.key, &allowed.key] {
        store.execute("UPDATE temporary SET expires_ms = ?1 WHERE key = ?2", (past, key)).unwrap();
    }
    assert_eq!(browser.visit(&authorize(&open)).status(), 404);
    assert_eq!(browser.submit(&form, &[("decision", "allow")]).status(), 404);
    let late = fixture.app.exchange(&allowed, &verifier).send(&fixture.service.client);
    refused(&late, 401, "token-expired", "token_expired");

    let cookie = browser.cookie.clone().unwrap();
    let hash =
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, cookie.split('=').nth(1).unwrap().as_bytes());
    // 14 days after the last use, which is stored to the hour, and 90 days after sign-in.
    let (hour, idle) = (3_600_000, 14 * 24 * 3_600_000);
    for (column, time, ends) in [
        ("used_ms", past - idle, false),
        ("used_ms", past - idle - hour, true),
        ("used_ms", past, false),
        ("expires_ms", past, true),
    ] {
        let set = format!("UPDATE session SET {column} = ?1 WHERE hash = ?2");
        let changed = store.execute(&set, (time, hash.as_ref())).unwrap();
        assert_eq!(changed, 1, "the store holds the hash of the cookie");
        // The last use is recorded asynchronously: wait for it before the next time is set.
        let mut other = fixture.service.browser();
        other.cookie = Some(cookie.clone());
        let shows_sign_in =
            other.visit(&authorize(&fixture.app.temporary_credentials())).form("password").is_some();
        assert_eq!(shows_sign_in, ends, "{column} {time}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn tokens_expire_as_configured() {
    let service = Service::start(Folder::new(), "token_lifetime = \"3s\"", "info");
    service.add_account("alice", &[]);
    let app = App::register(&service, "Short visit", "http://localhost/cb", &[]);
    let token = app.token_of("alice");
    assert_eq!(app.whoami(&token).send(&service.client).status, 200);
    std::thread::sleep(Duration::from_millis(3_100));
    refused(&app.whoami(&token).send(&service.client), 401, "token-expired", "token_expired");
}
