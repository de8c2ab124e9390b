//! The pages that problem types and the category scheme lead to.

use super::{KINDS, Problem, Service};
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use std::sync::{Arc, LazyLock};

const STYLE: &str = "body{font:1rem/1.6 system-ui,sans-serif;max-width:38rem;margin:4rem auto;padding:0 1.5rem;\
color:#1c1e21;background:#fdfdfc}h1{font-size:1.5rem;line-height:1.3}code{font-size:.9em;background:#eef0f2;\
padding:.1em .3em;border-radius:.2em}small{color:#5c6570}@media(prefers-color-scheme:dark){body{color:#e4e6e8;\
background:#16181a}code{background:#2a2e32}small{color:#9aa3ac}}";

/// The policy names the one style by its hash, so that no other can slip in.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, STYLE.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{hash}'; frame-ancestors 'none'; base-uri 'none'")
});

pub(super) fn problem_methods() -> MethodRouter<Arc<Service>> {
    get(problem).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(super) fn category_methods() -> MethodRouter<Arc<Service>> {
    get(categories).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn problem(Path(slug): Path<String>) -> Result<Response, Problem> {
    let kind = KINDS.iter().find(|kind| kind.slug == slug).ok_or_else(Problem::not_found)?;
    Ok(page(kind.title, &[kind.about], &format!("Status {} · problem type {}", kind.status(), kind.slug)))
}

async fn categories() -> Response {
    let about = [
        "A category says what was done with what: the type of the object and the verb in the past tense, capitalised \
         and joined. A shared bookmark is `BookmarkShared`, a posted photo `PhotoPosted`, a played song `SongPlayed`.",
        "The vocabulary is open. Types and verbs of the activity-streams schema are inflected; any other word is taken \
         as it is.",
    ];
    page("Categories of activities", &about, "Category scheme of Atom entries")
}

/// A page of our own texts; what stands in backquotes is shown as code.
fn page(title: &str, paragraphs: &[&str], foot: &str) -> Response {
    let code = |text: &str| {
        let parts = escape(text);
        let marked = parts.split('`').enumerate();
        marked
            .map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
            .collect()
    };
    let body: String = paragraphs
        .iter()
        .map(|text| {
            let text: String = code(text);
            format!("<p>{text}</p>")
        })
        .collect();
    let (title, foot) = (escape(title), escape(foot));
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><style>{STYLE}</style></head>\
         <body><main><h1>{title}</h1>{body}<p><small>{foot}</small></p></main></body></html>"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "public, max-age=3600"),
        (CONTENT_SECURITY_POLICY, POLICY.as_str()),
    ];
    (headers, html).into_response()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
