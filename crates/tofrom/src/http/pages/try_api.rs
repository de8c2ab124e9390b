//! `/docs/try`: reads the user's collection and shows the API request and response.

use super::super::{Problem, Service, body};
use super::{Person, get_only};
use crate::pages::docs::{TryForm, TryPage, TryResponse};
use crate::pages::frame::{Frame, Section};
use crate::pages::{Policy, html};
use axum::extract::State;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, StatusCode, Uri};
use model::{RawQuery, Reader};
use std::sync::Arc;

/// Upper bound of a response body: 200 activities of 64 KiB each, serialized.
const MAX_BODY: usize = 64 << 20;

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    get_only(get(try_it))
}

async fn try_it(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    let form = TryForm::of(uri.query().unwrap_or_default().as_bytes());
    let raw = RawQuery::parse(form.query().as_bytes());
    let read = service
        .read_collection(&person.account, Reader::Owner, form.collection(), &raw, &HeaderMap::new())
        .await;
    // The page shows the API's response, including problem documents.
    let (head, body) = read.unwrap_or_else(|problem| problem.respond(&service.site, false)).into_parts();
    let body = body::read(body, MAX_BODY).await?;
    let frame = Frame::new(&service.site, &person, Section::Docs, &uri);
    let page = TryPage::new(&service.site, frame, form, TryResponse::new(head.status, &head.headers, &body));
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}
