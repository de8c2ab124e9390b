//! Cross-origin requests (`cors_origins`, none by default). Scripts send their own credentials, never a cookie.

use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

/// The origins whose scripts may read.
pub(super) struct Cors {
    origins: Vec<String>,
}

impl Cors {
    pub(super) fn new(origins: Vec<String>) -> Cors {
        Cors { origins }
    }

    /// The request's origin, if it is allowed.
    pub(super) fn origin_of(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        self.origins.iter().any(|known| origin == known.as_str()).then(|| origin.clone())
    }

    /// The response to a preflight request. It needs no credential and reveals nothing.
    pub(super) fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<Response> {
        let preflight = method == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        (preflight && self.origin_of(headers).is_some()).then(|| {
            let allowed = [
                (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, DELETE"),
                (
                    ACCESS_CONTROL_ALLOW_HEADERS,
                    "Accept, Authorization, Content-Type, If-None-Match, Last-Event-ID, ServiceConsumerKey, ServicePSK",
                ),
                (ACCESS_CONTROL_MAX_AGE, "7200"),
            ];
            (StatusCode::NO_CONTENT, allowed).into_response()
        })
    }

    /// Lets scripts of that origin read the response.
    pub(super) fn expose(&self, origin: Option<HeaderValue>, headers: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("Link, ETag, Retry-After, X-Request-Id"),
            );
        }
    }
}
