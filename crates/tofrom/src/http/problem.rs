//! The only place where an error becomes a status.
//!
//! Every layer has an error type of its own that knows nothing of HTTP: `ParameterError` (what was asked),
//! [`Denied`] (who asks), [`ReadError`] and `StoreError` (what came of it). Here each becomes a [`Problem`]: a kind
//! from the table below and a text for the caller. What the log should know besides goes to the log, once, here.

use crate::auth::Denied;
use crate::auth::oauth::Refusal;
use crate::feed::ReadError;
use crate::pages::{Failure, FormTargets, html};
use crate::render::Renderer;
use crate::site::Site;
use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use model::{Format, ParameterError};
use std::fmt::Write;
use store::StoreError;

/// A kind of problem: the last segment of its type, its status, its title, and what its page says.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// The last segment of the problem's type.
    pub slug: &'static str,
    status: StatusCode,
    /// The problem's title.
    pub title: &'static str,
    /// What its page says.
    pub about: &'static str,
}

impl Kind {
    /// The status that such a problem comes with.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }
}

macro_rules! kinds {
    ($($name:ident = $slug:literal, $status:ident, $title:literal, $about:literal;)*) => {
        $(const $name: &Kind = &Kind { slug: $slug, status: StatusCode::$status, title: $title, about: $about };)*
        /// Every kind of problem that the service tells of.
        pub const KINDS: &[&Kind] = &[$($name),*];
    };
}

