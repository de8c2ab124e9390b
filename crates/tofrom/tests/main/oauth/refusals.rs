//! Every kind of invalid request, and its answer.

use super::super::support::signer::{PLACES, Pair, Place};
use super::answers::{not_signed_by, refused, reported, whole};
use super::service::{password_of, stage};
use base64::Engine;

const NEEDED: [&str; 5] =
    ["oauth_consumer_key", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce"];

#[test]
fn a_missing_parameter_is_400_and_named() {
    let (stage, client) = (stage(), &stage().service.client);
    for (name, place) in NEEDED.iter().flat_map(|name| PLACES.map(|place| (*name, place))) {
        let signature = |draft: super::super::support::signer::Draft| match name {
            // Without the method no signature is possible.
            "oauth_signature_method" => draft.set("oauth_signature", "x").without(name),
            _ => draft.without(name),
        };
        for draft in [stage.app.whoami(&stage.token), stage.app.ask()] {
            let answer = signature(draft.place(place)).send(client);
            refused(&answer, 400, "malformed", "parameter_absent");
            assert_eq!(reported(&answer, "oauth_parameters_absent"), name, "{place:?}");
        }
    }
    let without_token = stage.app.draft("GET", "/200909/whoami").send(client);
    refused(&without_token, 400, "malformed", "parameter_absent");
    assert_eq!(reported(&without_token, "oauth_parameters_absent"), "oauth_token");
    for callback in [None, Some("")] {
        let ask = stage.app.ask().without("oauth_callback");
        let answer = callback.into_iter().fold(ask, |ask, text| ask.set("oauth_callback", text)).send(client);
        refused(&answer, 400, "malformed", "parameter_absent");
        assert_eq!(reported(&answer, "oauth_parameters_absent"), "oauth_callback");
    }
    let (temporary, verifier) = stage.app.allowed("alice");
    for draft in [
        stage.app.exchange(&temporary, ""),
        stage.app.exchange(&temporary, &verifier).without("oauth_verifier"),
        stage.app.exchange(&temporary, &verifier).without("oauth_token"),
    ] {
        refused(&draft.send(client), 400, "malformed", "parameter_absent");
    }
}

#[test]
fn a_repeated_parameter_is_refused() {
    let (stage, client) = (stage(), &stage().service.client);
    let names = [&NEEDED[..], &["oauth_token", "oauth_version", "oauth_body_hash"]].concat();
    for (name, place) in names.iter().flat_map(|name| PLACES.map(|place| (*name, place))) {
        let draft = stage.app.whoami(&stage.token).body_hash(b"").place(place).set("oauth_signature", "x");
        let answer = draft.again(name, "x").send(client);
        refused(&answer, 400, "malformed", "parameter_rejected");
        assert_eq!(reported(&answer, "oauth_parameters_rejected"), name, "{place:?}");
    }
    let encoded = format!("oauth%5Ftoken={0}&%6Fauth_token={0}", stage.token.key);
    refused(
        &stage.app.whoami(&stage.token).query(&encoded).send(client),
        400,
        "malformed",
        "parameter_rejected",
    );
    for (place, moved) in
        [(Place::Header, "oauth_version"), (Place::Header, "oauth_token"), (Place::Query, "oauth_version")]
    {
        let value = if moved == "oauth_token" { stage.token.key.as_str() } else { "1.0" };
        let part = format!("{moved}={value}");
        let draft = stage.app.whoami(&stage.token).without(moved).place(place);
        for draft in [draft.clone().form(&part), draft.clone().query(&part)] {
            // In its own location it is not a second one.
            if place == Place::Query && draft.clone().sign().body.is_empty() {
                assert_eq!(draft.send(client).status, 200);
            } else {
                refused(&draft.send(client), 400, "malformed", "parameter_rejected");
            }
        }
    }
}

#[test]
fn another_version_or_method_is_400() {
    let (stage, client) = (stage(), &stage().service.client);
    for version in ["1.1", "2.0", "1", ""] {
        for draft in [stage.app.whoami(&stage.token), stage.app.ask()] {
            let answer = draft.set("oauth_version", version).send(client);
            refused(&answer, 400, "malformed", "version_rejected");
            assert_eq!(reported(&answer, "oauth_acceptable_versions"), "1.0-1.0");
        }
    }
    for how in ["HMAC-MD5", "none", "hmac-sha1", "RSA-SHA256"] {
        for draft in [stage.app.whoami(&stage.token), stage.app.ask()] {
            refused(&draft.how(how).send(client), 400, "malformed", "signature_method_rejected");
        }
    }
}

#[test]
fn a_malformed_header_is_400() {
    let client = &stage().service.client;
    for value in [
        "OAuth",
        "OAuth garbage",
        "OAuth oauth_consumer_key=\"",
        "OAuth oauth_nonce=\"%zz\"",
        "OAuth ,,,",
        "OAuth oauth_token=\"%FF\"",
        "OAuth oauth_token=unquoted",
        "OAuth x=\"a\\\"b\"",
    ] {
        let answer = client.get("/social/200909/whoami", &[("Authorization", value)]);
        assert_eq!((answer.status, answer.json()["reason"].as_str()), (400, Some("malformed")), "{value}");
    }
}

#[test]
fn a_second_credential_is_400() {
    let (stage, client) = (stage(), &stage().service.client);
    let basic = format!("alice:{}", password_of("alice"));
    let basic = format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(basic));
    for place in PLACES {
        for (name, value) in [("Authorization", basic.as_str()), ("ServicePSK", "tfk_x")] {
            let answer = stage.app.whoami(&stage.token).place(place).header(name, value).send(client);
            // A wrong key is refused before the body is read, which would contain the second credential.
            let expected = if (name, place) == ("ServicePSK", Place::Form) { 401 } else { 400 };
            assert_eq!(answer.status, expected, "{name} {place:?}: {}", answer.text());
        }
    }
    let again = stage.app.whoami(&stage.token).sign().header("Authorization").clone();
    assert_eq!(stage.app.whoami(&stage.token).header("Authorization", &again).send(client).status, 400);
    let step = client.send("POST", "/social/oauth/request_token", &[("Authorization", &basic)], &[]);
    assert_eq!((step.status, step.json()["reason"].as_str()), (401, Some("malformed")), "steps are signed");
}

