//! Assertions about refusals.

use super::super::support::client::Answer;

/// The answer has the status and gives the reason twice: as our `reason` in the document, and as `oauth_problem` of the
/// problem-reporting extension in the document and in the challenge.
pub(crate) fn refused(answer: &Answer, status: u16, reason: &str, oauth_problem: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let document = answer.json();
    assert_eq!(
        (document["reason"].as_str(), document["oauth_problem"].as_str()),
        (Some(reason), Some(oauth_problem))
    );
    let challenges = answer.all("www-authenticate");
    let word = format!("oauth_problem=\"{oauth_problem}\"");
    let has_problem = |challenge: &&str| challenge.starts_with("OAuth realm=") && challenge.contains(&word);
    assert!(challenges.iter().any(has_problem), "{challenges:?}");
    let basic = challenges.iter().any(|challenge| challenge.starts_with("Basic realm="));
    assert_eq!(basic, status == 401, "{challenges:?}");
}

/// Refused because of its signature.
pub(crate) fn not_signed_by(answer: &Answer) {
    refused(answer, 401, "signature-invalid", "signature_invalid");
}

/// A further parameter of the extension, from the document; the challenge repeats it.
pub(crate) fn reported(answer: &Answer, name: &str) -> String {
    let document = answer.json()[name].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned();
    let encoded = super::super::support::signer::encode(&document);
    let challenge = answer.all("www-authenticate").join(", ");
    assert!(challenge.contains(&format!("{name}=\"{encoded}\"")), "{challenge}");
    document
}

/// All bytes of the answer, to search for secrets.
pub(crate) fn all_text(answer: &Answer) -> String {
    format!("{:?}\n{}", answer.headers, String::from_utf8_lossy(&answer.body))
}