kinds! {
    PARAMETER = "parameter", BAD_REQUEST, "A parameter can't be taken",
        "A parameter of the request has a value that makes no sense, or was sent twice. The member `parameter` names \
         it, and `detail` says what would be right.";
    BODY = "body", BAD_REQUEST, "The request's body can't be taken",
        "A GET may carry its parameters as a form (`application/x-www-form-urlencoded`) in its body, and nothing else.";
    CREDENTIALS = "credentials", BAD_REQUEST, "More than one credential",
        "Send exactly one of OAuth, Basic and ServicePSK, once. Which one would count if there were two?";
    UNAUTHORIZED = "unauthorized", UNAUTHORIZED, "Authentication is needed",
        "Every request must authenticate by OAuth, HTTP Basic or a pre-shared key. The member `reason` says what was \
         wrong: `missing`, `malformed`, `bad-credentials`, `unknown-consumer`, `missing-consumer`, and for signed \
         requests `signature-invalid`, `timestamp-refused`, `nonce-used`, `token-rejected`, `token-revoked`, \
         `token-expired`, `token-used`, `user-refused`, `verifier-invalid`; `oauth_problem` says the same in the words of OAuth.";
    OAUTH = "oauth", BAD_REQUEST, "The signed request can't be taken",
        "A request is signed by OAuth 1.0a, but a protocol parameter is absent, there twice, in two places, or has a \
         value that it can't have. `oauth_problem` and the members beside it say which, `detail` what would be right.";
    FORBIDDEN = "forbidden", FORBIDDEN, "This credential may not do that",
        "The credential is right, but not for this. The member `reason` says why.";
    NOT_FOUND = "not-found", NOT_FOUND, "Nothing is here",
        "There is nothing at this address, or nothing that the caller may see: a private account looks like none.";
    METHOD = "method", METHOD_NOT_ALLOWED, "This method is not for this address",
        "The header `Allow` lists the methods that are.";
    NOT_ACCEPTABLE = "not-acceptable", NOT_ACCEPTABLE, "None of the representations is acceptable",
        "The header `Accept` shuts out all that there is. The problem lists what there is.";
    TOO_LARGE = "too-large", PAYLOAD_TOO_LARGE, "The body is too large",
        "The parameters in a body may take 8 KiB.";
    URI_TOO_LONG = "uri-too-long", URI_TOO_LONG, "The address is too long",
        "The request line may take 8 KiB. Parameters may also be sent as a form in the body.";
    HEADERS_TOO_LARGE = "headers-too-large", REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large",
        "The headers may take 32 KiB.";
    THROTTLED = "throttled", TOO_MANY_REQUESTS, "Too many wrong credentials",
        "Wrong credentials came too often from one address. The header `Retry-After` says how many seconds to wait; a \
         right credential from elsewhere is not held up.";
    TOO_BROAD = "too-broad", SERVICE_UNAVAILABLE, "The selection takes too long to find",
        "A read that is bounded only by the time that it is not ordered by may have to walk far. Order by that time: \
         `orderby=pubDate` with `publishedsince` and `publishedbefore`, `orderby=receivedDate` with the other two.";
    UNAVAILABLE = "unavailable", SERVICE_UNAVAILABLE, "The service can't answer now",
        "Something that the service needs is not there at the moment. The same request may go through later.";
    INTERNAL = "internal", INTERNAL_SERVER_ERROR, "The service failed",
        "A fault of the service. It is in its log, by the request's id.";
}

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

    fn member(mut self, name: &'static str, value: impl Into<String>) -> Problem {
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

    /// The method is not for this address.
    pub fn method_not_allowed(allow: &'static str) -> Problem {
        let hint = if allow.starts_with("GET") {
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

    /// A GET has a body that is no form.
    pub fn body(detail: impl Into<String>) -> Problem {
        Problem::new(BODY, detail)
    }

    /// A body is larger than it may be.
    pub fn too_large() -> Problem {
        Problem::new(TOO_LARGE, "The parameters in a body may take 8 KiB at most.")
    }

    /// The request line is longer than it may be.
    pub fn uri_too_long() -> Problem {
        Problem::new(URI_TOO_LONG, "The address may take 8 KiB at most.")
    }

    /// The headers are larger than they may be.
    pub fn headers_too_large() -> Problem {
        Problem::new(HEADERS_TOO_LARGE, "The headers may take 32 KiB at most.")
    }

    /// Too much is under way.
    pub fn busy() -> Problem {
        Problem::new(UNAVAILABLE, "Too many requests are under way.").retry_after(1)
    }

    /// A request took longer than any may.
    pub fn timed_out() -> Problem {
        Problem::new(UNAVAILABLE, "The request took too long.").retry_after(5)
    }

    /// A fault of ours.
    pub fn internal() -> Problem {
        Problem::new(INTERNAL, "This is a fault of the service. Its log has it under the request's id.")
    }

    /// The document, in the form that the caller prefers.
    pub fn respond(&self, site: &Site, xml: bool) -> Response {
        let kind_url = site.problem_url(self.kind.slug);
        let mut members = vec![
            ("type", kind_url.as_str()),
            ("title", self.kind.title),
            ("status", self.kind.status.as_str()),
            ("detail", self.detail.as_str()),
        ];
        members.extend(self.members.iter().map(|(name, value)| (*name, value.as_str())));
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
            name => format!("{}:{}", serde_json::Value::from(name), serde_json::Value::from(*value)),
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

impl From<ParameterError> for Problem {
    fn from(error: ParameterError) -> Problem {
        Problem::new(PARAMETER, error.to_string()).member("parameter", error.parameter)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        tracing::error!(%error, "the store failed");
        match error {
            StoreError::Corrupt(_) => Problem::internal(),
            _ => Problem::new(UNAVAILABLE, "The store can't be reached.").retry_after(5),
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Problem {
        match error {
            ReadError::Store(error) => error.into(),
            ReadError::StartTooFar(most) => Problem::new(
                PARAMETER,
                format!("start: at most {most} entries can be stepped over; follow the links with rel=\"next\" instead"),
            )
            .member("parameter", "start"),
            ReadError::TooBroad => Problem::new(TOO_BROAD, TOO_BROAD.about).retry_after(60),
        }
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Problem {
        let detail = denied.detail();
        let reason = denied.reason();
        match denied {
            Denied::Store(error) => error.into(),
            Denied::Sealing(error) => {
                tracing::error!(%error, "a secret can't be sealed or opened; are the secret_keys the right ones?");
                Problem::internal()
            }
            Denied::TwoCredentials | Denied::TwoConsumers => Problem::new(CREDENTIALS, detail),
            Denied::NotAToken => Problem::new(FORBIDDEN, detail).member("reason", reason),
            Denied::Signature(refusal) => refused_signature(&refusal),
            Denied::Busy => Problem::busy(),
            Denied::Throttled { retry_after_seconds } => {
                Problem::new(THROTTLED, detail).retry_after(retry_after_seconds)
            }
            _ => Problem::new(UNAUTHORIZED, detail)
                .member("reason", reason)
                .header(WWW_AUTHENTICATE, BASIC_CHALLENGE)
                .header(WWW_AUTHENTICATE, OAUTH_CHALLENGE),
        }
    }
}

const BASIC_CHALLENGE: &str = r#"Basic realm="tofrom", charset="UTF-8""#;
const OAUTH_CHALLENGE: &str = r#"OAuth realm="tofrom""#;

/// A signed request that is not let in, told in our words and in those of the problem-reporting extension.
fn refused_signature(refusal: &Refusal) -> Problem {
    let oauth_problem = refusal.problem().as_str();
    let mut challenge = format!("{OAUTH_CHALLENGE}, oauth_problem=\"{oauth_problem}\"");
    let (kind, basic) =
        if refusal.is_bad_request() { (OAUTH, None) } else { (UNAUTHORIZED, Some(BASIC_CHALLENGE)) };
    let mut problem = Problem::new(kind, refusal.detail())
        .member("reason", refusal.reason())
        .member("oauth_problem", oauth_problem);
    if let Some((name, value)) = refusal.report() {
        let encoded = oauth1::encode(value.as_bytes());
        // Writing to a String can't fail.
        let _ = write!(challenge, ", {name}=\"{encoded}\"");
        problem = problem.member(name, value);
    }
    if let Refusal::SignatureInvalid(seen) = refusal {
        problem = problem
            .member("method", &seen.method)
            .member("base_uri", &seen.base_uri)
            .member("parameters", seen.parameters.join(" "));
    }
    if let Some(basic) = basic {
        problem = problem.header(WWW_AUTHENTICATE, basic);
    }
    problem.header(WWW_AUTHENTICATE, &challenge)
}
