//! What people see: pages from templates, without script.
//!
//! A page is a struct with what it shows and a template below `templates` that extends `layout.html`; the
//! layout needs a field `site`. All text is escaped by the templates, so a page's fields hold text, never
//! markup. Handlers answer with [`html`], which sets what a browser may do with the page.

pub mod assets;
pub mod authorize;
mod explanation;
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

/// The page as an answer that is not kept, not framed, loads nothing from elsewhere and sends its forms only
/// where they belong.
pub fn html(status: StatusCode, page: &impl Template, forms: FormTargets<'_>) -> Response {
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
        (CONTENT_SECURITY_POLICY, policy(forms)),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        // With no-referrer browsers would send `Origin: null` with our own forms.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    (status, headers, text).into_response()
}

fn policy(forms: FormTargets<'_>) -> HeaderValue {
    let targets = match forms {
        FormTargets::None => "'none'".to_owned(),
        FormTargets::Own => "'self'".to_owned(),
        FormTargets::OwnThen(source) if is_one_source(source) => format!("'self' {source}"),
        // A text that could add to the policy is left out: the redirect fails, and nothing is opened.
        FormTargets::OwnThen(_) => "'self'".to_owned(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action {targets}; \
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
