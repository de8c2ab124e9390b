//! The examples of the specifications.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oauth1::{Request, Secrets, SignatureMethod, encode};

use crate::support::sign;

const fn secrets<'a>(consumer: &'a str, token: &'a str) -> Secrets<'a> {
    Secrets { consumer: consumer.as_bytes(), token: token.as_bytes(), rsa_key: None }
}

fn header(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", encode(value.as_bytes()))).collect();
    format!("OAuth realm=\"Example\", {}", pairs.join(", "))
}

#[track_caller]
fn assert_verifies(request: Request<'_>, pairs: &[(&str, &str)], secrets: &Secrets<'_>) {
    let header = header(pairs);
    let signed = Request { authorization: Some(header.as_bytes()), ..request }.read().unwrap();
    assert_eq!(signed.verify(secrets), Ok(()), "{}", signed.base_string());
    let wrong = Secrets { consumer: b"another secret", rsa_key: None, ..*secrets };
    assert!(signed.verify(&wrong).is_err(), "verifies with another secret");
}

/// RFC 5849, section 3.4.1. The signature printed there is wrong (erratum 2550).
#[test]
fn rfc_5849_base_string() {
    let pairs = [
        ("oauth_consumer_key", "9djdj82h48djs9d2"),
        ("oauth_token", "kkk9d7dh3k39sjv7"),
        ("oauth_signature_method", "HMAC-SHA1"),
        ("oauth_timestamp", "137131201"),
        ("oauth_nonce", "7d8f3e4a"),
        ("oauth_signature", "r6/TJjbCOr97/+UU0NsvSne7s5g="),
    ];
    let header = header(&pairs);
    let request = Request {
        method: "POST",
        origin: "http://EXAMPLE.COM:80",
        path: "/request",
        query: b"b5=%3D%253D&a3=a&c%40=&a2=r%20b",
        authorization: Some(header.as_bytes()),
        form: Some(b"c2&a3=2+q"),
    };
    let signed = request.read().unwrap();
    assert_eq!(
        signed.base_string(),
        "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D\
         %26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a\
         %26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
    );
    assert_eq!(signed.base_uri(), "http://example.com/request");
    assert!(signed.has_bare_plus());
    assert_eq!(
        signed.parameter_names(),
        [
            "a2",
            "a3",
            "a3",
            "b5",
            "c%40",
            "c2",
            "oauth_consumer_key",
            "oauth_nonce",
            "oauth_signature_method",
            "oauth_timestamp",
            "oauth_token"
        ]
    );
    let secrets = secrets("j49sk3j29djd", "dh893hdasih9");
    assert_verifies(request, &pairs, &secrets);
    assert_eq!(
        sign(&signed, hmac::HMAC_SHA256, &secrets),
        "lIfydhbOitvsm4DvUwgM0NdR1Mzd08HnXI+q+EG0QKo=",
        "the same bytes, signature method included"
    );
}

const fn photos<'a>(method: &'a str, origin: &'a str, path: &'a str, query: &'a [u8]) -> Request<'a> {
    Request { method, origin, path, query, authorization: None, form: None }
}

/// RFC 5849, section 1.2, and the PLAINTEXT example of section 2.3.
#[test]
fn rfc_5849_flow() {
    let consumer = "kd94hf93k423kf44";
    assert_verifies(
        photos("POST", "https://photos.example.net", "/initiate", b""),
        &[
            ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "137131200"),
            ("oauth_nonce", "wIjqoS"),
            ("oauth_callback", "http://printer.example.com/ready"),
            ("oauth_signature", "74KNZJeDHnMBp0EMJ9ZHt/XKycU="),
        ],
        &secrets(consumer, ""),
    );
    assert_verifies(
        photos("POST", "https://photos.example.net", "/token", b""),
        &[
            ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
            ("oauth_token", "hh5s93j4hdidpola"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "137131201"),
            ("oauth_nonce", "walatlh"),
            ("oauth_verifier", "hfdp7dh39dks9884"),
            ("oauth_signature", "gKgrFCywp7rO0OXSjdot/IHF7IU="),
        ],
        &secrets(consumer, "hdhd0244k9j7ao03"),
    );
    assert_verifies(
        photos("GET", "http://photos.example.net", "/photos", b"file=vacation.jpg&size=original"),
        &[
            ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
            ("oauth_token", "nnch734d00sl2jdk"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "137131202"),
            ("oauth_nonce", "chapoH"),
            ("oauth_signature", "MdpQcU8iPSUjWoN/UDMsK2sui9I="),
        ],
        &secrets(consumer, "pfkkdhi9sl3r4s00"),
    );
    assert_verifies(
        photos("POST", "https://server.example.com", "/request_token", b""),
        &[
            ("oauth_consumer_key", "jd83jd92dhsh93js"),
            ("oauth_token", "hdk48Djdsa"),
            ("oauth_signature_method", "PLAINTEXT"),
            ("oauth_verifier", "473f82d3"),
            ("oauth_signature", "ja893SD9&xyz4992k83j47x0b"),
        ],
        &secrets("ja893SD9", "xyz4992k83j47x0b"),
    );
}

const APPENDIX_A: [(&str, &str); 5] = [
    ("oauth_consumer_key", "dpf43f3p2l4k3l03"),
    ("oauth_token", "nnch734d00sl2jdk"),
    ("oauth_timestamp", "1191242096"),
    ("oauth_nonce", "kllo9940pd9333jh"),
    ("oauth_version", "1.0"),
];

