//! Random requests signed by the crate oauth1-request, within its limits.
//!
//! Version 0.6.1 does not encode names; it sorts repeated names by values that are not encoded; it leaves the
//! ordinary parameters out of the queries and forms that it writes; and it does not encode the signature of
//! PLAINTEXT, which works in a header with secrets that need no encoding.

use std::num::NonZeroU64;

use oauth1::encode;
use oauth1_request::request::AssertSorted;
use oauth1_request::signature_method::SignatureMethod;
use oauth1_request::{Builder, Credentials, HMAC_SHA1, PLAINTEXT, to_form};

use crate::interop::SignerRequest;
use crate::support::{Random, Sent};

const LOCATIONS: [&str; 3] = ["header", "query", "form"];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];
const PATHS: [&str; 3] = ["/", "/feed", "/a%2Fb/%7e"];
/// The same server, as this signer needs it and as it may be configured.
const ORIGINS: [(&str, &str); 4] = [
    ("https://example.com", "https://example.com"),
    ("https://example.com", "HTTPS://EXAMPLE.com:443/"),
    ("http://[::1]", "http://[::1]:80"),
    ("http://api.example.org:8443", "http://API.example.org:8443"),
];
const LETTERS: [&str; 10] = ["a", "b", "y", "A", "Z", "0", "9", "-", "_", "~"];
const ANY: [&str; 22] = [
    "a", "b", "A", "0", "-", "~", " ", "+", "%", "&", "=", ";", "/", "?", "\"", "\\", "*", "'", "é", "✓",
    "🎉", "\0",
];

fn text(random: &mut Random, longest: usize, pieces: &[&str]) -> String {
    (0..random.below(longest + 1)).map(|_| *random.pick(pieces)).collect()
}

pub(crate) fn random_request(random: &mut Random) -> SignerRequest {
    let (signature_method, locations) =
        *random.pick(&[("HMAC-SHA1", &LOCATIONS[..]), ("HMAC-SHA1", &LOCATIONS), ("PLAINTEXT", &["header"])]);
    let of_secrets = if signature_method == "PLAINTEXT" { &LETTERS[..] } else { &ANY };
    let (origin, configured) = *random.pick(&ORIGINS);
    let mut request = SignerRequest {
        sent: Sent {
            method: random.pick(&METHODS).to_string(),
            origin: configured.to_owned(),
            path: random.pick(&PATHS).to_string(),
            ..Sent::default()
        },
        body: None,
        consumer_secret: text(random, 20, of_secrets),
        token_secret: text(random, 20, of_secrets),
        base_string: None,
        location: random.pick(locations).to_string(),
        signature_method: signature_method.to_owned(),
    };
    match signature_method {
        "PLAINTEXT" => sign(&mut request, PLAINTEXT, origin, random),
        _ => sign(&mut request, HMAC_SHA1, origin, random),
    }
    request
}

fn sign(
    request: &mut SignerRequest,
    signature_method: impl SignatureMethod + Clone,
    origin: &str,
    random: &mut Random,
) {
    let [key, token, nonce] = ["k", "t", "n"].map(|first| first.to_owned() + &text(random, 12, &ANY));
    let mut builder =
        Builder::<_, &str, &str>::new(Credentials::new(&key, &request.consumer_secret), signature_method);
    builder.token(Credentials::new(token.as_str(), request.token_secret.as_str()));
    builder.nonce(nonce.as_str()).timestamp(NonZeroU64::new(1_700_000_000)).version(random.below(2) == 0);
    if random.below(3) == 0 {
        builder.callback("http://127.0.0.1:1/?a=1&b=2").verifier("v e");
    }

    let mut pairs: Vec<(String, String)> =
        (0..random.below(6)).map(|_| (text(random, 2, &LETTERS) + "n", text(random, 9, &ANY))).collect();
    pairs.sort_by_cached_key(|(name, value)| (name.clone(), encode(value.as_bytes())));
    let parameters = AssertSorted::new(pairs.iter().map(|(name, value)| (name, value)));
    let ordinary = to_form(&parameters);

    let sent = &mut request.sent;
    let uri = format!("{origin}{}", sent.path);
    match (request.location.as_str(), random.below(2)) {
        ("query", _) => {
            let signed = builder.to_query(&sent.method, uri, &parameters);
            sent.query = format!("{ordinary}&{}", signed.split_once('?').unwrap().1);
        }
        ("form", _) => {
            sent.form = Some(format!("{}&{ordinary}", builder.to_form(&sent.method, &uri, &parameters)));
        }
        (_, in_form) => {
            sent.authorization = Some(builder.authorize(&sent.method, &uri, &parameters));
            match in_form {
                0 => sent.form = Some(ordinary),
                _ => sent.query = ordinary,
            }
        }
    }
}
