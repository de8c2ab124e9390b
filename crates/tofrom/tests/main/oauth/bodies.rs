//! Bodies: a form is signed with the rest of the request; `oauth_body_hash` covers other bodies.

use super::super::support::signer::ParameterLocation;
use super::answers::{not_signed_by, refused};
use super::application::issued;
use super::service::fixture;

#[test]
fn a_form_on_a_read_means_the_same_as_a_query() {
    let fixture = fixture();
    let read = || fixture.app.draft("GET", "/200909/activity/alice/tofrom").token(&fixture.token);
    for draft in [
        read().form("count=2"),
        read().form("count=2").location(ParameterLocation::Query),
        read().form("count=2").location(ParameterLocation::Form),
        read()
            .form("count=2&x=a+b")
            .header("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"),
    ] {
        let answer = draft.header("Accept", "application/json").send(&fixture.service.client);
        assert_eq!(answer.activities().len(), 2);
    }
}

#[test]
fn a_body_without_a_signature_over_it_is_refused() {
    let fixture = fixture();
    for location in [ParameterLocation::Header, ParameterLocation::Query] {
        let read = fixture
            .app
            .draft("GET", "/200909/activity/alice/tofrom")
            .token(&fixture.token)
            .location(location);
        let mut sent = read.sign();
        sent.body = b"count=2".to_vec();
        let answer = sent.send(&fixture.service.client);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.json()["type"].as_str().unwrap().ends_with("/body"));
    }
}

#[test]
fn a_body_hash_must_match_the_body() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let read = || fixture.app.whoami(&fixture.token);
    assert_eq!(read().body_hash(b"").send(client).status, 200, "a GET has an empty body");
    not_signed_by(&read().body_hash(b"another").send(client));
    not_signed_by(&read().set("oauth_body_hash", "").send(client));
    let end = |hashed: &[u8], sent: &[u8]| {
        let end = fixture.app.draft("DELETE", "/200909/whoami/token").token(&fixture.token);
        end.body_hash(hashed).body("text/plain", sent).send(client)
    };
    not_signed_by(&end(b"one", b"other"));
    assert_eq!(read().send(client).status, 200, "a refused body revoked no token");
}

#[test]
fn the_flow_steps_check_a_body_hash() {
    let (app, client) = (&fixture().app, &fixture().service.client);
    issued(&app.temporary_request().body_hash(b"{}").body("application/json", b"{}").send(client));
    not_signed_by(&app.temporary_request().body_hash(b"{}").body("application/json", b"[]").send(client));
    let (temporary, verifier) = app.allowed("alice");
    not_signed_by(&app.exchange(&temporary, &verifier).body_hash(b"x").send(client));
    issued(&app.exchange(&temporary, &verifier).body_hash(b"").send(client));
}

#[test]
fn an_altered_or_too_long_form_is_refused() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let mut sent = fixture.app.whoami(&fixture.token).form("y=1").sign();
    sent.body = b"y=2".to_vec();
    not_signed_by(&sent.send(client));
    let long = format!("x={}", "y".repeat(9_000));
    assert_eq!(fixture.app.whoami(&fixture.token).form(&long).send(client).status, 413);
    let many = vec!["a"; 1_001].join("&");
    refused(
        &fixture.app.whoami(&fixture.token).form(&many).send(client),
        400,
        "malformed",
        "parameter_rejected",
    );
}
