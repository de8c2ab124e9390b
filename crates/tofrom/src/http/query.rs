//! Parameters as they are sent: in the query string, in a form body of a GET (what `curl -X GET -d` sends), or both.

use super::Problem;
use axum::body::Body;
use http::Request;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use model::RawQuery;

const MAX_BODY: usize = 8 << 10;

/// The parameters of a request.
pub(super) async fn raw_query(request: Request<Body>) -> Result<RawQuery, Problem> {
    let (head, body) = request.into_parts();
    let mut raw = RawQuery::parse(head.uri.query().unwrap_or_default().as_bytes());
    let body = Limited::new(body, MAX_BODY).collect().await.map_err(|error| {
        let large = error.downcast_ref::<LengthLimitError>().is_some();
        if large { Problem::too_large() } else { Problem::body("The body broke off.") }
    })?;
    let body = body.to_bytes();
    if !body.is_empty() {
        let media_type =
            head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Problem::body(
                "The body of a GET may only be application/x-www-form-urlencoded; or put the parameters into the address.",
            ));
        }
        raw.extend(&body);
    }
    Ok(raw)
}
