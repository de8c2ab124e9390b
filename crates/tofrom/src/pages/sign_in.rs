//! The sign-in page.

use crate::site::Site;
use askama::Template;

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
