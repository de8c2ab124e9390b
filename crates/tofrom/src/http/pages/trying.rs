//! `/docs/try`: a read with the person's own rights, shown as a program would send it and get it answered.

use super::super::{Problem, Service, body};
use super::{Person, shown};
use crate::pages::docs::{Asked, Told, Trial};
use crate::pages::frame::{Frame, Here};
use crate::pages::{Policy, html};
use axum::extract::State;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, StatusCode, Uri};
use model::{RawQuery, Reader};
use std::sync::Arc;

/// No page of a collection is larger: 200 activities of 64 KiB, written out.
const MAX_BODY: usize = 64 << 20;

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    shown(get(try_it))
}

async fn try_it(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    let asked = Asked::of(uri.query().unwrap_or_default().as_bytes());
    let raw = RawQuery::parse(asked.query().as_bytes());
    let read = service
        .read_collection(&person.account, Reader::Owner, asked.collection(), &raw, &HeaderMap::new())
        .await;
    // What a program would be told is what is to be seen here, also where that is a problem.
    let (head, sent) = read.unwrap_or_else(|problem| problem.respond(&service.site, false)).into_parts();
    let whole = body::read(sent, MAX_BODY).await?;
    let frame = Frame::new(&service.site, &person, Here::Docs, &uri);
    let page = Trial::new(&service.site, frame, asked, Told::new(head.status, &head.headers, &whole));
    Ok(html(StatusCode::OK, &page, Policy::OURS))
}