/// OAuth Core 1.0, appendix A: the same request by three methods.
fn appendix_a(method: &str, signature: &str, secrets: &Secrets<'_>) {
    let mut pairs = APPENDIX_A.to_vec();
    pairs.extend([("oauth_signature_method", method), ("oauth_signature", signature)]);
    let request = photos("GET", "http://photos.example.net", "/photos", b"file=vacation.jpg&size=original");
    let header = header(&pairs);
    let signed = Request { authorization: Some(header.as_bytes()), ..request }.read().unwrap();
    assert_eq!(Some(signed.signature_method()), SignatureMethod::from_name(method));
    assert_eq!((signed.consumer_key(), signed.token()), ("dpf43f3p2l4k3l03", Some("nnch734d00sl2jdk")));
    assert_eq!((signed.timestamp(), signed.nonce()), (Some(1_191_242_096), Some("kllo9940pd9333jh")));
    assert_verifies(request, &pairs, secrets);
}

#[test]
fn oauth_core_appendix_a() {
    let secrets = secrets("kd94hf93k423kf44", "pfkkdhi9sl3r4s00");
    appendix_a("HMAC-SHA1", "tR3+Ty81lMeYAr/Fid0kMTYa/WM=", &secrets);
    appendix_a("HMAC-SHA256", "WVPzl1j6ZsnkIjWr7e3OZ3jkenL57KwaLFhYsroX1hg=", &secrets);
}

/// A key made for this test, and its signature, by OpenSSL 3.0.
#[test]
fn oauth_core_appendix_a_by_rsa() {
    let key = STANDARD.decode(RSA_KEY).unwrap();
    let secrets = Secrets { consumer: b"", token: b"", rsa_key: Some(&key) };
    appendix_a("RSA-SHA1", RSA_SIGNATURE, &secrets);
}

const RSA_KEY: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEArbWHfu0uEcP9kCskeG77gomRNXk3VDmECaAJkV2WOqVrKdL8Q8fm4sMt\
    KFlUnH3nvexcx+M75ldz1tlhsGulbiC9kHI4WlS6FrZgU2Uy2OvcufmQJcMHQiFgdGw5mM4iYsfdsoypEoJS7SX8GdxHQ3ANmXQ7\
    d3+yUpy2oFt2c2LHw/eZiPwMlQNjDg30dyT5/Rgz/O70Bs+MLHmYnnz92vcoxaM0ub85OR9KLeAUrI3erbUGDV/BX0aXv4PwX9mx\
    N9gab+yUitHGcZw+QZVSNnUtIOOvDp9Sl/Yo8zb8M9mnijIknq1tWg7FFVG7k7YaKT/Qllh0sYFUAFwPdIff9QIDAQAB";

const RSA_SIGNATURE: &str = "rKU21Mg55d9rP1CO2v0ldPOXlJ8vgwHnbEQaxT2bIbLmvlHxbrWZ897Nn56O1I9SYGagP0XjCJj7jlkUlqVAovo8LYyl7p/DkQB7\
    uHlz4NIzHZHuws6noK4P1OZjUCNdcwjqYPwhD3rmtPOjltf246EMmyVjX+yCgTAxnn1a09oA01sP5RFa6f4QbMkbzU33jzPbl1no\
    8pxnanLnUAP6T0YI7cW6n8s8cPF9ZA1bOASbgyG2LE35f8C3bhc2eSO13mUkT5BxKtHzgB3JLRitnX8e52YcOz59IrRbQ39a+29Q\
    qC4sqeQVd6/eGs1Wpxu5nE3Y1LYoLUyY7n8n70pCeA==";

/// RFC 5849, section 3.4.1.3.2, step 2, and characters beyond ASCII.
#[test]
fn names_and_values_sort_as_encoded_bytes() {
    let request = Request {
        query: "z=1&a_b=1&aB=1&a-b=1&A=1&é=1&a=2&a0=1&a=~&a=-&a=%20&a=1&a%20=1".as_bytes(),
        authorization: Some(
            b"OAuth oauth_consumer_key=\"k\", oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"s\"",
        ),
        ..photos("GET", "https://example.com", "/", b"")
    };
    let signed = request.read().unwrap();
    assert_eq!(
        signed.base_string().rsplit('&').next().unwrap().replace("%26", "&").replace("%3D", "="),
        "%25C3%25A9=1&A=1&a=%2520&a=-&a=1&a=2&a=~&a%2520=1&a-b=1&a0=1&aB=1&a_b=1&\
         oauth_consumer_key=k&oauth_signature_method=PLAINTEXT&z=1"
    );
}

#[test]
fn encoding() {
    let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    assert_eq!(encode(unreserved.as_bytes()), unreserved);
    assert_eq!(encode(b" !\"#$%&'()*+,/"), "%20%21%22%23%24%25%26%27%28%29%2A%2B%2C%2F");
    assert_eq!(encode(b":;<=>?@[\\]^`{|}"), "%3A%3B%3C%3D%3E%3F%40%5B%5C%5D%5E%60%7B%7C%7D");
    assert_eq!(encode(&[0, 0x7F, 0x80, 0xFF]), "%00%7F%80%FF");
    assert_eq!(encode("é✓".as_bytes()), "%C3%A9%E2%9C%93");
}
