//! Query parameters: in the query string, in a form body of a GET (as `curl -X GET -d` sends it), or both.

use super::{Problem, body};
use crate::auth::{Method, Principal};
use axum::extract::Request;
use model::RawQuery;

/// The parameters of a request. A body without a `Content-Type` is parsed as a form, except in signed requests: a
/// signature covers a body only if the headers declare it as a form.
pub(super) async fn raw_query(request: Request, caller: &Principal) -> Result<RawQuery, Problem> {
    let (head, sent) = request.into_parts();
    let mut raw = RawQuery::parse(head.uri.query().unwrap_or_default().as_bytes());
    let form = body::read(sent, body::MAX_FORM).await?;
    if form.is_empty() {
        return Ok(raw);
    }
    match (body::is_form(&head.headers), body::is_untyped(&head.headers), &caller.method) {
        (false, true, Method::OAuth(_)) => Err(Problem::body(
            "The signature does not cover this body. Send Content-Type: application/x-www-form-urlencoded and sign \
             its parameters, or put the parameters into the address.",
        )),
        (false, false, _) => Err(Problem::body(
            "The body of a GET must be application/x-www-form-urlencoded. Or send the parameters in the query string.",
        )),
        _ => {
            raw.extend(&form);
            Ok(raw)
        }
    }
}
