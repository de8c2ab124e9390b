//! Operations that succeed once, under concurrent attempts. `OAUTH_RACE_ROUNDS` raises the number of rounds.

use super::super::support::client::{Answer, Client, read_answer};
use super::super::support::signer::{Sent, nonce};
use super::answers::refused;
use super::application::{issued, parameter};
use super::service::{consent, fixture};
use std::io::Write;
use std::sync::Barrier;

const THREADS: usize = 100;

fn rounds() -> usize {
    std::env::var("OAUTH_RACE_ROUNDS").map_or(3, |text| text.parse().unwrap())
}

/// Sends all requests at the same moment, each on its own connection that is already open.
fn at_once(client: &Client, requests: &[Sent]) -> Vec<Answer> {
    at_once_at(&[client], requests)
}

/// Likewise, distributed over several services.
pub(crate) fn at_once_at(clients: &[&Client], requests: &[Sent]) -> Vec<Answer> {
    let gate = Barrier::new(requests.len());
    std::thread::scope(|scope| {
        let send = |sent: &Sent, client: &Client| {
            let mut text =
                format!("{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", sent.method, sent.target);
            for (name, value) in &sent.headers {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
            text.push_str(&format!("Content-Length: {}\r\n\r\n", sent.body.len()));
            let mut stream = client.connect();
            stream.conn.complete_io(&mut stream.sock).unwrap();
            gate.wait();
            stream.write_all(&[text.as_bytes(), &sent.body].concat()).unwrap();
            stream.flush().unwrap();
            read_answer(stream, false)
        };
        let turns = requests.iter().zip(clients.iter().cycle());
        let threads: Vec<_> = turns.map(|(sent, client)| scope.spawn(move || send(sent, client))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// One request succeeded; the others were refused for that reason.
pub(crate) fn exactly_one(answers: Vec<Answer>, reason: &str) -> Answer {
    let (mut through, others): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(through.len(), 1, "of {}", others.len() + through.len());
    for other in &others {
        refused(other, 401, reason, &reason.replace('-', "_"));
    }
    through.remove(0)
}

#[test]
fn one_of_a_hundred_requests_with_one_nonce_passes() {
    let fixture = fixture();
    for round in 0..rounds() {
        // In every other round the identical request, else a hundred different ones that share the nonce.
        let (word, draft) = (nonce(), fixture.app.whoami(&fixture.token));
        let requests: Vec<Sent> = (0..THREADS)
            .map(|number| match round % 2 {
                0 => draft.clone().sign(),
                _ => draft.clone().set("oauth_nonce", &word).query(&format!("number={number}")).sign(),
            })
            .collect();
        exactly_one(at_once(&fixture.service.client, &requests), "nonce-used");
    }
}

#[test]
fn one_of_a_hundred_exchanges_with_one_verifier_passes() {
    let fixture = fixture();
    for _ in 0..rounds() {
        let (temporary, verifier) = fixture.app.allowed("alice");
        let requests: Vec<Sent> =
            (0..THREADS).map(|_| fixture.app.exchange(&temporary, &verifier).sign()).collect();
        let token = issued(&exactly_one(at_once(&fixture.service.client, &requests), "token-used"));
        assert_eq!(fixture.app.whoami(&token).send(&fixture.service.client).status, 200);
    }
}

#[test]
fn a_hundred_requests_with_different_nonces_pass() {
    let fixture = fixture();
    let requests: Vec<Sent> = (0..THREADS).map(|_| fixture.app.whoami(&fixture.token).sign()).collect();
    for answer in at_once(&fixture.service.client, &requests) {
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

/// No cache may bring back a revoked token.
#[test]
fn a_token_revoked_under_load_is_revoked() {
    let fixture = fixture();
    for _ in 0..rounds() {
        let token = fixture.app.token_of("alice");
        let mut requests: Vec<Sent> = (0..40).map(|_| fixture.app.whoami(&token).sign()).collect();
        requests.insert(20, fixture.app.draft("DELETE", "/200909/whoami/token").token(&token).sign());
        let statuses: Vec<u16> =
            at_once(&fixture.service.client, &requests).iter().map(|a| a.status).collect();
        assert_eq!(statuses[20], 204, "{statuses:?}");
        for _ in 0..3 {
            let answer = fixture.app.whoami(&token).send(&fixture.service.client);
            refused(&answer, 401, "token-revoked", "token_revoked");
        }
    }
}

/// A form as a browser sends it.
fn as_sent(cookie: &str, fields: &[(&str, &str)]) -> Sent {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let headers = [("Cookie", cookie), ("Content-Type", "application/x-www-form-urlencoded")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let target = "/social/oauth/authorize".to_owned();
    Sent { method: "POST".to_owned(), target, headers: headers.into(), body: body.into_bytes() }
}

#[test]
fn one_of_two_concurrent_decisions_counts() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let mut browser = fixture.service.signed_in("alice", &fixture.app);
    for _ in 0..rounds() {
        let temporary = fixture.app.temporary_credentials();
        let (_, form) = consent(&mut browser, "alice", &temporary);
        let (cookie, csrf) = (browser.cookie.clone().unwrap(), form.field("csrf").unwrap());
        let decision =
            |word| as_sent(&cookie, &[("oauth_token", &temporary.key), ("csrf", csrf), ("decision", word)]);
        let requests: Vec<Sent> =
            (0..20).map(|number| decision(if number % 2 == 0 { "allow" } else { "deny" })).collect();
        let answers = at_once(client, &requests);
        let redirects = answers.iter().filter_map(|answer| answer.header("location"));
        let verifiers: Vec<String> =
            redirects.clone().filter_map(|to| parameter(to, "oauth_verifier")).collect();
        let refusals = redirects.filter(|to| to.contains("user_refused")).count();
        match &verifiers[..] {
            [] => assert!(refusals > 0),
            [verifier] => {
                assert_eq!(refusals, 0, "one request allows and one denies");
                issued(&fixture.app.exchange(&temporary, verifier).send(client));
            }
            more => panic!("{} requests allowed", more.len()),
        }
        assert!(answers.iter().all(|answer| matches!(answer.status, 303 | 404)));
    }
}
