//! HTML pages, rendered from templates. They work without script; one script enhances some of them.
//!
//! A page is a struct with the data to show and a template below `templates` that extends `layout.html`. The layout
//! needs a field `site`. Templates escape all text, so a page's fields hold text, never markup. Handlers respond with
//! [`html`], which sets the security headers.

pub mod assets;
mod display_time;
pub mod docs;
pub mod feed;
pub mod frame;
pub mod group;
pub mod item;
pub mod operator;
mod pretty_print;
pub mod security;
pub mod settings;
pub mod sign_in;
pub mod sources;
#[cfg(test)]
mod tests;

use crate::problem::Problem;
use crate::respond::Caching;
use crate::site::Site;
use askama::Template;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderValue, StatusCode};

/// The allowed targets of a page's forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormTargets<'a> {
    /// None: the page has no forms.
    None,
    /// This server.
    Own,
    /// This server, whose response may redirect to this source expression, such as `https://app.example.org` or
    /// `http:`. Browsers apply the policy to such redirects too.
    OwnThen(&'a str),
}

/// The content security policy of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    forms: FormTargets<'a>,
    /// Whether our script may run.
    script: bool,
    /// Whether pictures from other sites may load.
    pictures: bool,
}

impl Policy<'_> {
    /// Allows our forms and our script, and nothing from other sites.
    pub const SAME_ORIGIN: Policy<'static> =
        Policy { forms: FormTargets::Own, script: true, pictures: false };

    /// Also allows pictures from other sites, if the user asked for them: those sites see the request.
    #[must_use]
    pub fn with_pictures(self, pictures: bool) -> Self {
        Policy { pictures, ..self }
    }
}

impl<'a> From<FormTargets<'a>> for Policy<'a> {
    fn from(forms: FormTargets<'a>) -> Policy<'a> {
        Policy { forms, script: false, pictures: false }
    }
}

/// Renders the page as a response that is not cached, cannot be framed, loads nothing from other sites and submits its
/// forms to the allowed targets only.
pub fn html<'a>(status: StatusCode, page: &impl Template, may: impl Into<Policy<'a>>) -> Response {
    let text = match page.render() {
        Ok(text) => text,
        Err(error) => {
            tracing::error!(%error, "rendering a page failed");
            return Problem::internal().into_response();
        }
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        Caching::Never.header(),
        (CONTENT_SECURITY_POLICY, policy(may.into())),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        // With no-referrer, browsers would send `Origin: null` with our forms.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    (status, headers, text).into_response()
}

fn policy(may: Policy<'_>) -> HeaderValue {
    let targets = match may.forms {
        FormTargets::None => "'none'".to_owned(),
        FormTargets::Own => "'self'".to_owned(),
        FormTargets::OwnThen(source) if is_one_source(source) => format!("'self' {source}"),
        // Text that could extend the policy is left out: the redirect fails, and the policy stays closed.
        FormTargets::OwnThen(_) => "'self'".to_owned(),
    };
    let pictures = if may.pictures { " https:" } else { "" };
    let script = if may.script { "script-src 'self'; connect-src 'self'; " } else { "" };
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'{pictures}; {script}form-action {targets}; \
         frame-ancestors 'none'; base-uri 'none'"
    );
    HeaderValue::from_str(&policy)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; form-action 'none'"))
}

/// Whether the text is exactly one source expression.
fn is_one_source(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';' && byte != b',')
}

/// An error page: what went wrong and what to do about it.
#[derive(Debug, Template)]
#[template(path = "failure.html")]
pub struct Failure<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// What went wrong, in a few words.
    pub title: &'a str,
    /// Details, and what the user can do.
    pub text: &'a str,
}
