//! The media type of a request body.

use super::super::{Problem, body};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// The format of a body. `read` selects it by media type; `accepts` lists the supported types for the problem document.
pub(in crate::http) fn kind_of<K>(
    headers: &HeaderMap,
    accepts: &'static str,
    pick: impl Fn(&str) -> Option<K>,
) -> Result<K, Problem> {
    let coded = |line: &http::HeaderValue| !line.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(coded) {
        return Err(Problem::coded());
    }
    if body::is_form(headers) {
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
        kind_of(&headers, "a/b", |essence| (essence == "a/b").then(|| essence.to_owned())).ok()
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
