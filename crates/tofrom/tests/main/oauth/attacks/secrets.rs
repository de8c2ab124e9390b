//! Each secret is shown once, and only to its owner.

use super::super::super::support::folder::Folder;
use super::super::super::support::signer::{LOCATIONS, Pair};
use super::super::answers::all_text;
use super::super::application::{App, issued};
use super::super::service::{Service, authorize, consent, fixture, password_of};

#[test]
fn no_refusal_contains_a_secret() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let app = App { how: "PLAINTEXT", ..fixture.app.clone() };
    let secrets = [&app.pair.secret, &fixture.token.secret];
    for location in LOCATIONS {
        let read = || app.whoami(&fixture.token).location(location);
        for (mistake, draft) in [
            ("version", read().set("oauth_version", "1.1")),
            ("twice", read().add("oauth_signature", "x")),
            ("consumer", read().set("oauth_consumer_key", "x")),
            ("token", read().set("oauth_token", "x")),
            ("method", read().set("oauth_signature_method", "plaintext")),
            ("secret", read().token(&fixture.token.with_secret("wrong"))),
            ("empty", read().add("oauth_token", "")),
            (
                "no such account",
                app.draft("GET", "/200909/activity/missing/to").token(&fixture.token).location(location),
            ),
            ("no such place", app.draft("GET", "/200909/none").token(&fixture.token).location(location)),
        ] {
            let answer = draft.send(client);
            assert!(answer.status >= 400, "{mistake} {location:?}: {}", answer.status);
            let leaked = secrets.iter().find(|secret| all_text(&answer).contains(**secret));
            assert!(leaked.is_none(), "{mistake} {location:?}: {}", all_text(&answer));
        }
    }
}

#[test]
fn secrets_are_neither_logged_nor_stored_in_plain_text() {
    let service = Service::start(Folder::new(), "", "trace");
    service.add_account("alice", &[]);
    let app = App::register(&service, "App", "http://localhost/cb", &[]);
    let client = &service.client;
    let mut secrets = vec![app.pair.secret.clone(), password_of("alice"), "a-wrong-word".to_owned()];
    let mut browser = service.browser();
    for (how, location) in
        ["HMAC-SHA1", "PLAINTEXT"].into_iter().flat_map(|how| LOCATIONS.map(|location| (how, location)))
    {
        let app = App { how, location, ..app.clone() };
        let temporary = app.temporary_credentials();
        if let Some(form) = browser.visit(&authorize(&temporary)).form("password") {
            browser.submit(&form, &[("username", "alice"), ("password", "a-wrong-word")]);
        }
        let (_, form) = consent(&mut browser, "alice", &temporary);
        let verifier = app.verifier(&browser.submit(&form, &[("decision", "allow")]));
        app.exchange(&temporary, "a-wrong-word").send(client);
        let token = issued(&app.exchange(&temporary, &verifier).send(client));
        assert_eq!(app.whoami(&token).query("q=a-wrong-word").send(client).status, 200);
        app.whoami(&token.with_secret("a-wrong-word")).send(client);
        app.draft("DELETE", "/200909/whoami/token").token(&token).send(client);
        app.whoami(&Pair::new("a-wrong-word", "a-wrong-word")).send(client);
        secrets.extend([temporary.secret, verifier, token.secret, form.field("csrf").unwrap().to_owned()]);
    }
    secrets.push(browser.cookie.as_deref().unwrap().split_once('=').unwrap().1.to_owned());
    let (folder, log) = service.stop();
    assert!(log.contains("/social/oauth/access_token"), "requests are logged: {log}");
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap().path();
        if file.file_name().unwrap().to_string_lossy().starts_with("tofrom.db") {
            files.extend(std::fs::read(file).unwrap());
        }
    }
    let is_stored_openly = |text: &str| files.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(is_stored_openly("alice"), "the search covers the store");
    for secret in &secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret} is in the log: {line:?}");
        assert!(!is_stored_openly(secret), "{secret} is stored in plain text");
    }
    assert!(
        !log.contains("oauth_signature") && !log.contains("Cookie"),
        "headers with secrets are not logged"
    );
}
