//! Test requests, and a small client that writes and signs them.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oauth1::{Malformed, Request, Secrets, Signed, encode};

pub(crate) const SECRETS: Secrets<'static> =
    Secrets { consumer: b"consumer secret", token: b"token & secret", rsa_key: None };

/// A request as sent.
#[derive(Clone, Debug, Default, serde::Deserialize)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) origin: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) authorization: Option<String>,
    pub(crate) form: Option<String>,
}

impl Sent {
    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            method: &self.method,
            origin: &self.origin,
            path: &self.path,
            query: self.query.as_bytes(),
            authorization: self.authorization.as_deref().map(str::as_bytes),
            form: self.form.as_deref().map(str::as_bytes),
        }
    }

    pub(crate) fn read(&self) -> Result<Signed, Malformed> {
        self.request().read()
    }

    pub(crate) fn verifies(&self, secrets: &Secrets<'_>) -> bool {
        self.read().is_ok_and(|signed| signed.verify(secrets).is_ok())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    Header,
    Query,
    Form,
}

pub(crate) const LOCATIONS: [ParameterLocation; 3] =
    [ParameterLocation::Header, ParameterLocation::Query, ParameterLocation::Form];

/// A request under construction.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    location: ParameterLocation,
    protocol: Vec<(String, String)>,
    rest: Sent,
}

impl Draft {
    /// A complete request for HMAC-SHA1 with its protocol parameters in this location.
    pub(crate) fn new(location: ParameterLocation) -> Self {
        let protocol = [
            ("oauth_consumer_key", "key"),
            ("oauth_token", "token"),
            ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", "1700000000"),
            ("oauth_nonce", "nonce"),
            ("oauth_version", "1.0"),
        ];
        Self {
            location,
            protocol: protocol.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            rest: Sent {
                method: "GET".to_owned(),
                origin: "https://example.com".to_owned(),
                path: "/feed".to_owned(),
                ..Sent::default()
            },
        }
    }

    /// Adds a protocol parameter.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.protocol.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.protocol.retain(|(parameter, _)| parameter != name);
        self
    }

    /// Replaces the value of a protocol parameter.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a raw query.
    pub(crate) fn query(mut self, text: &str) -> Self {
        text.clone_into(&mut self.rest.query);
        self
    }

    /// Adds a raw form.
    pub(crate) fn form(mut self, text: &str) -> Self {
        self.rest.form = Some(text.to_owned());
        self
    }

    /// The request as sent, without a signature unless one was added.
    pub(crate) fn sent(&self) -> Sent {
        let pairs = |equals: &str, end: &str| -> Vec<String> {
            let pair = |(name, value): &(String, String)| {
                format!("{}{equals}{}{end}", encode(name.as_bytes()), encode(value.as_bytes()))
            };
            self.protocol.iter().map(pair).collect()
        };
        let mut sent = self.rest.clone();
        let joined = |before: &str| format!("{before}&{}", pairs("=", "").join("&"));
        match self.location {
            ParameterLocation::Header => {
                sent.authorization =
                    Some(format!("OAuth realm=\"Feeds\", {}", pairs("=\"", "\"").join(", ")));
            }
            ParameterLocation::Query => sent.query = joined(&sent.query),
            ParameterLocation::Form => sent.form = Some(joined(sent.form.as_deref().unwrap_or_default())),
        }
        sent
    }

    /// The request as sent, signed with [`SECRETS`] over the crate's base string.
    pub(crate) fn signed(&self) -> Sent {
        let unsigned = self.clone().with("oauth_signature", "none yet").sent();
        let signature = sign(&unsigned.read().unwrap(), hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &SECRETS);
        self.clone().with("oauth_signature", &signature).sent()
    }
}

/// The HMAC of the base string.
pub(crate) fn sign(signed: &Signed, algorithm: hmac::Algorithm, secrets: &Secrets<'_>) -> String {
    let key = format!("{}&{}", encode(secrets.consumer), encode(secrets.token));
    let key = hmac::Key::new(algorithm, key.as_bytes());
    STANDARD.encode(hmac::sign(&key, signed.base_string().as_bytes()))
}

/// A reproducible random generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % bound.max(1) as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
