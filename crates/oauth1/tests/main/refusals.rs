//! Every error, with its problem, its parameters and its message.

use oauth1::{MAX_FORM_LENGTH, MAX_HEADER_LENGTH, MAX_PARAMETERS, MAX_VALUE_LENGTH, Malformed, Problem};

use crate::support::{Draft, LOCATIONS, ParameterLocation, Sent};

const REQUIRED: [&str; 5] =
    ["oauth_consumer_key", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce"];
const PROTOCOL: [&str; 8] = [
    "oauth_consumer_key",
    "oauth_token",
    "oauth_signature_method",
    "oauth_signature",
    "oauth_timestamp",
    "oauth_nonce",
    "oauth_version",
    "oauth_body_hash",
];

fn complete(location: ParameterLocation) -> Draft {
    Draft::new(location).and("oauth_signature", "c2lnbmF0dXJl").and("oauth_body_hash", "aGFzaA==")
}

fn in_header(pairs: &str) -> Sent {
    Sent { authorization: Some(format!("OAuth {pairs}")), ..Draft::new(ParameterLocation::Query).sent() }
}

#[track_caller]
fn refusal(sent: &Sent) -> Malformed {
    assert!(sent.request().is_signed(), "{sent:?}");
    match sent.read() {
        Ok(signed) => panic!("{signed:?} was read from {sent:?}"),
        Err(refusal) => refusal,
    }
}

#[track_caller]
fn assert_refused(sent: &Sent, problem: Problem, names: &[&str]) {
    let refusal = refusal(sent);
    assert_eq!((refusal.problem(), refusal.parameters()), (problem, names.to_vec()), "{refusal} {sent:?}");
    for name in names {
        assert!(refusal.to_string().contains(name), "{refusal}");
    }
}

#[test]
fn absent_or_empty_parameters_are_rejected() {
    for location in LOCATIONS {
        for name in REQUIRED {
            let without = complete(location).without(name);
            assert_refused(&without.sent(), Problem::ParameterAbsent, &[name]);
            let empty = complete(location).with(name, "");
            assert_refused(&empty.sent(), Problem::ParameterAbsent, &[name]);
        }
    }
    let several = complete(ParameterLocation::Header).without("oauth_nonce").without("oauth_consumer_key");
    assert_refused(&several.sent(), Problem::ParameterAbsent, &["oauth_consumer_key", "oauth_nonce"]);
}

#[test]
fn an_unsigned_request_is_rejected() {
    for authorization in ["OAuth", "oauth ", "OAuth ,,,", "OAuth realm=\"x\"", "OAuth oauth_callback=\"oob\""]
    {
        let sent = Sent { authorization: Some(authorization.to_owned()), ..Sent::default() };
        assert_refused(&sent, Problem::ParameterAbsent, &REQUIRED);
    }
    let sent =
        Sent { authorization: Some("Basic YTpi".to_owned()), query: "a=b".to_owned(), ..Sent::default() };
    assert!(!sent.request().is_signed());
    assert_eq!(sent.read().unwrap_err(), Malformed::Absent { names: REQUIRED.to_vec() });
    assert_eq!(
        sent.read().unwrap_err().to_string(),
        "these parameters are needed and absent or empty: oauth_consumer_key, oauth_signature_method, \
         oauth_signature, oauth_timestamp, oauth_nonce"
    );
}

#[test]
fn repeated_parameters_are_rejected() {
    for location in LOCATIONS {
        for name in PROTOCOL {
            let repeated = complete(location).and(name, "1");
            assert_refused(&repeated.sent(), Problem::ParameterRejected, &[name]);
        }
    }
    let same_value = complete(ParameterLocation::Header).and("oauth_version", "1.0");
    assert_eq!(refusal(&same_value.sent()), Malformed::Repeated { name: "oauth_version".into() });
    let empty_first = Draft::new(ParameterLocation::Query).query("oauth_token=");
    assert_refused(&empty_first.sent(), Problem::ParameterRejected, &["oauth_token"]);
    let spelt_otherwise = complete(ParameterLocation::Query).query("oauth%5Fnonce=1");
    assert_refused(&spelt_otherwise.sent(), Problem::ParameterRejected, &["oauth_nonce"]);
}

#[test]
fn parameters_in_two_locations_are_rejected() {
    for name in PROTOCOL {
        let pair = format!("{name}=1");
        for location in [ParameterLocation::Header, ParameterLocation::Form] {
            let mut sent = complete(location).without(name).sent();
            sent.query.clone_from(&pair);
            // The query is read before the form, so its parameter counts as the first location.
            match location {
                ParameterLocation::Header => assert_refused(&sent, Problem::ParameterRejected, &[name]),
                _ => assert!(matches!(refusal(&sent), Malformed::Scattered { .. }), "{name}"),
            }
        }
        for location in [ParameterLocation::Header, ParameterLocation::Query] {
            let sent = complete(location).without(name).form(&pair).sent();
            assert_refused(&sent, Problem::ParameterRejected, &[name]);
        }
    }
    let repeated = complete(ParameterLocation::Header).query("oauth_token=token").sent();
    assert_refused(&repeated, Problem::ParameterRejected, &["oauth_token"]);
}

#[test]
fn other_versions_are_rejected() {
    for location in LOCATIONS {
        for version in ["1.1", "2.0", "1", "1.0b", " 1.0", ""] {
            let sent = complete(location).with("oauth_version", version).sent();
            assert_refused(&sent, Problem::VersionRejected, &["oauth_version"]);
        }
        for version in ["1.0", "1.0a", "1.0A"] {
            let sent = complete(location).with("oauth_version", version).sent();
            assert!(sent.request().read().is_ok(), "{version}");
        }
    }
}

#[test]
fn unknown_signature_methods_are_rejected() {
    for method in ["HMAC-MD5", "none", "hmac-sha1", "HMAC-SHA1 ", "HMAC-SHA512", "RSA-SHA256", "plaintext"] {
        let sent = complete(ParameterLocation::Header).with("oauth_signature_method", method).sent();
        assert_refused(&sent, Problem::SignatureMethodRejected, &["oauth_signature_method"]);
    }
}

#[test]
fn invalid_timestamps_are_rejected() {
    let texts = [
        "-1",
        "0",
        "00",
        "1e9",
        "now",
        "99999999999999999999999",
        "18446744073709551616",
        "+5",
        " 5",
        "5 ",
        "1.5",
        "٣",
    ];
    for text in texts {
        for method in ["HMAC-SHA1", "PLAINTEXT"] {
            let draft = complete(ParameterLocation::Header).with("oauth_timestamp", text);
            let sent = draft.with("oauth_signature_method", method).sent();
            assert_refused(&sent, Problem::ParameterRejected, &["oauth_timestamp"]);
        }
    }
    for (text, seconds) in [("1", 1), ("0137131201", 137_131_201), ("18446744073709551615", u64::MAX)] {
        let signed = complete(ParameterLocation::Header).with("oauth_timestamp", text).sent().read().unwrap();
        assert_eq!(signed.timestamp(), Some(seconds));
    }
}

#[test]
fn invalid_escapes_and_text_are_rejected() {
    for (value, is_escape) in
        [("%zz", true), ("%", true), ("a%4", true), ("%4é", true), ("%FF", false), ("a%C3", false)]
    {
        let expected = |name: &'static str| match is_escape {
            true => Malformed::BadEscape { name: name.into() },
            false => Malformed::NotUtf8 { name: name.into() },
        };
        for name in PROTOCOL {
            let header = in_header(&format!("{name}=\"{value}\""));
            let header = Sent { query: String::new(), ..header };
            assert_eq!(refusal(&header), expected(name), "{value}");
            let query = Sent { query: format!("{name}={value}"), ..Sent::default() };
            assert_eq!(refusal(&query), expected(name), "{value}");
            let form = Sent { form: Some(format!("a=b&{name}={value}")), ..Sent::default() };
            assert_eq!(refusal(&form), expected(name), "{value}");
        }
    }
    let other = in_header("oauth_flavour=\"100%\"");
    assert_refused(&Sent { query: String::new(), ..other }, Problem::ParameterRejected, &["oauth_flavour"]);
}

