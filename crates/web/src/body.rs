//! Request bodies: read up to a limit, and their media types.

use crate::intake::Intake;
use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{Extensions, HeaderMap};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::sync::Arc;

/// The maximum size of a form.
pub(crate) const MAX_FORM: usize = 8 << 10;

/// Reads the whole body.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Bytes, Problem> {
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
pub(crate) fn release(request: &Extensions) {
    if let Some(intake) = request.get::<Arc<Intake>>() {
        intake.release_bytes();
    }
}

/// The unchanged request, and a copy of its body if that is a form.
pub(crate) async fn with_form(request: Request) -> Result<(Request, Option<Bytes>), Problem> {
    if !is_form(request.headers()) {
        return Ok((request, None));
    }
    let (head, body) = request.into_parts();
    let form = read(body, MAX_FORM).await?;
    Ok((Request::from_parts(head, Body::from(form.clone())), Some(form)))
}

/// Whether `Content-Type` is a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Whether `Content-Type` is missing or empty.
pub(crate) fn is_untyped(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_TYPE).iter().all(|value| value.as_bytes().trim_ascii().is_empty())
}

/// The format of a body. `pick` selects it by media type; `accepts` lists the supported types for the problem document.
pub(crate) fn format_of<K>(
    headers: &HeaderMap,
    accepts: &'static str,
    pick: impl Fn(&str) -> Option<K>,
) -> Result<K, Problem> {
    let coded = |line: &http::HeaderValue| !line.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(coded) {
        return Err(Problem::coded());
    }
    if is_form(headers) {
        return Err(Problem::form(accepts));
    }
    let media_type = headers.get(CONTENT_TYPE).and_then(|line| line.to_str().ok()).unwrap_or_default();
    let mut parts = media_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_ascii_lowercase();
    let readable = parts.all(|parameter| is_utf8(parameter).unwrap_or(true));
    pick(&essence).filter(|_| readable).ok_or_else(|| Problem::media_type(accepts))
}

/// Whether a `charset` is supported; `None` for any other parameter.
fn is_utf8(parameter: &str) -> Option<bool> {
    let (name, value) = parameter.split_once('=')?;
    let value = value.trim().trim_matches('"');
    name.trim()
        .eq_ignore_ascii_case("charset")
        .then(|| ["utf-8", "utf8", "us-ascii"].iter().any(|known| value.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn selected(lines: &[(http::HeaderName, &'static str)]) -> Option<String> {
        let headers =
            lines.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        format_of(&headers, "a/b", |essence| (essence == "a/b").then(|| essence.to_owned())).ok()
    }

    #[test]
    fn unsupported_types_and_codings_are_rejected() {
        for supported in ["a/b", "A/B", "a/b; charset=UTF-8", "a/b;charset=\"utf-8\"; x=y", "a/b;type=entry"]
        {
            assert!(selected(&[(CONTENT_TYPE, supported)]).is_some(), "{supported}");
        }
        for unsupported in ["", "a/c", "a/b; charset=latin1", "a/bc", "application/x-www-form-urlencoded"] {
            assert!(selected(&[(CONTENT_TYPE, unsupported)]).is_none(), "{unsupported}");
        }
        assert!(selected(&[]).is_none());
        assert!(selected(&[(CONTENT_TYPE, "a/b"), (CONTENT_ENCODING, "identity")]).is_some());
        assert!(selected(&[(CONTENT_TYPE, "a/b"), (CONTENT_ENCODING, "gzip")]).is_none());
    }
}
