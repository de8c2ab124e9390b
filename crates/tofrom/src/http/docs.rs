//! Documentation for developers: the OpenAPI document, the API reference, and the pages of problem types and of the
//! category scheme.

use super::negotiate::Coding;
use super::pages::Visitor;
use super::{KINDS, Problem, Service, coding};
use crate::pages::docs::{Reference, TryForm};
use crate::pages::frame::{Frame, Section};
use crate::pages::{self, Explanation, FormTargets, Policy};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use std::sync::Arc;

/// The caching of documents that are the same for all visitors.
const CACHED_FOR_AN_HOUR: &str = "public, max-age=3600";

pub(super) fn openapi_methods() -> MethodRouter<Arc<Service>> {
    get(openapi).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(super) fn reference_methods() -> MethodRouter<Arc<Service>> {
    get(reference).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(super) fn problem_methods() -> MethodRouter<Arc<Service>> {
    get(problem).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(super) fn category_methods() -> MethodRouter<Arc<Service>> {
    get(categories).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn openapi(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    let (coding, body) = coding::encode(Coding::choose(&headers), service.openapi.to_vec());
    let mut response =
        ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, CACHED_FOR_AN_HOUR)], body).into_response();
    if coding != Coding::Identity {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
    }
    response
}

/// The API reference. Signed-in visitors get another frame and a form, so it is not cached.
async fn reference(State(service): State<Arc<Service>>, Visitor(person): Visitor, uri: Uri) -> Response {
    let frame = Frame::of_visitor(&service.site, person.as_ref(), Section::Docs, &uri);
    let page = Reference::new(&service.site, frame, TryForm::default());
    pages::html(StatusCode::OK, &page, Policy::SAME_ORIGIN)
}

async fn problem(
    State(service): State<Arc<Service>>,
    slug: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    // A name that is not UTF-8 is unknown.
    let Path(slug) = slug.map_err(|_| Problem::not_found())?;
    let kind = KINDS.iter().find(|kind| kind.slug == slug).ok_or_else(Problem::not_found)?;
    Ok(cacheable_page(&Explanation {
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
         word is used unchanged.",
    ];
    cacheable_page(&Explanation {
        site: &service.site,
        title: "Categories of activities",
        paragraphs: &about,
        foot: "Category scheme of Atom entries",
    })
}

/// A page that is the same for all visitors and may be cached.
fn cacheable_page(page: &Explanation<'_>) -> Response {
    let mut response = pages::html(StatusCode::OK, page, FormTargets::None);
    if response.status() == StatusCode::OK {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(CACHED_FOR_AN_HOUR));
    }
    response
}
