//! Invariants for any input. Depends only on the crate, so a fuzzer can include it.

use oauth1::{Malformed, Request, Secrets};

/// Reads a request made of `data`: header, query and form on a line each. A request that can be read must be
/// consistent; an error must have a message.
pub(crate) fn check(data: &[u8]) {
    let mut lines = data.splitn(3, |&byte| byte == b'\n');
    let authorization = lines.next();
    let query = lines.next().unwrap_or_default();
    let form = lines.next();
    let request =
        Request { method: "post", origin: "HTTPS://Example.com:443", path: "", query, authorization, form };
    let signed = match request.read() {
        Ok(signed) => signed,
        Err(refusal) => return check_refusal(&request, &refusal),
    };
    assert!(request.is_signed(), "a request that can be read is signed");

    let base_string = signed.base_string();
    assert!(base_string.starts_with("POST&https%3A%2F%2Fexample.com%2F&"), "{base_string}");
    assert_eq!(base_string.matches('&').count(), 2, "{base_string}");
    let names = signed.parameter_names();
    assert!(names.is_sorted(), "{names:?}");
    assert!(names.iter().any(|name| name == "oauth_consumer_key"), "{names:?}");
    assert!(names.iter().all(|name| name != "oauth_signature"), "the signature is not signed");
    assert_eq!(signed.parameter("oauth_consumer_key"), Ok(Some(signed.consumer_key())));
    assert_eq!(
        signed.parameter("oauth_token").unwrap_or_default().unwrap_or_default(),
        signed.token().unwrap_or_default()
    );
    for name in &names {
        let value = signed.parameter(name);
        assert!(!matches!(value, Err(Malformed::Absent { .. })), "{name}");
    }
    let _ = signed.verify(&Secrets { consumer: b"a", token: b"", rsa_key: None });
    let _ = signed.check_timestamp(u64::MAX, u64::MAX);
    assert_eq!(
        signed.check_body(b"body").is_ok(),
        !signed.has_body_hash() || signed.check_body(b"body").is_ok()
    );
    assert!(!format!("{signed:?}").is_empty(), "empty text");
}

fn check_refusal(request: &Request<'_>, refusal: &Malformed) {
    assert!(!refusal.to_string().is_empty(), "empty text");
    assert!(!refusal.problem().as_str().is_empty(), "empty problem");
    let all_five = matches!(refusal, Malformed::Absent { names } if names.len() == 5);
    // An unsigned request lacks all parameters, unless it is too large.
    let too_much = matches!(refusal, Malformed::TooManyParameters | Malformed::FormTooLong);
    assert!(request.is_signed() || all_five || too_much, "{refusal}");
}
