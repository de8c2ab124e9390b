//! The pages that problem types and the category scheme lead to.

use super::{KINDS, Problem, Service};
use crate::pages::{self, Explanation, FormTargets};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};
use std::sync::Arc;

pub(super) fn problem_methods() -> MethodRouter<Arc<Service>> {
    get(problem).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(super) fn category_methods() -> MethodRouter<Arc<Service>> {
    get(categories).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn problem(State(service): State<Arc<Service>>, Path(slug): Path<String>) -> Result<Response, Problem> {
    let kind = KINDS.iter().find(|kind| kind.slug == slug).ok_or_else(Problem::not_found)?;
    Ok(answer(&Explanation {
        site: &service.site,
        title: kind.title,
        paragraphs: &[kind.about],
        foot: &format!("Status {} · problem type {}", kind.status(), kind.slug),
    }))
}

async fn categories(State(service): State<Arc<Service>>) -> Response {
    let about = [
        "A category says what was done with what: the type of the object and the verb in the past tense, \
         capitalised and joined. A shared bookmark is `BookmarkShared`, a posted photo `PhotoPosted`, a \
         played song `SongPlayed`.",
        "The vocabulary is open. Types and verbs of the activity-streams schema are inflected; any other \
         word is taken as it is.",
    ];
    answer(&Explanation {
        site: &service.site,
        title: "Categories of activities",
        paragraphs: &about,
        foot: "Category scheme of Atom entries",
    })
}

/// The same for everybody, so it may be kept.
fn answer(page: &Explanation<'_>) -> Response {
    let mut response = pages::html(StatusCode::OK, page, FormTargets::None);
    if response.status() == StatusCode::OK {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    }
    response
}
