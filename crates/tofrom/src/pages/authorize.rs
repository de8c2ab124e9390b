//! The pages on which a person lets an application use the account, or does not.
//!
//! All forms go to `POST /oauth/authorize` with `oauth_token`. The sign-in form adds `username` and
//! `password`; the consent form `csrf` and `decision` (`allow` or `deny`); the form for another account
//! `csrf` and `switch=1`.

use crate::site::Site;
use askama::Template;
use model::{Account, Scopes};

/// Who is it? Signing in is the first step and allows nothing yet.
#[derive(Template)]
#[template(path = "authorize/sign_in.html")]
pub struct SignIn<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What the application that asks is called.
    pub application: &'a str,
    /// The request token.
    pub token: &'a str,
    /// What was typed as the name the last time, or nothing.
    pub username: &'a str,
    /// Why it did not work the last time.
    pub complaint: Option<&'a str>,
}

/// May the application use the account? Asked every time.
#[derive(Template)]
#[template(path = "authorize/consent.html")]
pub struct Consent<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What the application that asks is called.
    pub application: &'a str,
    /// The host that the person is taken back to; none if the application gets a code by hand.
    pub returns_to: Option<&'a str>,
    /// Whose account it is about.
    pub account: &'a Account,
    /// What the application wants to do.
    pub scopes: Scopes,
    /// The request token.
    pub token: &'a str,
    /// The proof that the form came from this session.
    pub csrf: &'a str,
}

impl Consent<'_> {
    /// Stands for a picture. From the account's name, which begins with a letter or digit, because what
    /// people call themselves may begin with anything.
    fn initial(&self) -> &str {
        self.account.name.as_str().get(..1).unwrap_or_default()
    }
}

/// The code that the person carries to the application by hand, in the element with the id `verifier`.
#[derive(Template)]
#[template(path = "authorize/verifier.html")]
pub struct Verifier<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What the application is called.
    pub application: &'a str,
    /// The code.
    pub verifier: &'a str,
}

/// The person said no, and there is no address to go back to.
#[derive(Template)]
#[template(path = "authorize/declined.html")]
pub struct Declined<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What the application is called.
    pub application: &'a str,
}
