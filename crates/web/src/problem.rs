//! Problem documents (RFC 9457): the only place where an error becomes an HTTP status.
//!
//! The error types of the other layers know nothing of HTTP: `ParameterError` (query parameters), `AuthError`
//! (authentication), `Unreadable` and `Refused` (request bodies), `ReadError` and `StoreError` (reading and storage).
//! `from` converts each into a [`Problem`]: a kind from the table in `kinds` and a detail for the caller. It also logs
//! the cause, once, where the caller must not see it.

mod from;
mod kinds;

pub use kinds::{KINDS, Kind};

use crate::render::Renderer;
use crate::site::Site;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use domain::json;
use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue};
use kinds::{
    BODY, FORBIDDEN, HEADERS_TOO_LARGE, HOST, INTERNAL, MEDIA_TYPE, METHOD, NAME_GONE, NOT_ACCEPTABLE,
    NOT_FOUND, STALLED, STREAMS, TOO_LARGE, TOO_OFTEN, UNAVAILABLE, URI_TOO_LONG,
};
use model::Format;

/// An error as the caller sees it.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: &'static Kind,
    detail: String,
    members: Vec<(&'static str, String)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    fn new(kind: &'static Kind, detail: impl Into<String>) -> Problem {
        Problem { kind, detail: detail.into(), members: Vec::new(), headers: Vec::new() }
    }

    pub(super) fn member(mut self, name: &'static str, value: impl Into<String>) -> Problem {
        self.members.push((name, value.into()));
        self
    }

    fn header(mut self, name: HeaderName, value: &str) -> Problem {
        // The values are ours (digits, method names, challenges) and always valid.
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    fn retry_after(self, seconds: u64) -> Problem {
        self.header(RETRY_AFTER, &seconds.to_string())
    }

    /// Nothing exists here, or the caller may not see it.
    pub fn not_found() -> Problem {
        Problem::new(NOT_FOUND, "Nothing exists here, or you may not see it.")
    }

    /// The account has reached its limit of open streams.
    pub fn too_many_streams() -> Problem {
        Problem::new(STREAMS, "This account already has 32 open streams. Close one first.").retry_after(10)
    }

    /// The caller exceeded a rate limit.
    pub fn too_often() -> Problem {
        Problem::new(TOO_OFTEN, "Too many requests. Try again in 60 seconds.").retry_after(60)
    }

    /// The account exceeded its limit of requests, which the headers describe.
    pub(crate) fn too_many_requests(seconds: u64, headers: HeaderMap) -> Problem {
        let wait = if seconds == 1 { "1 second".to_owned() } else { format!("{seconds} seconds") };
        let mut problem = Problem::new(TOO_OFTEN, format!("Too many requests. Try again in {wait}."));
        problem.headers.extend(headers.into_iter().filter_map(|(name, value)| Some((name?, value))));
        problem.retry_after(seconds)
    }

    /// The address does not support the method.
    pub fn method_not_allowed(allow: &'static str) -> Problem {
        // A POST to a read-only address was probably meant as a GET.
        let hint = if allow == "GET, HEAD" {
            " To send parameters with curl's -d, add -G: without it curl sends a POST."
        } else {
            ""
        };
        let detail = format!("This address supports only {allow}.{hint}");
        Problem::new(METHOD, detail).header(ALLOW, allow)
    }

    /// `Accept` excludes every available representation.
    pub fn not_acceptable(offers: &[Format]) -> Problem {
        let offers: Vec<&str> = offers.iter().map(|format| format.media_type()).collect();
        let offers = offers.join(", ");
        let detail = format!("No available media type matches Accept. Accept one of {offers}.");
        Problem::new(NOT_ACCEPTABLE, detail).member("offers", offers)
    }

    /// A body is malformed.
    pub fn body(detail: impl Into<String>) -> Problem {
        Problem::new(BODY, detail)
    }

    /// A body exceeds its size limit.
    pub fn too_large(limit: usize) -> Problem {
        let limit =
            if limit < 1 << 20 { format!("{} KiB", limit >> 10) } else { format!("{} MiB", limit >> 20) };
        Problem::new(TOO_LARGE, format!("The body is larger than {limit}."))
    }

    /// A batch has too many items.
    pub fn too_many(limit: usize) -> Problem {
        Problem::new(TOO_LARGE, format!("The batch has more than {limit} items. None was accepted."))
    }

    /// The media type of the body is not supported.
    pub fn media_type(accepts: &'static str) -> Problem {
        let detail = format!("Set Content-Type to one of {accepts}, in UTF-8.");
        Problem::new(MEDIA_TYPE, detail).member("accepts", accepts)
    }

    /// A form was sent to an address that takes none: most likely a GET was meant.
    pub fn form(accepts: &'static str) -> Problem {
        let detail = format!(
            "This address does not accept a form. Set Content-Type to one of {accepts}. To send parameters with \
             curl's -d, add -G: without it curl sends a POST."
        );
        Problem::new(MEDIA_TYPE, detail).member("accepts", accepts)
    }

    /// The body is compressed.
    pub fn coded() -> Problem {
        let detail = "Compressed bodies are not supported. Send the body without Content-Encoding.";
        Problem::new(MEDIA_TYPE, detail).header(ACCEPT_ENCODING, "identity")
    }

    /// A key asks for more than it has itself.
    pub fn key_limit(detail: &str) -> Problem {
        Problem::new(FORBIDDEN, detail).member("reason", "key-limit")
    }

    /// The name belonged to a deleted account.
    pub fn name_gone() -> Problem {
        Problem::new(
            NAME_GONE,
            "The name belonged to a deleted account and is not reused. Choose another name.",
        )
    }

    /// The request line exceeds its size limit.
    pub fn uri_too_long() -> Problem {
        Problem::new(URI_TOO_LONG, "The request line is longer than 8 KiB.")
    }

    /// The headers exceed their size limit.
    pub fn headers_too_large() -> Problem {
        Problem::new(HEADERS_TOO_LARGE, "The request headers are larger than 32 KiB.")
    }

    /// The request has no `Host` header, or several.
    pub fn host() -> Problem {
        Problem::new(HOST, "An HTTP/1.1 request needs exactly one Host header.")
    }

    /// The server is at its concurrency limit.
    pub fn busy() -> Problem {
        Problem::new(UNAVAILABLE, "The server is handling too many requests. Try again in a second.")
            .retry_after(1)
    }

    /// A body did not arrive in time.
    pub fn stalled_body() -> Problem {
        Problem::new(STALLED, "The body did not arrive in time. Send the request again.")
    }

    /// The sender has reached its limit of request body bytes in flight.
    pub fn too_many_bodies(limit: usize) -> Problem {
        let detail = format!(
            "More than {} MiB of request bodies are in flight from this account or address. Send fewer requests in \
             parallel.",
            limit >> 20
        );
        Problem::new(TOO_OFTEN, detail).retry_after(1)
    }

    /// A request exceeded the time limit.
    pub fn timed_out() -> Problem {
        Problem::new(UNAVAILABLE, "The request took too long. Try again later.").retry_after(5)
    }

    /// The server failed.
    pub fn internal() -> Problem {
        Problem::new(
            INTERNAL,
            "The server failed to handle the request. Its log has the details under the request id.",
        )
    }

    /// Its kind.
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// What went wrong in this case.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The headers of its response.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.headers
    }

    /// The members of the document, in order.
    fn document<'a>(&'a self, kind_url: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut members = vec![
            ("type", kind_url),
            ("title", self.kind.title),
            ("status", self.kind.status.as_str()),
            ("detail", self.detail.as_str()),
        ];
        members.extend(self.members.iter().map(|(name, value)| (*name, value.as_str())));
        members
    }

    /// The document as JSON on one line, for the response to a batch.
    pub fn line(&self, site: &Site) -> Vec<u8> {
        problem_json(&self.document(&site.problem_url(self.kind.slug)))
    }

    /// The document as XML or JSON.
    pub fn respond(&self, site: &Site, xml: bool) -> Response {
        self.respond_with(xml, self.rendered(site, xml))
    }

    fn rendered(&self, site: &Site, xml: bool) -> Bytes {
        let kind_url = site.problem_url(self.kind.slug);
        let members = self.document(&kind_url);
        let document = if xml { Renderer::problem_xml(&members) } else { problem_json(&members) };
        document.into()
    }

    fn respond_with(&self, xml: bool, document: Bytes) -> Response {
        let media_type = if xml { "application/problem+xml" } else { "application/problem+json" };
        let mut response = (self.kind.status, [(CONTENT_TYPE, media_type)], document).into_response();
        for (name, value) in &self.headers {
            response.headers_mut().append(name, value.clone());
        }
        response
    }
}

/// A problem that was rendered once.
pub(crate) struct PreparedProblem {
    pub(crate) problem: Problem,
    json: Bytes,
    xml: Bytes,
}

impl PreparedProblem {
    pub(crate) fn new(problem: Problem, site: &Site) -> PreparedProblem {
        PreparedProblem { json: problem.rendered(site, false), xml: problem.rendered(site, true), problem }
    }

    /// The document as XML or JSON.
    pub(crate) fn respond(&self, xml: bool) -> Response {
        self.problem.respond_with(xml, if xml { &self.xml } else { &self.json }.clone())
    }
}

/// The members as JSON, in order. `status` is a number, the others are strings.
fn problem_json(members: &[(&str, &str)]) -> Vec<u8> {
    let fields: Vec<String> = members
        .iter()
        .map(|(name, value)| match *name {
            "status" => format!("\"status\":{value}"),
            name => format!("{}:{}", json::text(name), json::text(*value)),
        })
        .collect();
    format!("{{{}}}", fields.join(",")).into_bytes()
}

/// A problem travels as an extension of its response. The outermost layer, which knows what the caller accepts, renders
/// it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.kind.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