#[test]
fn temporary_and_access_tokens_are_not_interchangeable() {
    let (stage, client) = (stage(), &stage().service.client);
    let unknown = Pair::new("tfc_nobody", &stage.app.pair.secret);
    let stranger = super::application::App { pair: unknown, ..stage.app.clone() };
    for draft in [stranger.ask(), stranger.whoami(&stage.token)] {
        refused(&draft.send(client), 401, "unknown-consumer", "consumer_key_unknown");
    }
    let asked = stage.app.asked();
    let (allowed, verifier) = stage.app.allowed("alice");
    for draft in [
        stage.app.whoami(&Pair::new("tfa_nobody", &stage.token.secret)),
        stage.app.whoami(&asked),
        stage.app.whoami(&allowed),
        stage.other.whoami(&stage.token),
        stage.other.exchange(&allowed, &verifier),
        stage.app.exchange(&stage.token, &verifier),
    ] {
        refused(&draft.send(client), 401, "token-rejected", "token_rejected");
    }
    let (_, of_another) = stage.app.allowed("alice");
    let cut = &verifier[..verifier.len() - 1];
    for wrong in [cut, &of_another, "guess", &verifier.to_uppercase(), &format!("{verifier} ")] {
        let answer = stage.app.exchange(&allowed, wrong).send(client);
        refused(&answer, 401, "verifier-invalid", "verifier_invalid");
    }
    refused(&stage.app.exchange(&asked, "guess").send(client), 401, "verifier-invalid", "verifier_invalid");
    not_signed_by(&stage.app.exchange(&allowed.with_secret("wrong"), &verifier).send(client));
    assert_eq!(stage.app.exchange(&allowed, &verifier).send(client).status, 200, "guesses broke nothing");
    let again = stage.app.exchange(&allowed, &verifier).send(client);
    refused(&again, 401, "token-used", "token_used");
}

