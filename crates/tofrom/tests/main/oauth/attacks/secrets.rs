//! Each secret is shown once, and only to its owner.

use super::super::super::support::signer::{PLACES, Pair};
use super::super::super::support::world::Folder;
use super::super::answers::whole;
use super::super::application::{App, issued};
use super::super::service::{Service, authorize, consent, password_of, stage};

#[test]
fn no_refusal_contains_a_secret() {
    let (stage, client) = (stage(), &stage().service.client);
    let app = App { how: "PLAINTEXT", ..stage.app.clone() };
    let secrets = [&app.pair.secret, &stage.token.secret];
    for place in PLACES {
        let read = || app.whoami(&stage.token).place(place);
        for (mistake, draft) in [
            ("version", read().set("oauth_version", "1.1")),
            ("twice", read().again("oauth_signature", "x")),
            ("consumer", read().set("oauth_consumer_key", "x")),
            ("token", read().set("oauth_token", "x")),
            ("method", read().set("oauth_signature_method", "plaintext")),
            ("secret", read().token(&stage.token.with_secret("wrong"))),
            ("empty", read().again("oauth_token", "")),
            (
                "no such account",
                app.draft("GET", "/200909/activity/nobody/to").token(&stage.token).place(place),
            ),
            ("no such place", app.draft("GET", "/200909/none").token(&stage.token).place(place)),
        ] {
            let answer = draft.send(client);
            assert!(answer.status >= 400, "{mistake} {place:?}: {}", answer.status);
            let told = secrets.iter().find(|secret| whole(&answer).contains(**secret));
            assert!(told.is_none(), "{mistake} {place:?}: {}", whole(&answer));
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
    for (how, place) in
        ["HMAC-SHA1", "PLAINTEXT"].into_iter().flat_map(|how| PLACES.map(|place| (how, place)))
    {
        let app = App { how, place, ..app.clone() };
        let temporary = app.asked();
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
    let mut kept = Vec::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap().path();
        if file.file_name().unwrap().to_string_lossy().starts_with("tofrom.db") {
            kept.extend(std::fs::read(file).unwrap());
        }
    }
    let lies_open = |text: &str| kept.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(lies_open("alice"), "the store was looked at");
    for secret in &secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{secret} stands in the log: {line:?}");
        assert!(!lies_open(secret), "{secret} lies open in the store");
    }
    assert!(!log.contains("oauth_signature") && !log.contains("Cookie"), "nor what carries them");
}
