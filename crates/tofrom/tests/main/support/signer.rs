//! The client side of OAuth 1.0a, written from RFC 5849 and independent of the crate that the service verifies with. It
//! signs requests, and alters them as a test asks.

mod encoding;

pub(crate) use encoding::{decoded, encode};

use super::client::{Answer, Client};
use aws_lc_rs::{digest, hmac};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The location of protocol parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    Header,
    Query,
    Form,
}

pub(crate) const LOCATIONS: [ParameterLocation; 3] =
    [ParameterLocation::Header, ParameterLocation::Query, ParameterLocation::Form];

/// A key and its secret: of an application, of a temporary token or of an access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) secret: String,
}

impl Pair {
    pub(crate) fn new(key: &str, secret: &str) -> Pair {
        Pair { key: key.to_owned(), secret: secret.to_owned() }
    }

    /// The same key with another secret.
    pub(crate) fn with_secret(&self, secret: &str) -> Pair {
        Pair::new(&self.key, secret)
    }
}

/// A request that is not signed yet.
#[derive(Clone)]
pub(crate) struct Draft {
    origin: String,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    location: ParameterLocation,
    protocol: Vec<(String, String)>,
    secrets: [String; 2],
    form: Option<String>,
    other_body: Vec<u8>,
    rsa_key: Option<PathBuf>,
    signed: bool,
    shape: [&'static str; 3],
}

/// A signed request. The signature does not cover later changes.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Draft {
    /// A request of that application to a service at `origin`, signed with HMAC-SHA1 in the header.
    pub(crate) fn new(origin: &str, method: &str, target: &str, application: &Pair) -> Draft {
        let protocol = [
            ("oauth_consumer_key", application.key.clone()),
            ("oauth_signature_method", "HMAC-SHA1".to_owned()),
            ("oauth_timestamp", now().to_string()),
            ("oauth_nonce", nonce()),
            ("oauth_version", "1.0".to_owned()),
        ];
        Draft {
            origin: origin.to_owned(),
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            location: ParameterLocation::Header,
            protocol: protocol.map(|(name, value)| (name.to_owned(), value)).into(),
            secrets: [application.secret.clone(), String::new()],
            form: None,
            other_body: Vec::new(),
            rsa_key: None,
            signed: true,
            shape: ["OAuth ", "realm=\"feeds\", ", ", "],
        }
    }

    pub(crate) fn token(mut self, token: &Pair) -> Draft {
        self.secrets[1] = token.secret.clone();
        self.set("oauth_token", &token.key)
    }

    pub(crate) fn method(mut self, method: &str) -> Draft {
        self.method = method.to_owned();
        self
    }

    pub(crate) fn signature_method(self, method: &str) -> Draft {
        self.set("oauth_signature_method", method)
    }

    /// Signs with RSA-SHA1 and the private key in that file.
    pub(crate) fn rsa(mut self, key: &std::path::Path) -> Draft {
        self.rsa_key = Some(key.to_owned());
        self.signature_method("RSA-SHA1")
    }

    pub(crate) fn location(mut self, location: ParameterLocation) -> Draft {
        self.location = location;
        self
    }

