//! Every kind of invalid request, and its answer.

use super::super::support::signer::{LOCATIONS, Pair, ParameterLocation};
use super::answers::{all_text, not_signed_by, refused, reported};
use super::service::{fixture, password_of};
use base64::Engine;

const NEEDED: [&str; 5] =
    ["oauth_consumer_key", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce"];

#[test]
fn a_missing_parameter_is_400_and_named() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for (name, location) in NEEDED.iter().flat_map(|name| LOCATIONS.map(|location| (*name, location))) {
        let signature = |draft: super::super::support::signer::Draft| match name {
            // Without the method no signature is possible.
            "oauth_signature_method" => draft.set("oauth_signature", "x").without(name),
            _ => draft.without(name),
        };
        for draft in [fixture.app.whoami(&fixture.token), fixture.app.temporary_request()] {
            let answer = signature(draft.location(location)).send(client);
            refused(&answer, 400, "malformed", "parameter_absent");
            assert_eq!(reported(&answer, "oauth_parameters_absent"), name, "{location:?}");
        }
    }
    let without_token = fixture.app.draft("GET", "/200909/whoami").send(client);
    refused(&without_token, 400, "malformed", "parameter_absent");
    assert_eq!(reported(&without_token, "oauth_parameters_absent"), "oauth_token");
    for callback in [None, Some("")] {
        let request = fixture.app.temporary_request().without("oauth_callback");
        let answer = callback
            .into_iter()
            .fold(request, |request, text| request.set("oauth_callback", text))
            .send(client);
        refused(&answer, 400, "malformed", "parameter_absent");
        assert_eq!(reported(&answer, "oauth_parameters_absent"), "oauth_callback");
    }
    let (temporary, verifier) = fixture.app.allowed("alice");
    for draft in [
        fixture.app.exchange(&temporary, ""),
        fixture.app.exchange(&temporary, &verifier).without("oauth_verifier"),
        fixture.app.exchange(&temporary, &verifier).without("oauth_token"),
    ] {
        refused(&draft.send(client), 400, "malformed", "parameter_absent");
    }
}

#[test]
fn a_repeated_parameter_is_refused() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let names = [&NEEDED[..], &["oauth_token", "oauth_version", "oauth_body_hash"]].concat();
    for (name, location) in names.iter().flat_map(|name| LOCATIONS.map(|location| (*name, location))) {
        let draft =
            fixture.app.whoami(&fixture.token).body_hash(b"").location(location).set("oauth_signature", "x");
        let answer = draft.add(name, "x").send(client);
        refused(&answer, 400, "malformed", "parameter_rejected");
        assert_eq!(reported(&answer, "oauth_parameters_rejected"), name, "{location:?}");
    }
    let encoded = format!("oauth%5Ftoken={0}&%6Fauth_token={0}", fixture.token.key);
    refused(
        &fixture.app.whoami(&fixture.token).query(&encoded).send(client),
        400,
        "malformed",
        "parameter_rejected",
    );
    for (location, moved) in [
        (ParameterLocation::Header, "oauth_version"),
        (ParameterLocation::Header, "oauth_token"),
        (ParameterLocation::Query, "oauth_version"),
    ] {
        let value = if moved == "oauth_token" { fixture.token.key.as_str() } else { "1.0" };
        let part = format!("{moved}={value}");
        let draft = fixture.app.whoami(&fixture.token).without(moved).location(location);
        for draft in [draft.clone().form(&part), draft.clone().query(&part)] {
            // In its own location it is not a second one.
            if location == ParameterLocation::Query && draft.clone().sign().body.is_empty() {
                assert_eq!(draft.send(client).status, 200);
            } else {
                refused(&draft.send(client), 400, "malformed", "parameter_rejected");
            }
        }
    }
}

#[test]
fn another_version_or_method_is_400() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for version in ["1.1", "2.0", "1", ""] {
        for draft in [fixture.app.whoami(&fixture.token), fixture.app.temporary_request()] {
            let answer = draft.set("oauth_version", version).send(client);
            refused(&answer, 400, "malformed", "version_rejected");
            assert_eq!(reported(&answer, "oauth_acceptable_versions"), "1.0-1.0");
        }
    }
    for how in ["HMAC-MD5", "none", "hmac-sha1", "RSA-SHA256"] {
        for draft in [fixture.app.whoami(&fixture.token), fixture.app.temporary_request()] {
            refused(&draft.signature_method(how).send(client), 400, "malformed", "signature_method_rejected");
        }
    }
}

#[test]
fn a_malformed_header_is_400() {
    let client = &fixture().service.client;
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
    let (fixture, client) = (fixture(), &fixture().service.client);
    let basic = format!("alice:{}", password_of("alice"));
    let basic = format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(basic));
    for location in LOCATIONS {
        for (name, value) in [("Authorization", basic.as_str()), ("ServicePSK", "tfk_x")] {
            let answer =
                fixture.app.whoami(&fixture.token).location(location).header(name, value).send(client);
            // A wrong key is refused before the body is read, which would contain the second credential.
            let expected =
                if (name, location) == ("ServicePSK", ParameterLocation::Form) { 401 } else { 400 };
            assert_eq!(answer.status, expected, "{name} {location:?}: {}", answer.text());
        }
    }
    let repeated = fixture.app.whoami(&fixture.token).sign().header("Authorization").clone();
    assert_eq!(
        fixture.app.whoami(&fixture.token).header("Authorization", &repeated).send(client).status,
        400
    );
    let step = client.send("POST", "/social/oauth/request_token", &[("Authorization", &basic)], &[]);
    assert_eq!(
        (step.status, step.json()["reason"].as_str()),
        (401, Some("malformed")),
        "flow steps must be signed"
    );
}

