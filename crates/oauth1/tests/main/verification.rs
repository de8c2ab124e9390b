//! Valid and invalid signatures, timestamps and body hashes.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair as _, RsaKeyPair};
use oauth1::{BodyHashMismatch, Problem, Secrets, SignatureInvalid, SignatureMethod, TimestampRefused};

use crate::support::{Draft, ParameterLocation, SECRETS, Sent};

fn signature_of(sent: &Sent) -> String {
    let header = sent.authorization.as_deref().unwrap();
    let after = header.split("oauth_signature=\"").nth(1).unwrap();
    after.split('"').next().unwrap().replace("%2B", "+").replace("%2F", "/").replace("%3D", "=")
}

#[track_caller]
fn assert_invalid(draft: &Draft, signature: &str, secrets: &Secrets<'_>) {
    let sent = draft.clone().with("oauth_signature", signature).sent();
    assert_eq!(sent.read().unwrap().verify(secrets), Err(SignatureInvalid), "{signature}");
}

#[test]
fn altered_signatures_are_rejected() {
    for method in ["HMAC-SHA1", "HMAC-SHA256"] {
        let draft = Draft::new(ParameterLocation::Header).with("oauth_signature_method", method);
        let right = signature_of(&draft.signed());
        assert_eq!(right.len(), 28);
        let bent = [
            right[..8].to_owned(),
            format!("{right}A"),
            format!("{right}="),
            format!("{right} "),
            right.trim_end_matches('=').to_owned(),
            right.to_lowercase(),
            right.replace('=', "%3D"),
            "*é*".to_owned(),
            "=".to_owned(),
            "A".repeat(28),
            "AAAA".to_owned(),
        ];
        bent.iter().for_each(|bent| assert_invalid(&draft, bent, &SECRETS));
    }
    // The last letter has unused bits; setting them gives another spelling of the same bytes.
    let draft = Draft::new(ParameterLocation::Header);
    let right = signature_of(&draft.signed());
    let last = right.as_bytes()[26];
    assert!(draft.signed().verifies(&SECRETS) && b"AEIMQUYcgkosw048".contains(&last));
    let same_bytes = format!("{}{}=", &right[..26], char::from(last + 1));
    assert_invalid(&draft, &same_bytes, &SECRETS);
}

#[test]
fn other_secrets_are_rejected() {
    let sent = Draft::new(ParameterLocation::Header).signed();
    assert!(sent.verifies(&SECRETS));
    let others: [(&[u8], &[u8]); 6] = [
        (b"", b""),
        (SECRETS.consumer, b""),
        (b"", SECRETS.token),
        (SECRETS.token, SECRETS.consumer),
        (b"consumer%20secret", SECRETS.token),
        (b"consumer secret&token & secret", b""),
    ];
    for (consumer, token) in others {
        assert!(!sent.verifies(&Secrets { consumer, token, rsa_key: None }));
    }
}

#[test]
fn plaintext_compares_the_secrets() {
    let draft = Draft::new(ParameterLocation::Form).with("oauth_signature_method", "PLAINTEXT");
    let right = "consumer%20secret&token%20%26%20secret";
    assert!(draft.clone().with("oauth_signature", right).sent().verifies(&SECRETS));
    for wrong in [
        "consumer secret&token & secret",
        "consumer%20secret",
        "consumer%20secret&",
        "&token%20%26%20secret",
        "&",
        "consumer%20secret&token%20%26%20secreT",
        "consumer%20secret&token%20%26%20secret ",
    ] {
        assert_invalid(&draft, wrong, &SECRETS);
    }
    let nothing = Secrets { consumer: b"", token: b"", rsa_key: None };
    assert!(draft.with("oauth_signature", "&").sent().verifies(&nothing));
}

#[test]
fn rsa_requires_the_registered_key() {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let key: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
    let draft = Draft::new(ParameterLocation::Header).with("oauth_signature_method", "RSA-SHA1");
    // An HMAC with the public key is the classic attack on a server that confuses keys and secrets.
    let hmac = signature_of(&draft.signed());
    for key in [None, Some(key.as_ref()), Some(&b"no key"[..]), Some(&b""[..])] {
        for signature in
            [hmac.as_str(), &"A".repeat(344), "no base64", "consumer%20secret&token%20%26%20secret"]
        {
            assert_invalid(&draft, signature, &Secrets { rsa_key: key, ..SECRETS });
        }
    }
}

