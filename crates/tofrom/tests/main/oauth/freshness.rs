//! Nonces and timestamps: a request is accepted once, and only near the time of its signature.

use super::super::support::signer::{nonce, now};
use super::answers::{not_signed_by, refused, reported};
use super::application::App;
use super::service::fixture;

#[test]
fn a_replayed_request_is_refused() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for how in ["HMAC-SHA1", "HMAC-SHA256"] {
        let app = App { how, ..fixture.app.clone() };
        for draft in [app.whoami(&fixture.token), app.temporary_request()] {
            let sent = draft.sign();
            assert_eq!(sent.send(client).status, 200);
            for _ in 0..2 {
                refused(&sent.send(client), 401, "nonce-used", "nonce_used");
            }
        }
    }
    let plain = App { how: "PLAINTEXT", ..fixture.app.clone() }.whoami(&fixture.token);
    let plain = plain.without("oauth_nonce").without("oauth_timestamp").sign();
    assert_eq!([plain.send(client).status, plain.send(client).status], [200, 200], "PLAINTEXT has no nonce");
}

#[test]
fn nonces_are_scoped_by_consumer_token_and_timestamp() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let (word, seconds) = (nonce(), now().to_string());
    let read = || fixture.app.whoami(&fixture.token).set("oauth_nonce", &word);
    assert_eq!(read().set("oauth_timestamp", &seconds).send(client).status, 200);
    let bob = fixture.app.token_of("bob");
    for fine in [
        read().seconds_away(-9),
        fixture.app.whoami(&bob).set("oauth_nonce", &word).set("oauth_timestamp", &seconds),
        fixture.app.temporary_request().set("oauth_nonce", &word).set("oauth_timestamp", &seconds),
        fixture.other.temporary_request().set("oauth_nonce", &word).set("oauth_timestamp", &seconds),
    ] {
        let answer = fine.send(client);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let another = read().set("oauth_timestamp", &seconds).query("count=1").send(client);
    refused(&another, 401, "nonce-used", "nonce_used");
    let zeros = read().set("oauth_timestamp", &format!("0{seconds}")).send(client);
    assert_ne!(zeros.status, 200, "the same second in another spelling");
}

#[test]
fn a_forged_request_does_not_use_up_a_nonce() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let honest = fixture.app.whoami(&fixture.token);
    let forged = honest.clone();
    not_signed_by(&forged.clone().set("oauth_signature", "AAAAAAAAAAAAAAAAAAAAAAAAAAA=").send(client));
    let wrong = fixture.token.with_secret("wrong");
    not_signed_by(&forged.clone().token(&wrong).send(client));
    not_signed_by(&forged.signature_method("PLAINTEXT").set("oauth_signature", "x&y").send(client));
    assert_eq!(honest.send(client).status, 200);
}

#[test]
fn timestamps_may_differ_by_300_seconds() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for seconds in [0, -5, -60, -290, 290] {
        assert_eq!(
            fixture.app.whoami(&fixture.token).seconds_away(seconds).send(client).status,
            200,
            "{seconds}"
        );
    }
    for seconds in [-3600, -310, 310, 3600] {
        let answer = fixture.app.whoami(&fixture.token).seconds_away(seconds).send(client);
        refused(&answer, 401, "timestamp-refused", "timestamp_refused");
        let window = reported(&answer, "oauth_acceptable_timestamps");
        let (from, to) = window.split_once('-').unwrap();
        let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
        assert_eq!(to - from, 600);
        assert!((from + 300).abs_diff(now()) <= 5, "{window}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(&from.to_string()));
    }
    for text in ["-1", "0", "1e9", "now", "99999999999999999999999", "+1", "1.5", " 1"] {
        let answer = fixture.app.whoami(&fixture.token).set("oauth_timestamp", text).send(client);
        refused(&answer, 400, "malformed", "parameter_rejected");
        assert_eq!(reported(&answer, "oauth_parameters_rejected"), "oauth_timestamp", "{text}");
    }
}
