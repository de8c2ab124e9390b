//! Requests of independent clients verify, and altered ones do not.
//!
//! `OAUTH1_REQUESTS` sets the number of requests of each signer, 10,000 by default; `OAUTH1_SEED` selects
//! others.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use oauth1::Secrets;

use crate::alterations::{ALTERATIONS, alterations, other_signature};
use crate::rust_signer;
use crate::support::{Random, Sent};

const SET_UP: &str = "python3 -m venv makes it; it needs `pip install oauthlib==4.0.1 cryptography`";

/// A request made by a signer.
#[derive(serde::Deserialize)]
pub(crate) struct SignerRequest {
    #[serde(flatten)]
    pub(crate) sent: Sent,
    /// A body that is not a form.
    pub(crate) body: Option<String>,
    pub(crate) consumer_secret: String,
    pub(crate) token_secret: String,
    /// The base string of the signer, if it reports one.
    pub(crate) base_string: Option<String>,
    pub(crate) location: String,
    pub(crate) signature_method: String,
}

impl SignerRequest {
    /// Asserts that the request verifies, and that altered requests and other secrets do not. Returns the
    /// alterations.
    fn check(&self, rsa_key: &[u8], random: &mut Random) -> Vec<&'static str> {
        let secrets = Secrets {
            consumer: self.consumer_secret.as_bytes(),
            token: self.token_secret.as_bytes(),
            rsa_key: Some(rsa_key),
        };
        let sent = &self.sent;
        assert!(sent.request().is_signed(), "{sent:?}");
        let signed = sent.read().unwrap_or_else(|refusal| panic!("{refusal}: {sent:?}"));
        if let Some(base_string) = &self.base_string {
            assert_eq!(signed.base_string(), *base_string, "{sent:?}");
        }
        assert_eq!(
            signed.verify(&secrets),
            Ok(()),
            "{}\n{sent:?} {:?} {:?}",
            signed.base_string(),
            self.consumer_secret,
            self.token_secret
        );
        assert_eq!(signed.signature_method().as_str(), self.signature_method);
        let body = self.body.as_deref().unwrap_or_default().as_bytes();
        assert_eq!(signed.check_body(body), Ok(()), "{sent:?}");
        assert_eq!(signed.check_body(b"another body").is_err(), signed.has_body_hash());

        let mut altered = match self.signature_method.as_str() {
            "PLAINTEXT" => {
                Vec::from_iter(other_signature(sent, random).map(|sent| ("oauth_signature", sent)))
            }
            _ => alterations(sent, random),
        };
        // A selection: all of them on all requests would take half a minute.
        let first = random.below(altered.len());
        altered.rotate_left(first);
        altered.truncate(3);
        for (kind, altered) in &altered {
            assert!(!altered.verifies(&secrets), "with {kind} altered: {altered:?}\nof {sent:?}");
        }
        if self.signature_method != "RSA-SHA1" {
            let consumer = [secrets.consumer, b"x"].concat();
            assert!(signed.verify(&Secrets { consumer: &consumer, ..secrets }).is_err(), "{sent:?}");
            let token = [secrets.token, b"x"].concat();
            assert!(signed.verify(&Secrets { token: &token, ..secrets }).is_err(), "{sent:?}");
        }
        altered.into_iter().map(|(kind, _)| kind).collect()
    }
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

/// Checks all requests and returns their number by method and by location.
fn check_all(requests: impl Iterator<Item = SignerRequest>, rsa_key: &[u8]) -> BTreeMap<String, usize> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut seen, mut altered) = (BTreeMap::new(), BTreeMap::<&str, usize>::new());
    for request in requests {
        for kind in request.check(rsa_key, &mut random) {
            *altered.entry(kind).or_default() += 1;
        }
        for kind in [&request.signature_method, &request.location] {
            *seen.entry(kind.clone()).or_default() += 1;
        }
    }
    let requests = seen.values().sum::<usize>() / 2;
    assert_eq!(altered.len(), ALTERATIONS, "{altered:?}");
    assert!(altered.values().all(|count| count * 20 > requests), "{altered:?}");
    seen
}

/// The Python interpreter with oauthlib, as the project's setup installs it.
fn python() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
    let python = cache.join("tofrom/python/bin/python");
    assert!(python.is_file(), "{} is missing: {SET_UP}", python.display());
    python
}

fn check_python(signer: &str) {
    let count = number("OAUTH1_REQUESTS", 10_000);
    let rsa_count = count / 20;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/sign.py");
    let arguments = [count, rsa_count, number("OAUTH1_SEED", 5849)].map(|number| number.to_string());
    let run = Command::new(python()).args(["-B", script, signer]).args(arguments).output().unwrap();
    assert!(run.status.success(), "{}\n{SET_UP}", String::from_utf8_lossy(&run.stderr));
    let mut lines = std::str::from_utf8(&run.stdout).unwrap().lines();
    let key: BTreeMap<String, String> = serde_json::from_str(lines.next().unwrap()).unwrap();
    let key = hex(&key["rsa_key"]);
    let seen = check_all(lines.map(|line| serde_json::from_str(line).expect(line)), &key);
    assert_eq!(seen["RSA-SHA1"], rsa_count);
    for methods in [&["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT", "RSA-SHA1"][..], &["header", "query", "form"]]
    {
        let counts = methods.iter().map(|method| seen[*method]);
        assert!(counts.clone().all(|seen| seen * 30 > count), "{seen:?}");
        assert_eq!(counts.sum::<usize>(), count, "{seen:?}");
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn a_signer_written_from_the_rfc() {
    check_python("reference");
}

#[test]
fn oauthlib() {
    check_python("oauthlib");
}

#[test]
fn oauth1_request() {
    let count = number("OAUTH1_REQUESTS", 10_000);
    let mut random = Random(number("OAUTH1_SEED", 5849) as u64 + 1);
    let seen = check_all((0..count).map(|_| rust_signer::random_request(&mut random)), b"");
    assert_eq!(seen["HMAC-SHA1"] + seen["PLAINTEXT"], count);
    assert_eq!(seen["header"] + seen["query"] + seen["form"], count);
}
