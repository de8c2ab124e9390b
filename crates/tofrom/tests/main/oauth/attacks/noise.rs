//! Requests with bytes changed at random: accepted or refused, but never a server error. `OAUTH_NOISE` raises their
//! number.

use super::super::super::support::chance::Chance;
use super::super::super::support::folder::Folder;
use super::super::super::support::signer::{LOCATIONS, Sent};
use super::super::application::App;
use super::super::service::{Service, consent};

/// Bytes with a meaning in URLs, headers or quoted strings.
const SPECIAL: &[u8] = b"%&=+\"',;:\\/?#@[]{}<> \t\x00\x7f\x80\xffA0";

fn alter(text: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(text.len() + 1);
    let byte = *chance.pick(SPECIAL);
    match chance.below(4) {
        0 => text.insert(at, byte),
        1 => text.truncate(at),
        _ if at == text.len() => text.push(byte),
        2 => text[at] = byte,
        _ => drop(text.remove(at)),
    }
}

#[test]
fn altered_bytes_never_cause_a_server_error() {
    let times = std::env::var("OAUTH_NOISE").map_or(300, |text| text.parse().unwrap());
    // A separate service: so many wrong requests from one address are throttled.
    let service = Service::start(Folder::new(), "", "info");
    service.add_account("alice", &[]);
    let app = App::register(&service, "App", "http://localhost/cb", &[]);
    let token = app.token_of("alice");
    let mut browser = service.browser();
    let (_, form) = consent(&mut browser, "alice", &app.temporary_credentials());
    let decision = |temporary: &str| Sent {
        method: "POST".to_owned(),
        target: "/social/oauth/authorize".to_owned(),
        headers: [
            ("Cookie", browser.cookie.as_deref().unwrap()),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        body: format!("oauth_token={temporary}&csrf={}&decision=perhaps", form.field("csrf").unwrap()).into(),
    };
    let mut chance = Chance::new(5849);
    for number in 0..times {
        let location = *chance.pick(&LOCATIONS);
        let mut sent = match chance.below(4) {
            0 => app.whoami(&token).location(location).query("x=a+b&y=%C3%A9").sign(),
            1 => app.temporary_request().location(location).form("scope=read").sign(),
            2 => app.exchange(&token, "guess").location(location).sign(),
            _ => decision(form.field("oauth_token").unwrap()),
        };
        let mut wire = sent.target.clone().into_bytes();
        let headers = sent.headers.len();
        for _ in 0..=chance.below(3) {
            match chance.below(3) {
                0 => alter(&mut wire, &mut chance),
                1 if headers > 0 => {
                    let value = &mut sent.headers[chance.below(headers)].1;
                    let mut bytes = std::mem::take(value).into_bytes();
                    alter(&mut bytes, &mut chance);
                    *value = String::from_utf8_lossy(&bytes).into_owned();
                }
                _ => alter(&mut sent.body, &mut chance),
            }
        }
        sent.target = String::from_utf8_lossy(&wire).into_owned();
        let answer = sent.send(&service.client);
        assert!(answer.status < 500, "{number}: {} {} {:?}", answer.status, sent.target, sent.headers);
    }
    assert_eq!(app.whoami(&token).send(&service.client).status, 200, "the service still works");
    let (_, log) = service.stop();
    assert!(!log.contains("\"level\":\"ERROR\"") && !log.contains("panicked"), "{log}");
}
