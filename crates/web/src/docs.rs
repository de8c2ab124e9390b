//! Documentation for developers: the OpenAPI document, the API reference with its form to try a request, and the pages of
//! problem types and of the category scheme.

use crate::body;
use crate::negotiate::Accept;
use crate::pages::{Person, Visitor};
use crate::problem::{KINDS, Problem};
use crate::respond::{Caching, Representation};
use crate::service::{Collections, OpenApiDocument, Service};
use crate::site::Site;
use crate::views::docs::{Explanation, Reference, TryForm, TryPage, TryResponse};
use crate::views::frame::{Frame, Section};
use crate::views::{FormTargets, Policy, compressed_html, html};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, StatusCode, Uri};
use model::{RawQuery, Reader};
use std::sync::Arc;

/// Upper bound of a response body: 200 activities of 64 KiB each, serialized.
const MAX_BODY: usize = 64 << 20;

pub(crate) fn openapi_methods() -> MethodRouter<Service> {
    get(openapi).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn reference_methods() -> MethodRouter<Service> {
    get(reference).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn problem_methods() -> MethodRouter<Service> {
    get(problem).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn category_methods() -> MethodRouter<Service> {
    get(categories).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn try_methods() -> MethodRouter<Service> {
    get(try_it).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn openapi(
    State(OpenApiDocument(document)): State<OpenApiDocument>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let representation = Representation::new("application/json", Caching::Hour);
    representation.encoded(&headers).respond(|| document.to_vec())
}

/// The API reference. Signed-in visitors get another frame and a form, so it is not cached.
async fn reference(
    State(site): State<Site>,
    Visitor(person): Visitor,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let frame = Frame::of_visitor(&site, person.as_ref(), Section::Docs, &uri);
    let page = Reference::new(&site, frame, TryForm::default());
    compressed_html(&headers, StatusCode::OK, &page, Policy::SAME_ORIGIN)
}

async fn problem(
    State(site): State<Site>,
    slug: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    // A name that is not UTF-8 is unknown.
    let Path(slug) = slug.map_err(|_| Problem::not_found())?;
    let kind = KINDS.iter().find(|kind| kind.slug == slug).ok_or_else(Problem::not_found)?;
    Ok(cacheable_page(&Explanation {
        site: &site,
        title: kind.title,
        paragraphs: &[kind.about],
        foot: &format!("Status {} · problem type {}", kind.status(), kind.slug),
    }))
}

async fn categories(State(site): State<Site>) -> Response {
    let about = [
        "A category says what was done with what: the type of the object and the verb in the past tense, \
         capitalised and joined. A shared bookmark is `BookmarkShared`, a posted photo `PhotoPosted`, a \
         played song `SongPlayed`.",
        "The vocabulary is open. Types and verbs of the activity-streams schema are inflected; any other \
         word is used unchanged.",
    ];
    cacheable_page(&Explanation {
        site: &site,
        title: "Categories of activities",
        paragraphs: &about,
        foot: "Category scheme of Atom entries",
    })
}

/// A page that is the same for all visitors and may be cached.
fn cacheable_page(page: &Explanation<'_>) -> Response {
    let mut response = html(StatusCode::OK, page, FormTargets::None);
    if response.status() == StatusCode::OK {
        response.headers_mut().extend([Caching::Hour.header()]);
    }
    response
}

/// `/docs/try`: reads the user's collection and shows the API request and response.
async fn try_it(
    State(site): State<Site>,
    State(collections): State<Arc<Collections>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    let form = TryForm::of(uri.query().unwrap_or_default().as_bytes());
    let raw = RawQuery::parse(form.query().as_bytes());
    let (account, none) = (&person.account, HeaderMap::new());
    let read =
        collections.read(account, Reader::Owner, form.collection(), raw, &Accept::of(&none), &none).await;
    // The page shows the API's response, including problem documents.
    let (head, body) = read.unwrap_or_else(|problem| problem.respond(&site, false)).into_parts();
    let body = body::read(body, MAX_BODY).await?;
    let frame = Frame::new(&site, &person, Section::Docs, &uri);
    let page = TryPage::new(&site, frame, form, TryResponse::new(head.status, &head.headers, &body));
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}