#[test]
fn unreadable_headers_are_rejected() {
    let cases = [
        ("garbage", 6),
        ("oauth_consumer_key", 6),
        ("oauth_consumer_key=", 6),
        ("oauth_consumer_key=\"", 6),
        ("oauth_consumer_key=\"a", 6),
        ("oauth_consumer_key=a", 6),
        ("oauth_consumer_key='a'", 6),
        ("oauth_consumer_key =\"a\"", 6),
        ("oauth_consumer_key= \"a\"", 6),
        ("oauth_callback=\"a\" oauth_verifier=\"b\"", 6),
        ("oauth_callback=\"a\"; oauth_verifier=\"b\"", 6),
        ("oauth_callback=\"a\", oauth_verifier", 26),
        ("oauth_callback=\"a\",\t, b=\"c\\\"", 28),
        ("a=\"b\\c\"", 6),
        ("=\"b\"", 6),
        ("a\"=\"b\"", 6),
        ("ä=\"b\"", 6),
        ("realm=x", 6),
        ("realm=\"x", 6),
        ("realm=\"x\\\"", 6),
        ("realm=\"x\" a=\"b\"", 6),
        ("Bearer abc.def", 6),
    ];
    for (pairs, at) in cases {
        let sent = Sent { authorization: Some(format!("OAuth {pairs}")), ..Sent::default() };
        assert_eq!(refusal(&sent), Malformed::HeaderUnreadable { at }, "{pairs}");
        assert_eq!(refusal(&sent).problem(), Problem::ParameterRejected);
        assert!(refusal(&sent).parameters().is_empty());
    }
}

