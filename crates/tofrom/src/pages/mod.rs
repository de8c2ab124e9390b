//! What people see: pages from templates. They work without script; a little of our own makes some of them nicer.
//!
//! A page is a struct with what it shows and a template below `templates` that extends `layout.html`; the
//! layout needs a field `site`. All text is escaped by the templates, so a page's fields hold text, never
//! markup. Handlers answer with [`html`], which sets what a browser may do with the page.

pub mod activity;
pub mod assets;
pub mod authorize;
pub mod docs;
pub mod entry;
mod explanation;
pub mod feed;
pub mod frame;
pub mod group;
pub mod item;
pub mod join;
mod moment;
pub mod operator;
pub mod person;
pub mod plot;
mod readable;
pub mod settings;
pub mod sources;
#[cfg(test)]
mod tests;

pub use explanation::Explanation;

use crate::http::Problem;
use crate::site::Site;
use askama::Template;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderValue, StatusCode};

/// Where a page's forms may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormTargets<'a> {
    /// Nowhere: the page has none.
    None,
    /// To the service itself.
    Own,
    /// To the service itself, whose answer may redirect to this source expression, such as
    /// `https://app.example.org` or `http:`. Browsers hold such redirects to the policy too.
    OwnThen(&'a str),
}

/// What a browser may do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy<'a> {
    forms: FormTargets<'a>,
    /// Whether our own script runs.
    script: bool,
    /// Whether pictures of other sites are shown.
    pictures: bool,
}

impl Policy<'_> {
    /// Our forms and our script, and nothing of others.
    pub const OURS: Policy<'static> = Policy { forms: FormTargets::Own, script: true, pictures: false };

    /// Also pictures of others, which somebody has asked for: those see that.
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

/// The page as an answer that is not kept, not framed, loads nothing from elsewhere and sends its forms only
/// where they belong.
pub fn html<'a>(status: StatusCode, page: &impl Template, may: impl Into<Policy<'a>>) -> Response {
    let text = match page.render() {
        Ok(text) => text,
        Err(error) => {
            tracing::error!(%error, "a page can't be rendered");
            return Problem::internal().into_response();
        }
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, policy(may.into())),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        // With no-referrer browsers would send `Origin: null` with our own forms.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    (status, headers, text).into_response()
}

fn policy(may: Policy<'_>) -> HeaderValue {
    let targets = match may.forms {
        FormTargets::None => "'none'".to_owned(),
        FormTargets::Own => "'self'".to_owned(),
        FormTargets::OwnThen(source) if is_one_source(source) => format!("'self' {source}"),
        // A text that could add to the policy is left out: the redirect fails, and nothing is opened.
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

/// Whether the text is one word of a policy and nothing more.
fn is_one_source(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';' && byte != b',')
}

/// A page that says what went wrong and what to do about it.
#[derive(Debug, Template)]
#[template(path = "failure.html")]
pub struct Failure<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What went wrong, in a few words.
    pub title: &'a str,
    /// More of it, and what the person can do.
    pub text: &'a str,
}
