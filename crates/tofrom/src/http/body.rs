//! Reads request bodies up to a limit.

use super::Problem;
use super::intake::Intake;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use http::header::CONTENT_TYPE;
use http::{Extensions, HeaderMap};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::sync::Arc;

/// The maximum size of a form.
pub(super) const MAX_FORM: usize = 8 << 10;

/// Reads the whole body.
pub(super) async fn read(body: Body, limit: usize) -> Result<Bytes, Problem> {
    let whole = Limited::new(body, limit).collect().await.map_err(|error| {
        let large = error.downcast_ref::<LengthLimitError>().is_some();
        if large {
            Problem::too_large(limit)
        } else {
            Problem::body("The body ended early. Send the request again.")
        }
    })?;
    Ok(whole.to_bytes())
}

/// Returns the body's bytes to the budget: the body has been parsed.
pub(super) fn release(request: &Extensions) {
    if let Some(intake) = request.get::<Arc<Intake>>() {
        intake.release_bytes();
    }
}

/// The unchanged request, and a copy of its body if that is a form.
pub(super) async fn with_form(request: Request) -> Result<(Request, Option<Bytes>), Problem> {
    if !is_form(request.headers()) {
        return Ok((request, None));
    }
    let (head, body) = request.into_parts();
    let form = read(body, MAX_FORM).await?;
    Ok((Request::from_parts(head, Body::from(form.clone())), Some(form)))
}

/// Whether `Content-Type` is a form.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Whether `Content-Type` is missing or empty.
pub(super) fn is_untyped(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_TYPE).iter().all(|value| value.as_bytes().trim_ascii().is_empty())
}
