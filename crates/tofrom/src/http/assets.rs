//! `GET /assets/{asset}`: static files of pages.

use super::negotiate::Coding;
use super::{Problem, Service, coding};
use crate::pages::assets::Asset;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use std::sync::Arc;

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(asset).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = Asset::find(&name).ok_or_else(Problem::not_found)?;
    let (coding, body) = coding::encode(Coding::choose(&headers), asset.content().into());
    let headers = [
        (CONTENT_TYPE, asset.media_type()),
        // The name changes with the content.
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        // An image may also be opened as a document.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    let mut response = (headers, body).into_response();
    if coding != Coding::Identity {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
    }
    Ok(response)
}
