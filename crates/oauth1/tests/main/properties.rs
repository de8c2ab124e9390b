//! Properties that hold for any input.

use oauth1::{Request, Secrets, encode};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::check::check;
use crate::support::{Draft, ParameterLocation, SECRETS, Sent};

/// Text with a meaning somewhere in a request.
const PIECES: [&str; 30] = [
    "OAuth ",
    "oauth",
    "realm=\"",
    "oauth_consumer_key",
    "oauth_token",
    "oauth_signature_method",
    "oauth_signature",
    "oauth_timestamp",
    "oauth_nonce",
    "oauth_version",
    "oauth_body_hash",
    "oauth_callback",
    "PLAINTEXT",
    "HMAC-SHA1",
    "RSA-SHA1",
    "1.0",
    "=",
    "\"",
    "=\"",
    "\", ",
    ", ",
    "&",
    "%",
    "%41",
    "%5F",
    "%FF",
    "+",
    "\\",
    "\n",
    " ",
];
/// A header that is nearly complete.
const NEARLY: &str = "OAuth oauth_consumer_key=\"k\",oauth_signature_method=\"HMAC-SHA256\",oauth_signature=\"c2lnbg==\",\
                      oauth_timestamp=\"1\",oauth_nonce=\"n\"";

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => proptest::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
        1 => Just(NEARLY.as_bytes().to_vec()),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    let data = || {
        prop_oneof![
            3 => "[ab~é+%&= ]{0,3}".prop_map(String::into_bytes),
            1 => vec(any::<u8>(), 0..5),
        ]
    };
    vec((data(), data()), 0..12)
}

fn form(pairs: &[(Vec<u8>, Vec<u8>)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_read_or_refused(data in vec(any::<u8>(), 0..200)) {
        check(&data);
    }

    #[test]
    fn any_pieces_are_read_or_refused(data in vec(piece(), 0..40)) {
        check(&data.concat());
    }

    #[test]
    fn a_request_with_anything_changed_is_read_or_refused(
        at in any::<proptest::sample::Index>(), byte in any::<u8>(), query in vec(any::<u8>(), 0..20),
    ) {
        let mut data = [NEARLY.as_bytes(), b"\n", &query].concat();
        let at = at.index(data.len());
        check(&data);
        data[at] = byte;
        check(&data);
        data.truncate(at);
        check(&data);
    }

    #[test]
    fn the_base_string_matches_the_rfc(query in pairs(), in_form in pairs()) {
        let sent = Draft::new(ParameterLocation::Header).query(&form(&query)).form(&form(&in_form)).signed();
        let protocol = [
            ("oauth_consumer_key", "key"), ("oauth_token", "token"), ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "1700000000"), ("oauth_nonce", "nonce"), ("oauth_version", "1.0"),
        ];
        let mut pairs: Vec<(String, String)> =
            query.iter().chain(&in_form).map(|(name, value)| (encode(name), encode(value))).collect();
        pairs.extend(protocol.map(|(name, value)| (name.to_owned(), value.to_owned())));
        pairs.sort();
        let joined: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected = format!("GET&https%3A%2F%2Fexample.com%2Ffeed&{}", encode(joined.join("&").as_bytes()));
        let read = sent.read().unwrap();
        prop_assert_eq!(read.base_string(), expected);
        let names: Vec<String> = pairs.into_iter().map(|(name, _)| name).collect();
        prop_assert_eq!(read.parameter_names(), names);
    }

    #[test]
    fn a_signed_request_verifies(
        query in pairs(), in_form in pairs(), consumer in vec(any::<u8>(), 0..9), token in vec(any::<u8>(), 0..9),
    ) {
        for location in [ParameterLocation::Header, ParameterLocation::Query, ParameterLocation::Form] {
            let sent = Draft::new(location).query(&form(&query)).form(&form(&in_form)).signed();
            prop_assert!(sent.verifies(&SECRETS));
            let others = Secrets { consumer: &consumer, token: &token, rsa_key: None };
            prop_assert!(!sent.verifies(&others));
        }
    }

    #[test]
    fn the_order_of_parameters_does_not_matter(
        (query, shuffled) in pairs().prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle())),
    ) {
        let sent = Draft::new(ParameterLocation::Header).query(&form(&query)).signed();
        let reordered = Sent { query: form(&shuffled), ..sent.clone() };
        prop_assert!(reordered.verifies(&SECRETS));
        // Moving some of them into the form does not matter either.
        let (first, rest) = shuffled.split_at(shuffled.len() / 2);
        let reordered = Sent { query: form(first), form: Some(form(rest)), ..sent };
        prop_assert!(reordered.verifies(&SECRETS));
    }

    #[test]
    fn every_value_is_returned(pairs in pairs()) {
        let sent = Draft::new(ParameterLocation::Header).query(&form(&pairs)).signed();
        let read = sent.read().unwrap();
        for (name, value) in &pairs {
            let Ok(name_text) = std::str::from_utf8(name) else { continue };
            let found = read.parameter(name_text);
            if pairs.iter().filter(|(parameter, _)| parameter == name).count() > 1 {
                prop_assert!(found.is_err());
            } else {
                prop_assert_eq!(found.ok().flatten(), std::str::from_utf8(value).ok());
            }
        }
    }
}

/// Reading takes time linear in the length, for any repetition.
#[test]
fn the_largest_request_is_read_quickly() {
    let nothing = Request {
        method: "GET",
        origin: "https://example.com",
        path: "/",
        query: b"",
        authorization: None,
        form: None,
    };
    let long_name = "a".repeat(1_000);
    let forms =
        [format!("{long_name}=b&").repeat(980), "a&".repeat(980), "%".repeat(1 << 20), "a=%41&".repeat(980)];
    for form in &forms {
        let request =
            Request { authorization: Some(NEARLY.as_bytes()), form: Some(form.as_bytes()), ..nothing };
        let started = std::time::Instant::now();
        let signed = request.read().unwrap();
        assert!(signed.verify(&SECRETS).is_err());
        assert!(started.elapsed().as_secs() < 2, "{:?}", started.elapsed());
    }
}