#[test]
fn wrong_secrets_and_altered_signatures_are_refused_without_the_right_one() {
    let (stage, client) = (stage(), &stage().service.client);
    for how in ["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"] {
        let app = super::application::App { how, ..stage.app.clone() };
        let wrong = super::application::App { pair: app.pair.with_secret("wrong"), ..app.clone() };
        for draft in [
            wrong.ask(),
            wrong.whoami(&stage.token),
            app.whoami(&stage.token.with_secret("wrong")),
            app.whoami(&stage.token.with_secret("")),
        ] {
            not_signed_by(&draft.send(client));
        }
    }
    let draft = stage.app.whoami(&stage.token);
    let header = draft.clone().sign().header("Authorization").clone();
    let right = header.split("oauth_signature=\"").nth(1).unwrap().trim_end_matches('"').to_owned();
    let right = right.replace("%3D", "=").replace("%2B", "+").replace("%2F", "/");
    let (longer, unpadded) = (format!("{right}A"), right.trim_end_matches('='));
    for bent in [&right[..8], &longer, "*é*", &right.to_lowercase(), unpadded] {
        let answer = draft.clone().set("oauth_signature", bent).send(client);
        not_signed_by(&answer);
        assert!(!whole(&answer).contains(&right), "{}", answer.text());
    }
}

#[test]
fn any_altered_part_invalidates_the_signature() {
    let (stage, client) = (stage(), &stage().service.client);
    let signed = || stage.app.whoami(&stage.token).query("count=1&x=a%2Bb").sign();
    for query in ["count=2&x=a%2Bb", "count=1&z=a%2Bb", "count=1&x=a%2Bb&y=", "count=1", "count=1&x=a+b"] {
        let mut sent = signed();
        sent.target = sent.target.replace("count=1&x=a%2Bb", query);
        not_signed_by(&sent.send(client));
    }
    let mut elsewhere = signed();
    elsewhere.target = elsewhere.target.replace("whoami", "activity/alice/from");
    not_signed_by(&elsewhere.send(client));
    let mut deleted = stage.app.draft("GET", "/200909/whoami/token").token(&stage.token).sign();
    deleted.method = "DELETE".to_owned();
    not_signed_by(&deleted.send(client));
}

#[test]
fn an_invalid_signature_reports_names_but_no_values() {
    let (stage, client) = (stage(), &stage().service.client);
    let wrong = stage.token.with_secret("wrong");
    let draft = stage.app.whoami(&wrong).query("b=value-of-b&a=value-of-a&a=&%C3%A9=1");
    let answer = draft.clone().send(client);
    not_signed_by(&answer);
    let told = answer.json();
    assert_eq!(told["method"], "GET");
    assert_eq!(told["base_uri"], "https://feeds.example/social/200909/whoami");
    assert_eq!(
        told["parameters"],
        "%C3%A9 a a b oauth_consumer_key oauth_nonce oauth_signature_method oauth_timestamp oauth_token \
         oauth_version"
    );
    let all = whole(&answer);
    for value in
        ["value-of", &stage.token.key, &stage.token.secret, &stage.app.pair.secret, &stage.app.pair.key]
    {
        assert!(!all.contains(value), "{value} in {all}");
    }
    let hinted =
        |query: &str| draft.clone().query(query).send(client).json()["detail"].to_string().contains("%2B");
    assert!(hinted("p=a+b") && !hinted("p=a%2Bb"), "the hint comes where there is a bare +");
    let as_xml = stage.app.draft("GET", "/200909/whoami").token(&wrong).header("Accept", "application/xml");
    let xml = as_xml.send(client);
    assert_eq!(xml.header("content-type"), Some("application/problem+xml"));
    for word in ["signature-invalid", "signature_invalid", "oauth_nonce", "/social/200909/whoami"] {
        assert!(xml.text().contains(word), "{}", xml.text());
    }
}