#[test]
fn timestamps_outside_of_the_window_are_refused() {
    let now = 1_700_000_000;
    let at = |seconds: u64| {
        Draft::new(ParameterLocation::Header)
            .with("oauth_timestamp", &seconds.to_string())
            .signed()
            .read()
            .unwrap()
    };
    for away in [0, 1, 299, 300] {
        assert_eq!(at(now - away).check_timestamp(now, 300), Ok(()));
        assert_eq!(at(now + away).check_timestamp(now, 300), Ok(()));
    }
    let refused = TimestampRefused { from: now - 300, to: now + 300 };
    for seconds in [1, now - 301, now + 301, u64::MAX] {
        assert_eq!(at(seconds).check_timestamp(now, 300), Err(refused));
    }
    assert_eq!(refused.problem(), Problem::TimestampRefused);
    assert!(refused.to_string().contains("from 1699999700 to 1700000300"), "{refused}");
    assert_eq!(at(5).check_timestamp(10, 300), Ok(()));
    assert_eq!(at(u64::MAX).check_timestamp(u64::MAX - 1, u64::MAX), Ok(()));

    let plaintext = Draft::new(ParameterLocation::Header)
        .with("oauth_signature_method", "PLAINTEXT")
        .and("oauth_signature", "x");
    assert_eq!(plaintext.sent().read().unwrap().check_timestamp(5, 0), Ok(()));
    let bare = plaintext.without("oauth_timestamp").without("oauth_nonce");
    assert_eq!(bare.sent().read().unwrap().check_timestamp(5, 0), Ok(()));
}

#[test]
fn body_hashes_are_checked() {
    let none = Draft::new(ParameterLocation::Header).signed().read().unwrap();
    assert!(!none.has_body_hash());
    assert_eq!(none.check_body(b"content"), Ok(()));
    // The example of the extension, and the hash of an empty body.
    for (body, hash) in
        [(&b"Hello World!"[..], "Lve95gjOVATpfV8EL5X4nxwjKHE="), (b"", "2jmj7l5rSw0yVb/vlWAYkK/YBwk=")]
    {
        let sent = Draft::new(ParameterLocation::Header).and("oauth_body_hash", hash).signed();
        let read = sent.read().unwrap();
        assert!(sent.verifies(&SECRETS) && read.has_body_hash());
        assert_eq!(read.check_body(body), Ok(()));
        assert_eq!(read.check_body(b"Hello World"), Err(BodyHashMismatch));
    }
    for wrong in ["", "x", "Lve95gjOVATpfV8EL5X4nxwjKHE", "f4OxZX/x/FO5LcGBSKHWXfwtSx+j1ncoSt3SABJtkGk="] {
        let read =
            Draft::new(ParameterLocation::Header).and("oauth_body_hash", wrong).signed().read().unwrap();
        assert_eq!(read.check_body(b"Hello World!"), Err(BodyHashMismatch), "{wrong}");
    }
    assert_eq!(BodyHashMismatch.problem(), Problem::SignatureInvalid);
}

#[test]
fn debug_output_contains_no_values() {
    let values = ["sikrit-key", "sikrit-token", "sikrit-nonce", "sikrit-value"];
    let sent = Draft::new(ParameterLocation::Header)
        .with("oauth_consumer_key", values[0])
        .with("oauth_token", values[1])
        .with("oauth_nonce", values[2])
        .query("count=sikrit-value")
        .signed();
    let signature = signature_of(&sent);
    let read = sent.read().unwrap();
    let shown = format!("{:?} {read:?} {:?} {SignatureInvalid}", sent.request(), SECRETS);
    assert!(!shown.contains("sikrit") && !shown.contains(&signature[..8]), "{shown}");
    assert!(!shown.contains("consumer secret") && !shown.contains("token &"), "{shown}");
    assert!(shown.contains("oauth_nonce") && shown.contains("count"), "{shown}");
}

#[test]
fn method_names_round_trip() {
    for method in [
        SignatureMethod::HmacSha1,
        SignatureMethod::HmacSha256,
        SignatureMethod::RsaSha1,
        SignatureMethod::Plaintext,
    ] {
        assert_eq!(SignatureMethod::from_name(method.as_str()), Some(method));
        assert_eq!(method.to_string(), method.as_str());
    }
    assert_eq!(SignatureMethod::from_name(""), None);
}
