//! The only place where an error becomes a status.
//!
//! Every layer has an error type of its own that knows nothing of HTTP: `ParameterError` (what was asked), `AuthError`
//! (who asks), `Unreadable` and `Refused` (what was written), `ReadError` and `StoreError` (what came of it). `from`
//! makes of each a [`Problem`]: a kind from the table in `kinds` and a text for the caller. What the log should know
//! besides goes to the log, once, there.

mod from;
mod kinds;

pub use kinds::{KINDS, Kind};

use crate::json;
use crate::pages::{Failure, FormTargets, html};
use crate::render::Renderer;
use crate::site::Site;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT_ENCODING, ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue};
use kinds::{
    BODY, HEADERS_TOO_LARGE, HOST, INTERNAL, MEDIA_TYPE, METHOD, NAME_GONE, NOT_ACCEPTABLE, NOT_FOUND,
    STALLED, STREAMS, TOO_LARGE, TOO_OFTEN, UNAVAILABLE, URI_TOO_LONG,
};
use model::Format;

/// An error as the caller is told it.
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
        // What comes here is our own text: digits, method names, challenges.
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    fn retry_after(self, seconds: u64) -> Problem {
        self.header(RETRY_AFTER, &seconds.to_string())
    }

    /// Nothing here, or nothing that the caller may know of.
    pub fn not_found() -> Problem {
        Problem::new(NOT_FOUND, "There is nothing here that you may see.")
    }

    /// The account has as many streams as it may have.
    pub fn too_many_streams() -> Problem {
        Problem::new(STREAMS, "32 streams of this account are open already.").retry_after(10)
    }

    /// Somebody has the service do something too often.
    pub fn too_often() -> Problem {
        Problem::new(TOO_OFTEN, "That was often: try again in a minute.").retry_after(60)
    }

    /// The method is not for this address.
    pub fn method_not_allowed(allow: &'static str) -> Problem {
        // Where a POST is not taken at all, it may have been meant as a GET.
        let hint = if allow == "GET, HEAD" {
            " To send parameters with curl's -d, add -G: without it curl sends a POST."
        } else {
            ""
        };
        let detail = format!("Only {allow} can be used here.{hint}");
        Problem::new(METHOD, detail).header(ALLOW, allow)
    }

    /// Nothing that there is is acceptable.
    pub fn not_acceptable(offers: &[Format]) -> Problem {
        let offers: Vec<&str> = offers.iter().map(|format| format.media_type()).collect();
        let offers = offers.join(", ");
        let detail = format!("Accept one of {offers}.");
        Problem::new(NOT_ACCEPTABLE, detail).member("offers", offers)
    }

    /// A body is not what it should be.
    pub fn body(detail: impl Into<String>) -> Problem {
        Problem::new(BODY, detail)
    }

    /// A body is larger than it may be.
    pub fn too_large(limit: usize) -> Problem {
        let limit =
            if limit < 1 << 20 { format!("{} KiB", limit >> 10) } else { format!("{} MiB", limit >> 20) };
        Problem::new(TOO_LARGE, format!("The body may take {limit} at most."))
    }

    /// More comes at once than may.
    pub fn too_many(limit: usize) -> Problem {
        Problem::new(TOO_LARGE, format!("At most {limit} items may come at once; none of these was taken."))
    }

    /// The body is of another type than those that are taken.
    pub fn media_type(accepts: &'static str) -> Problem {
        let detail = format!("Say in Content-Type what the body is, one of {accepts}, in UTF-8.");
        Problem::new(MEDIA_TYPE, detail).member("accepts", accepts)
    }

    /// A form came where none is taken: most likely a GET was meant.
    pub fn form(accepts: &'static str) -> Problem {
        let detail = format!(
            "A form is not taken here. Say in Content-Type what the body is, one of {accepts}; or to send parameters \
             with curl's -d, add -G: without it curl sends a POST."
        );
        Problem::new(MEDIA_TYPE, detail).member("accepts", accepts)
    }

    /// The body is compressed.
    pub fn coded() -> Problem {
        let detail = "A body with a Content-Encoding is not taken here; send it as it is.";
        Problem::new(MEDIA_TYPE, detail).header(ACCEPT_ENCODING, "identity")
    }

    /// The name was somebody's.
    pub fn name_gone() -> Problem {
        Problem::new(NAME_GONE, "There was an account of that name; choose another.")
    }

    /// The request line is longer than it may be.
    pub fn uri_too_long() -> Problem {
        Problem::new(URI_TOO_LONG, "The address may take 8 KiB at most.")
    }

    /// The headers are larger than they may be.
    pub fn headers_too_large() -> Problem {
        Problem::new(HEADERS_TOO_LARGE, "The headers may take 32 KiB at most.")
    }

    /// The request names no host, or several.
    pub fn host() -> Problem {
        Problem::new(HOST, "An HTTP/1.1 request needs exactly one Host header.")
    }

    /// Too much is under way.
    pub fn busy() -> Problem {
        Problem::new(UNAVAILABLE, "Too many requests are under way.").retry_after(1)
    }

    /// A body did not arrive in time.
    pub fn stalled_body() -> Problem {
        Problem::new(STALLED, "The body did not arrive in time. Send the request again.")
    }

    /// One sender has as many bytes of bodies under way as one may have.
    pub fn too_many_bodies(limit: usize) -> Problem {
        let detail = format!(
            "Bodies of more than {} MiB are under way from this account or address. Send fewer requests at once.",
            limit >> 20
        );
        Problem::new(TOO_OFTEN, detail).retry_after(1)
    }

    /// A request took longer than any may.
    pub fn timed_out() -> Problem {
        Problem::new(UNAVAILABLE, "The request took too long.").retry_after(5)
    }

    /// A fault of ours.
    pub fn internal() -> Problem {
        Problem::new(INTERNAL, "This is a fault of the service. Its log has it under the request's id.")
    }

    /// What the document says, in its order.
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

    /// The document as JSON on one line, for answers that tell of many things.
    pub fn line(&self, site: &Site) -> Vec<u8> {
        problem_json(&self.document(&site.problem_url(self.kind.slug)))
    }

    /// The document, in the form that the caller prefers.
    pub fn respond(&self, site: &Site, xml: bool) -> Response {
        let kind_url = site.problem_url(self.kind.slug);
        let members = self.document(&kind_url);
        let (media_type, body) = if xml {
            ("application/problem+xml", Renderer::problem_xml(&members))
        } else {
            ("application/problem+json", problem_json(&members))
        };
        let mut response = (self.kind.status, [(CONTENT_TYPE, media_type)], body).into_response();
        for (name, value) in &self.headers {
            response.headers_mut().append(name, value.clone());
        }
        response
    }
}

impl Problem {
    /// The same for people, as a page.
    pub fn page(&self, site: &Site) -> Response {
        let page = Failure { site, title: self.kind.title, text: &self.detail };
        let mut response = html(self.kind.status, &page, FormTargets::None);
        for (name, value) in self.headers.iter().filter(|(name, _)| name != WWW_AUTHENTICATE) {
            response.headers_mut().append(name, value.clone());
        }
        response
    }
}

/// Members as JSON in their order; `status` is a number there, the rest are strings.
fn problem_json(members: &[(&str, &str)]) -> Vec<u8> {
    let written: Vec<String> = members
        .iter()
        .map(|(name, value)| match *name {
            "status" => format!("\"status\":{value}"),
            name => format!("{}:{}", json::text(name), json::text(*value)),
        })
        .collect();
    format!("{{{}}}", written.join(",")).into_bytes()
}

/// A problem travels as an extension of its response until the outermost layer, which knows what the caller accepts,
/// writes it down.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.kind.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
