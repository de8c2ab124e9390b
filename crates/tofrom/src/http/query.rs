//! Parameters as they are sent: in the query string, in a form body of a GET (what `curl -X GET -d` sends), or both.

use super::{Problem, body};
use axum::extract::Request;
use model::RawQuery;

/// The parameters of a request.
pub(super) async fn raw_query(request: Request) -> Result<RawQuery, Problem> {
    let (head, sent) = request.into_parts();
    let mut raw = RawQuery::parse(head.uri.query().unwrap_or_default().as_bytes());
    let form = body::read(sent, body::MAX_FORM).await?;
    if !form.is_empty() {
        if !body::is_form(&head.headers) {
            return Err(Problem::body(
                "The body of a GET may only be application/x-www-form-urlencoded; or put the parameters into the address.",
            ));
        }
        raw.extend(&form);
    }
    Ok(raw)
}
