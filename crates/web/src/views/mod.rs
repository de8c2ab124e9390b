//! HTML pages, rendered from templates. They work without script; one script enhances some of them.
//!
//! A page is a struct with the data to show and a template below `templates` that extends `layout.html`. The layout
//! needs a field `site`. Templates escape all text, so a page's fields hold text, never markup. Handlers respond with
//! [`html`], which sets the security headers.

pub mod assets;
pub mod compose;
mod display_time;
pub mod docs;
pub mod feed;
mod filter;
pub mod first_steps;
pub mod frame;
pub mod group;
pub mod hooks;
pub mod item;
pub mod operator;
pub mod people;
mod picture;
pub mod plot;
mod pretty_print;
pub mod search;
pub mod security;
mod sentence;
mod service_icon;
pub mod settings;
pub mod sign_in;
pub mod sources;
#[cfg(test)]
mod tests;
pub mod unread;

use self::frame::{Frame, Section};
use crate::problem::Problem;
use crate::respond::{Caching, encode};
use crate::site::Site;
use askama::Template;
use auth::session::SignedIn;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

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
}

impl Policy<'_> {
    /// Allows our forms and our script, and nothing from other sites.
    pub const SAME_ORIGIN: Policy<'static> = Policy { forms: FormTargets::Own, script: true };
}

impl<'a> From<FormTargets<'a>> for Policy<'a> {
    fn from(forms: FormTargets<'a>) -> Policy<'a> {
        Policy { forms, script: false }
    }
}

/// Renders the page as a response that is not cached, cannot be framed, loads nothing from other sites and submits its
/// forms to the allowed targets only.
pub fn html<'a>(status: StatusCode, page: &impl Template, may: impl Into<Policy<'a>>) -> Response {
    match render(page) {
        Ok(text) => respond(status, text.into(), None, may.into()),
        Err(problem) => problem.into_response(),
    }
}

/// Like [`html`], compressed as the request prefers: for large pages. Another site cannot guess words of the page by its
/// size, because a browser sends no session with requests that other sites make in the background.
pub fn compressed_html<'a>(
    request: &HeaderMap,
    status: StatusCode,
    page: &impl Template,
    may: impl Into<Policy<'a>>,
) -> Response {
    match render(page) {
        Ok(text) => {
            let (body, coding) = encode(request, text.into_bytes());
            respond(status, body.into(), coding, may.into())
        }
        Err(problem) => problem.into_response(),
    }
}

fn render(page: &impl Template) -> Result<String, Problem> {
    page.render().map_err(|error| {
        tracing::error!(%error, "rendering a page failed");
        Problem::internal()
    })
}

fn respond(status: StatusCode, body: Body, coding: Option<HeaderValue>, may: Policy<'_>) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        Caching::Never.header(),
        (CONTENT_SECURITY_POLICY, policy(may)),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        // With no-referrer, browsers would send `Origin: null` with our forms.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    let mut response = (status, headers, body).into_response();
    if let Some(coding) = coding {
        response.headers_mut().insert(CONTENT_ENCODING, coding);
    }
    response
}

fn policy(may: Policy<'_>) -> HeaderValue {
    let targets = match may.forms {
        FormTargets::None => "'none'".to_owned(),
        FormTargets::Own => "'self'".to_owned(),
        FormTargets::OwnThen(source) if is_one_source(source) => format!("'self' {source}"),
        // Text that could extend the policy is left out: the redirect fails, and the policy stays closed.
        FormTargets::OwnThen(_) => "'self'".to_owned(),
    };
    let script = if may.script { "script-src 'self'; connect-src 'self'; " } else { "" };
    let policy = format!(
        "default-src 'none'; style-src 'self'; img-src 'self'; manifest-src 'self'; {script}form-action {targets}; \
         frame-ancestors 'none'; base-uri 'none'"
    );
    HeaderValue::from_str(&policy)
        .unwrap_or(HeaderValue::from_static("default-src 'none'; form-action 'none'"))
}

/// Whether the text is exactly one source expression.
fn is_one_source(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';' && byte != b',')
}

/// The text with its first letter in upper case.
fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// An error page: what went wrong and what to do about it. It has the frame, which leads back.
#[derive(Template)]
#[template(path = "failure.html")]
pub struct Failure<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// What went wrong, in a few words.
    pub title: &'a str,
    /// Details, and what the user can do.
    pub text: &'a str,
}

impl<'a> Failure<'a> {
    /// An error page for a visitor, or for the user if one is signed in.
    pub fn new(site: &'a Site, person: Option<&'a SignedIn>, title: &'a str, text: &'a str) -> Failure<'a> {
        Failure { site, frame: Frame::of_visitor(site, person, Section::Other, &Uri::default()), title, text }
    }

    /// The response with this page.
    pub fn respond(&self, status: StatusCode) -> Response {
        let signs_out = self.frame.is_signed_in();
        html(status, self, if signs_out { FormTargets::Own } else { FormTargets::None })
    }
}
