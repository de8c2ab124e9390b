//! Pages before a user is signed in: sign-in, creating an account, resetting a password, and the OAuth authorization pages
//! (sign in, consent, verifier code, denied).
//!
//! The forms to create an account and to reset a password post to their page's address, which contains the ticket. The
//! forms of an authorization go to `POST /oauth/authorize` with `oauth_token`. The sign-in form adds `username` and
//! `password`; the consent form `csrf` and `decision` (`allow` or `deny`); the form for another account `csrf` and
//! `switch=1`.

use crate::site::Site;
use askama::Template;
use model::{Account, Scopes};

/// The sign-in page.
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignIn<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The path to continue to after signing in.
    pub then: &'a str,
    /// The username from the last attempt, or empty.
    pub username: &'a str,
    /// Whether registration is open.
    pub open: bool,
    /// The error of the last attempt.
    pub complaint: Option<&'a str>,
}

/// The page that asks for the code of the second factor.
#[derive(Template)]
#[template(path = "sign_in_code.html")]
pub struct SignInCode<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The path to continue to after signing in.
    pub then: &'a str,
    /// Shows that the password was right.
    pub pending: &'a str,
    /// The error of the last attempt.
    pub complaint: Option<&'a str>,
}

/// The page that asks for the password again.
#[derive(Template)]
#[template(path = "sign_in_again.html")]
pub struct SignInAgain<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The account's name.
    pub name: &'a str,
    /// The CSRF token of the form.
    pub csrf: &'a str,
    /// The path to continue to.
    pub then: &'a str,
    /// The error of the last attempt.
    pub complaint: Option<&'a str>,
}

/// The page to create an account.
#[derive(Template)]
#[template(path = "join/join.html")]
pub struct JoinPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The username from the last attempt.
    pub username: &'a str,
    /// The given name from the last attempt.
    pub given: &'a str,
    /// The family name from the last attempt.
    pub family: &'a str,
    /// The error of the last attempt.
    pub complaint: Option<&'a str>,
}

/// The page to set a new password.
#[derive(Template)]
#[template(path = "join/reset.html")]
pub struct ResetPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The error of the last attempt.
    pub complaint: Option<&'a str>,
}

/// The sign-in page of the authorization flow. Signing in grants nothing yet.
#[derive(Template)]
#[template(path = "authorize/sign_in.html")]
pub struct ConsentSignIn<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The name of the requesting application.
    pub application: &'a str,
    /// The request token.
    pub token: &'a str,
    /// The username from the last attempt, or empty.
    pub username: &'a str,
    /// The error of the last attempt.
    pub complaint: Option<&'a str>,
}

/// The consent page. It is shown for every request, even if the application had access before.
#[derive(Template)]
#[template(path = "authorize/consent.html")]
pub struct Consent<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The name of the requesting application.
    pub application: &'a str,
    /// The host of the callback; `None` if the user gets a code to enter instead.
    pub returns_to: Option<&'a str>,
    /// The account to access.
    pub account: &'a Account,
    /// The requested scopes.
    pub scopes: Scopes,
    /// The request token.
    pub token: &'a str,
    /// The CSRF token of this session.
    pub csrf: &'a str,
}

impl Consent<'_> {
    /// A letter in place of a picture. It comes from the account's name, which starts with a letter or digit; a
    /// display name may start with anything.
    fn initial(&self) -> &str {
        self.account.name.as_str().get(..1).unwrap_or_default()
    }
}

/// The verifier code that the user enters in the application, in the element with the id `verifier`.
#[derive(Template)]
#[template(path = "authorize/verifier.html")]
pub struct Verifier<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The name of the application.
    pub application: &'a str,
    /// The code.
    pub verifier: &'a str,
}

/// The user denied access, and there is no callback to redirect to.
#[derive(Template)]
#[template(path = "authorize/declined.html")]
pub struct Declined<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The name of the application.
    pub application: &'a str,
}
