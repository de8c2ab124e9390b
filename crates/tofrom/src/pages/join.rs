//! Creating an account and resetting a password. The forms post to their page's address, which contains the ticket.

use crate::site::Site;
use askama::Template;

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
