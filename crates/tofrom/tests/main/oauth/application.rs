//! An application and the steps of its flow. Each step returns the unsent request, so that a test can alter it.

use super::super::support::browser::Page;
use super::super::support::client::Answer;
use super::super::support::signer::{Draft, Pair, ParameterLocation, decoded};
use super::service::{ORIGIN, Service, consent};
use std::path::PathBuf;

#[derive(Clone)]
pub(crate) struct App<'a> {
    pub(crate) service: &'a Service,
    pub(crate) pair: Pair,
    pub(crate) callback: String,
    pub(crate) how: &'static str,
    pub(crate) location: ParameterLocation,
    /// The private key for RSA-SHA1.
    pub(crate) rsa_key: Option<PathBuf>,
}

impl<'a> App<'a> {
    pub(crate) fn register(service: &'a Service, name: &str, callback: &str, more: &[&str]) -> App<'a> {
        let arguments = [&["app", "add", name, "--callback", callback, "--json"], more].concat();
        let registration: serde_json::Value = serde_json::from_str(&service.run(&arguments, "")).unwrap();
        let pair = Pair::new(registration["key"].as_str().unwrap(), registration["secret"].as_str().unwrap());
        let (how, location, rsa_key) = ("HMAC-SHA1", ParameterLocation::Header, None);
        App { service, pair, callback: callback.to_owned(), how, location, rsa_key }
    }

    /// A request signed without a token, to an address below the prefix.
    pub(crate) fn draft(&self, method: &str, target: &str) -> Draft {
        let draft =
            Draft::new(ORIGIN, method, &format!("/social{target}"), &self.pair).location(self.location);
        match &self.rsa_key {
            Some(key) => draft.rsa(key),
            None => draft.signature_method(self.how),
        }
    }

    pub(crate) fn temporary_request(&self) -> Draft {
        self.draft("POST", "/oauth/request_token").set("oauth_callback", &self.callback)
    }

    /// Temporary credentials.
    pub(crate) fn temporary_credentials(&self) -> Pair {
        issued(&self.temporary_request().send(&self.service.client))
    }

    /// Temporary credentials with consent, and the verifier.
    pub(crate) fn allowed(&self, name: &str) -> (Pair, String) {
        let temporary = self.temporary_credentials();
        let mut browser = self.service.browser();
        let (_, form) = consent(&mut browser, name, &temporary);
        let verifier = self.verifier(&browser.submit(&form, &[("decision", "allow")]));
        (temporary, verifier)
    }

    /// The verifier from the callback.
    pub(crate) fn verifier(&self, page: &Page) -> String {
        let to = page.redirect_target().unwrap_or_else(|| panic!("{} {}", page.status(), page.text()));
        assert!(to.starts_with(&self.callback), "{to}");
        parameter(to, "oauth_verifier").unwrap_or_else(|| panic!("no verifier in {to}"))
    }

    pub(crate) fn exchange(&self, temporary: &Pair, verifier: &str) -> Draft {
        self.draft("POST", "/oauth/access_token").token(temporary).set("oauth_verifier", verifier)
    }

    /// The whole flow to an access token.
    pub(crate) fn token_of(&self, name: &str) -> Pair {
        let (temporary, verifier) = self.allowed(name);
        issued(&self.exchange(&temporary, &verifier).send(&self.service.client))
    }

    /// A `whoami` request with the token.
    pub(crate) fn whoami(&self, token: &Pair) -> Draft {
        self.draft("GET", "/200909/whoami").token(token).header("Accept", "application/json")
    }
}

/// The credentials in the answer of a flow step.
pub(crate) fn issued(answer: &Answer) -> Pair {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let field = |name: &str| parameter(&format!("?{}", answer.text()), name).unwrap();
    Pair { key: field("oauth_token"), secret: field("oauth_token_secret") }
}

/// A query parameter of an address.
pub(crate) fn parameter(address: &str, name: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    let found = decoded(query).into_iter().find(|(known, _)| known == name.as_bytes());
    found.map(|(_, value)| String::from_utf8(value).unwrap())
}
