//! Getting an account, or a new password. The forms go to the address that they are on, which has the ticket in it.

use crate::site::Site;
use askama::Template;

/// A new account.
#[derive(Template)]
#[template(path = "join/join.html")]
pub struct JoinPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What was typed the last time.
    pub username: &'a str,
    /// What was typed the last time.
    pub given: &'a str,
    /// What was typed the last time.
    pub family: &'a str,
    /// Why it did not work.
    pub complaint: Option<&'a str>,
}

/// A new password.
#[derive(Template)]
#[template(path = "join/reset.html")]
pub struct ResetPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// Why it did not work.
    pub complaint: Option<&'a str>,
}
