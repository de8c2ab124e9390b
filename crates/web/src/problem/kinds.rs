//! The kinds of problems. This table is the single definition of each: its documentation page is made from it.

use http::StatusCode;

/// A kind of problem, with its HTTP status and the text of its documentation page.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// The last segment of the problem's `type`.
    pub slug: &'static str,
    pub(crate) status: StatusCode,
    /// The problem's `title`.
    pub title: &'static str,
    /// The text of its documentation page.
    pub about: &'static str,
}

impl Kind {
    /// The HTTP status of such a problem.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }
}

macro_rules! kinds {
    ($($name:ident = $slug:literal, $status:ident, $title:literal, $about:literal;)*) => {
        $(pub(super) const $name: &Kind = &Kind { slug: $slug, status: StatusCode::$status, title: $title, about: $about };)*
        /// Every kind of problem.
        pub const KINDS: &[&Kind] = &[$($name),*];
    };
}

kinds! {
    PARAMETER = "parameter", BAD_REQUEST, "Invalid parameter",
        "A parameter of the request has an invalid value or was sent more than once. The member `parameter` names it; \
         `detail` says what was expected.";
    BODY = "body", BAD_REQUEST, "Invalid request body",
        "The body is not well-formed, or is not of the type that `Content-Type` names. A GET may only have a form \
         (`application/x-www-form-urlencoded`) with its parameters as a body.";
    CREDENTIALS = "credentials", BAD_REQUEST, "More than one credential",
        "The request has more than one credential, so it is unclear which account it acts for. Send exactly one of \
         OAuth, Basic and ServicePSK, once.";
    UNAUTHORIZED = "unauthorized", UNAUTHORIZED, "Authentication required",
        "Authenticate with OAuth, HTTP Basic or a pre-shared key. The member `reason` says why authentication failed: \
         `missing`, `malformed`, `bad-credentials`, `unknown-consumer`, `missing-consumer`, and for signed \
         requests `signature-invalid`, `timestamp-refused`, `nonce-used`, `token-rejected`, `token-revoked`, \
         `token-expired`, `token-used`, `user-refused`, `verifier-invalid`. `oauth_problem` is the matching code of \
         the OAuth Problem Reporting extension.";
    OAUTH = "oauth", BAD_REQUEST, "Invalid OAuth request",
        "The request is signed with OAuth 1.0a, but a protocol parameter is missing, repeated, sent in two places, or \
         has an invalid value. `oauth_problem` and the members beside it name the parameter; `detail` says what was \
         expected.";
    FORBIDDEN = "forbidden", FORBIDDEN, "Forbidden",
        "The credential is valid but does not permit this request. The member `reason` says why: `scope` (the token \
         lacks the scope that the member `scope` names), `not-yours` (only the account itself and operators may do \
         this), `token-lent` (a token cannot delete the account that granted it, or manage its keys), `key-limit` (a key cannot \
         create one that lasts longer than itself), `not-a-token` (the request must be \
         signed with an access token).";
    QUOTA = "quota", FORBIDDEN, "Quota reached",
        "The account has as much of something as it may have. The member `quota` says of what: `activities`, `bytes` (of \
         activities), `following`, `blocked`, `muted`, `keys`, `applications`, `sources` or `hooks`. `detail` says how much and \
         what to do.";
    NOT_FOUND = "not-found", NOT_FOUND, "Not found",
        "Nothing exists at this address, or the caller may not see it. A private account looks like one that does not \
         exist.";
    METHOD = "method", METHOD_NOT_ALLOWED, "Method not allowed",
        "This address does not support the request method. The header `Allow` lists the supported methods.";
    NOT_ACCEPTABLE = "not-acceptable", NOT_ACCEPTABLE, "Not acceptable",
        "The header `Accept` excludes every representation of this resource. The member `offers` lists the available \
         media types.";
    STALLED = "stalled", REQUEST_TIMEOUT, "Request timeout",
        "The next part of the request body must arrive within 15 seconds, and all of it within 300 seconds. Send the \
         request again.";
    CURSOR_EXPIRED = "cursor-expired", GONE, "Cursor expired",
        "Cursors of `updates` links are valid for at least seven days. This one is older, or was issued before the \
         server moved to another store, or after the backup that it was restored from. Read the collection again from the page that the member `first` names, then \
         continue from its `updates` link.";
    NAME_GONE = "name-gone", GONE, "Name not available",
        "An account with this name was deleted. Names are never reused, so that links to the old account do not lead \
         to another person. Choose another name.";
    TOO_LARGE = "too-large", PAYLOAD_TOO_LARGE, "Request body too large",
        "The limits are 8 KiB for parameters in a body, 64 KiB for a single resource, and 8 MiB or 1,000 items for a \
         batch of activities.";
    MEDIA_TYPE = "media-type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type",
        "The header `Content-Type` must name one of the media types that the member `accepts` lists, in UTF-8, and the \
         body must not be compressed.";
    UNPROCESSABLE = "unprocessable", UNPROCESSABLE_ENTITY, "Validation failed",
        "The body is well-formed, but a required field is missing or a value is invalid. The member `field` names the \
         field; `detail` says what was expected.";
    URI_TOO_LONG = "uri-too-long", URI_TOO_LONG, "URI too long",
        "The request line is limited to 8 KiB. Parameters may also be sent as a form in the body.";
    HEADERS_TOO_LARGE = "headers-too-large", REQUEST_HEADER_FIELDS_TOO_LARGE, "Request headers too large",
        "The request headers are limited to 32 KiB in total.";
    HOST = "host", BAD_REQUEST, "Invalid Host header",
        "An HTTP/1.1 request needs exactly one `Host` header. With none or several, a client and a proxy could \
         disagree about which site the request is for.";
    THROTTLED = "throttled", TOO_MANY_REQUESTS, "Too many failed sign-in attempts",
        "Too many wrong credentials came from this address. The header `Retry-After` says how many seconds to wait. \
         Valid credentials from other addresses are not affected.";
    TOO_OFTEN = "too-often", TOO_MANY_REQUESTS, "Too many requests",
        "An account may send 50 requests a second, and 500 at once, unless the server is configured otherwise: the headers \
         `RateLimit-Policy` and `RateLimit` tell. Other limits are 30 source fetches and 30 hook tests a minute for an account, 60 notifications a minute for a hub, and 8 MiB of \
         request bodies in flight for an account or address. The header `Retry-After` says how many seconds to wait.";
    STREAMS = "streams", TOO_MANY_REQUESTS, "Too many streams",
        "An account may have 32 streams open at the same time. Close one, or poll the `updates` links instead.";
    TOO_BROAD = "too-broad", SERVICE_UNAVAILABLE, "Query too broad",
        "Finding the matches would take too long: the query filters by one time and orders by the other, or too few of very \
         many activities match. Narrow the time, or order by the \
         time that you filter by: `orderby=pubDate` with `publishedsince` and `publishedbefore`, \
         `orderby=receivedDate` with `receivedsince` and `receivedbefore`.";
    UNAVAILABLE = "unavailable", SERVICE_UNAVAILABLE, "Service unavailable",
        "The server is overloaded, or a system that it depends on is unavailable. Send the request again later.";
    INTERNAL = "internal", INTERNAL_SERVER_ERROR, "Internal server error",
        "The server failed to handle the request. Its log has the details under the request id in `X-Request-Id`.";
}