#[test]
fn temporary_and_access_tokens_are_not_interchangeable() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let unknown = Pair::new("tfc_nobody", &fixture.app.pair.secret);
    let stranger = super::application::App { pair: unknown, ..fixture.app.clone() };
    for draft in [stranger.temporary_request(), stranger.whoami(&fixture.token)] {
        refused(&draft.send(client), 401, "unknown-consumer", "consumer_key_unknown");
    }
    let temporary = fixture.app.temporary_credentials();
    let (allowed, verifier) = fixture.app.allowed("alice");
    for draft in [
        fixture.app.whoami(&Pair::new("tfa_nobody", &fixture.token.secret)),
        fixture.app.whoami(&temporary),
        fixture.app.whoami(&allowed),
        fixture.other.whoami(&fixture.token),
        fixture.other.exchange(&allowed, &verifier),
        fixture.app.exchange(&fixture.token, &verifier),
    ] {
        refused(&draft.send(client), 401, "token-rejected", "token_rejected");
    }
    let (_, of_another) = fixture.app.allowed("alice");
    let cut = &verifier[..verifier.len() - 1];
    for wrong in [cut, &of_another, "guess", &verifier.to_uppercase(), &format!("{verifier} ")] {
        let answer = fixture.app.exchange(&allowed, wrong).send(client);
        refused(&answer, 401, "verifier-invalid", "verifier_invalid");
    }
    refused(
        &fixture.app.exchange(&temporary, "guess").send(client),
        401,
        "verifier-invalid",
        "verifier_invalid",
    );
    not_signed_by(&fixture.app.exchange(&allowed.with_secret("wrong"), &verifier).send(client));
    assert_eq!(
        fixture.app.exchange(&allowed, &verifier).send(client).status,
        200,
        "wrong guesses had no effect"
    );
    let repeated = fixture.app.exchange(&allowed, &verifier).send(client);
    refused(&repeated, 401, "token-used", "token_used");
}

#[test]
fn wrong_secrets_and_altered_signatures_are_refused_without_the_right_one() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for how in ["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"] {
        let app = super::application::App { how, ..fixture.app.clone() };
        let wrong = super::application::App { pair: app.pair.with_secret("wrong"), ..app.clone() };
        for draft in [
            wrong.temporary_request(),
            wrong.whoami(&fixture.token),
            app.whoami(&fixture.token.with_secret("wrong")),
            app.whoami(&fixture.token.with_secret("")),
        ] {
            not_signed_by(&draft.send(client));
        }
    }
    let draft = fixture.app.whoami(&fixture.token);
    let header = draft.clone().sign().header("Authorization").clone();
    let right = header.split("oauth_signature=\"").nth(1).unwrap().trim_end_matches('"').to_owned();
    let right = right.replace("%3D", "=").replace("%2B", "+").replace("%2F", "/");
    let (longer, unpadded) = (format!("{right}A"), right.trim_end_matches('='));
    for altered in [&right[..8], &longer, "*é*", &right.to_lowercase(), unpadded] {
        let answer = draft.clone().set("oauth_signature", altered).send(client);
        not_signed_by(&answer);
        assert!(!all_text(&answer).contains(&right), "{}", answer.text());
    }
}

#[test]
fn any_altered_part_invalidates_the_signature() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let signed = || fixture.app.whoami(&fixture.token).query("count=1&x=a%2Bb").sign();
    for query in ["count=2&x=a%2Bb", "count=1&z=a%2Bb", "count=1&x=a%2Bb&y=", "count=1", "count=1&x=a+b"] {
        let mut sent = signed();
        sent.target = sent.target.replace("count=1&x=a%2Bb", query);
        not_signed_by(&sent.send(client));
    }
    let mut elsewhere = signed();
    elsewhere.target = elsewhere.target.replace("whoami", "activity/alice/from");
    not_signed_by(&elsewhere.send(client));
    let mut deleted = fixture.app.draft("GET", "/200909/whoami/token").token(&fixture.token).sign();
    deleted.method = "DELETE".to_owned();
    not_signed_by(&deleted.send(client));
}

#[test]
fn an_invalid_signature_reports_names_but_no_values() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let wrong = fixture.token.with_secret("wrong");
    let draft = fixture.app.whoami(&wrong).query("b=value-of-b&a=value-of-a&a=&%C3%A9=1");
    let answer = draft.clone().send(client);
    not_signed_by(&answer);
    let problem = answer.json();
    assert_eq!(problem["method"], "GET");
    assert_eq!(problem["base_uri"], "https://feeds.example/social/200909/whoami");
    assert_eq!(
        problem["parameters"],
        "%C3%A9 a a b oauth_consumer_key oauth_nonce oauth_signature_method oauth_timestamp oauth_token \
         oauth_version"
    );
    let all = all_text(&answer);
    for value in [
        "value-of",
        &fixture.token.key,
        &fixture.token.secret,
        &fixture.app.pair.secret,
        &fixture.app.pair.key,
    ] {
        assert!(!all.contains(value), "{value} in {all}");
    }
    let hinted =
        |query: &str| draft.clone().query(query).send(client).json()["detail"].to_string().contains("%2B");
    assert!(hinted("p=a+b") && !hinted("p=a%2Bb"), "the hint appears for a bare +");
    let as_xml = fixture.app.draft("GET", "/200909/whoami").token(&wrong).header("Accept", "application/xml");
    let xml = as_xml.send(client);
    assert_eq!(xml.header("content-type"), Some("application/problem+xml"));
    for word in ["signature-invalid", "signature_invalid", "oauth_nonce", "/social/200909/whoami"] {
        assert!(xml.text().contains(word), "{}", xml.text());
    }
}
