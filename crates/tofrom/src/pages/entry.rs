//! Coming in.

use crate::site::Site;
use askama::Template;

/// Who is it?
#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignIn<'a> {
    /// The public face.
    pub site: &'a Site,
    /// Where the person wants to go.
    pub then: &'a str,
    /// What was typed as the name the last time, or nothing.
    pub username: &'a str,
    /// Whether everybody may make an account.
    pub open: bool,
    /// Why it did not work the last time.
    pub complaint: Option<&'a str>,
}