    /// Sets a protocol parameter, replacing an existing one.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Draft {
        self.protocol.retain(|(known, _)| known != name);
        self.add(name, value)
    }

    /// Adds a protocol parameter beside an existing one.
    pub(crate) fn add(mut self, name: &str, value: &str) -> Draft {
        self.protocol.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Draft {
        self.protocol.retain(|(known, _)| known != name);
        self.signed &= name != "oauth_signature";
        self
    }

    /// Sets the timestamp to that many seconds from now.
    pub(crate) fn seconds_away(self, seconds: i64) -> Draft {
        let then = now().checked_add_signed(seconds).unwrap();
        self.set("oauth_timestamp", &then.to_string())
    }

    pub(crate) fn query(mut self, query: &str) -> Draft {
        let mark = if self.target.contains('?') { '&' } else { '?' };
        self.target = format!("{}{mark}{query}", self.target);
        self
    }

    /// Sets a form as the body; it is signed.
    pub(crate) fn form(mut self, form: &str) -> Draft {
        self.form = Some(form.to_owned());
        self
    }

    /// Sets any other body; it is not signed.
    pub(crate) fn body(mut self, media_type: &str, body: &[u8]) -> Draft {
        self.other_body = body.to_vec();
        self.header("Content-Type", media_type)
    }

    pub(crate) fn body_hash(self, body: &[u8]) -> Draft {
        let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, body);
        self.set("oauth_body_hash", &BASE64_STANDARD.encode(hash))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Draft {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The syntax of the header: scheme and realm, each with its trailing characters, and the separator.
    pub(crate) fn shape(mut self, scheme: &'static str, realm: &'static str, between: &'static str) -> Draft {
        self.shape = [scheme, realm, between];
        self
    }

    /// The signature base string: RFC 5849, section 3.4.1.
    fn base_string(&self) -> String {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let mut pairs = decoded(query);
        pairs.extend(decoded(self.form.as_deref().unwrap_or_default()));
        pairs.extend(self.protocol.iter().map(|(name, value)| (name.clone().into(), value.clone().into())));
        let mut pairs: Vec<_> = pairs.iter().map(|(name, value)| (encode(name), encode(value))).collect();
        pairs.retain(|(name, _)| name != "oauth_signature");
        pairs.sort();
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let uri = format!("{}{path}", self.origin);
        [&self.method, &uri, &pairs.join("&")].map(encode).join("&")
    }

    fn signature(&self) -> String {
        let key = self.secrets.each_ref().map(encode).join("&");
        let named = self.protocol.iter().find(|(name, _)| name == "oauth_signature_method");
        let hmac = |algorithm| {
            let key = hmac::Key::new(algorithm, key.as_bytes());
            BASE64_STANDARD.encode(hmac::sign(&key, self.base_string().as_bytes()))
        };
        match named.map(|(_, how)| how.as_str()) {
            Some("PLAINTEXT") => key,
            Some("HMAC-SHA256") => hmac(hmac::HMAC_SHA256),
            Some("RSA-SHA1") if let Some(key) = &self.rsa_key => by_openssl(key, &self.base_string()),
            _ => hmac(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        }
    }

    pub(crate) fn sign(mut self) -> Sent {
        if self.signed && !self.protocol.iter().any(|(name, _)| name == "oauth_signature") {
            let signature = self.signature();
            self.protocol.push(("oauth_signature".to_owned(), signature));
        }
        let written = |quote: &str, between: &str| {
            let pairs = self.protocol.iter().map(|(name, value)| (encode(name), encode(value)));
            pairs
                .map(|(name, value)| format!("{name}={quote}{value}{quote}"))
                .collect::<Vec<_>>()
                .join(between)
        };
        match self.location {
            ParameterLocation::Header => {
                let [scheme, realm, between] = self.shape;
                let value = format!("{scheme}{realm}{}", written("\"", between));
                self = self.header("Authorization", &value);
            }
            ParameterLocation::Query => self = self.clone().query(&written("", "&")),
            ParameterLocation::Form => {
                let prefix = self.form.take().map(|form| format!("{form}&")).unwrap_or_default();
                self.form = Some(format!("{prefix}{}", written("", "&")));
            }
        }
        if self.form.is_some() && !self.headers.iter().any(|(name, _)| name == "Content-Type") {
            self = self.header("Content-Type", "application/x-www-form-urlencoded");
        }
        let body = self.form.map_or(self.other_body, String::into_bytes);
        Sent { method: self.method, target: self.target, headers: self.headers, body }
    }

    pub(crate) fn send(self, client: &Client) -> Answer {
        self.sign().send(client)
    }
}

impl Sent {
    pub(crate) fn send(&self, client: &Client) -> Answer {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        client.send(&self.method, &self.target, &headers, &self.body)
    }

    /// The value of an existing header.
    pub(crate) fn header(&mut self, name: &str) -> &mut String {
        &mut self.headers.iter_mut().find(|(known, _)| known == name).unwrap().1
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Unique within the process.
pub(crate) fn nonce() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!("{nanos:x}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Signs with the openssl program: the library of the service verifies RSA-SHA1 but cannot sign with it.
fn by_openssl(key: &std::path::Path, text: &str) -> String {
    let mut signing = Command::new("openssl")
        .args(["dgst", "-sha1", "-sign"])
        .arg(key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    signing.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let signed = signing.wait_with_output().unwrap();
    assert!(signed.status.success(), "openssl failed to sign");
    BASE64_STANDARD.encode(signed.stdout)
}