#[test]
fn requests_over_a_limit_are_rejected() {
    let header = |length: usize| {
        let mut sent = complete(ParameterLocation::Header).sent();
        let header = sent.authorization.as_mut().unwrap();
        let padding = " ".repeat(length - header.len());
        header.push_str(&padding);
        sent
    };
    assert!(header(MAX_HEADER_LENGTH).read().is_ok());
    assert_eq!(refusal(&header(MAX_HEADER_LENGTH + 1)), Malformed::HeaderTooLong);

    let with_form = |query: usize, form: usize| {
        complete(ParameterLocation::Header).query(&"q".repeat(query)).form(&"f".repeat(form)).sent()
    };
    assert!(with_form(1, MAX_FORM_LENGTH - 1).read().is_ok());
    assert_eq!(refusal(&with_form(1, MAX_FORM_LENGTH)), Malformed::FormTooLong);

    // The header has seven protocol parameters besides the signature.
    let with_pairs = |pairs: usize| {
        let half = pairs / 2;
        complete(ParameterLocation::Header).query(&"a&".repeat(half)).form(&"b=&".repeat(pairs - half)).sent()
    };
    assert_eq!(with_pairs(MAX_PARAMETERS - 7).read().unwrap().parameter_names().len(), MAX_PARAMETERS);
    assert_eq!(refusal(&with_pairs(MAX_PARAMETERS - 6)), Malformed::TooManyParameters);

    for name in PROTOCOL {
        let with_value =
            |length: usize| complete(ParameterLocation::Form).with(name, &"1".repeat(length)).sent();
        assert_refused(&with_value(MAX_VALUE_LENGTH + 1), Problem::ParameterRejected, &[name]);
        let accepted = with_value(MAX_VALUE_LENGTH).read();
        assert!(!matches!(accepted, Err(Malformed::ValueTooLong { .. })), "{name}");
    }
}

#[test]
fn no_message_contains_a_value() {
    let secret = "hunter2hunter2";
    let mut refusals = Vec::new();
    for name in PROTOCOL {
        for value in [secret.to_owned(), format!("{secret}%zz"), format!("{secret}%FF"), secret.repeat(200)] {
            let texts = [format!("{name}={value}"), format!("{name}={value}&{name}=x")];
            refusals.extend(texts.map(|query| refusal(&Sent { query, ..Sent::default() })));
            refusals.push(refusal(&Sent {
                authorization: Some(format!("OAuth {name}=\"{value}")),
                ..Sent::default()
            }));
        }
        refusals.extend(
            complete(ParameterLocation::Header).with(name, secret).query("oauth_token=x").sent().read().err(),
        );
    }
    for refusal in refusals {
        assert!(!format!("{refusal} {refusal:?}").contains("hunter"), "{refusal}");
    }
}

#[test]
fn every_error_has_its_problem() {
    assert_eq!(Problem::ParameterAbsent.to_string(), "parameter_absent");
    assert_eq!(Problem::AdditionalAuthorizationRequired.as_str(), "additional_authorization_required");
    assert_eq!(Problem::UserRefused.as_str(), "user_refused");
}
