//! The kinds of problems. Each has a page of its own, so what it means stands here and nowhere else.

use http::StatusCode;

/// A kind of problem: the last segment of its type, its status, its title, and what its page says.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// The last segment of the problem's type.
    pub slug: &'static str,
    pub(super) status: StatusCode,
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
        $(pub(super) const $name: &Kind = &Kind { slug: $slug, status: StatusCode::$status, title: $title, about: $about };)*
        /// Every kind of problem that the service tells of.
        pub const KINDS: &[&Kind] = &[$($name),*];
    };
}

kinds! {
    PARAMETER = "parameter", BAD_REQUEST, "A parameter can't be taken",
        "A parameter of the request has a value that makes no sense, or was sent twice. The member `parameter` names \
         it, and `detail` says what would be right.";
    BODY = "body", BAD_REQUEST, "The request's body can't be taken",
        "A GET may carry its parameters as a form (`application/x-www-form-urlencoded`) in its body, and nothing \
         else. What is written must be well-formed and what its `Content-Type` says.";
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
        "The credential is right, but not for this. The member `reason` says why: `scope` (it lacks the scope that the \
         member `scope` names), `not-yours` (only the account itself and operators may do that), `token-lent` (an \
         application may not end the account that lent it a token), `not-a-token` (only a token can do that).";
    NOT_FOUND = "not-found", NOT_FOUND, "Nothing is here",
        "There is nothing at this address, or nothing that the caller may see: a private account looks like none.";
    METHOD = "method", METHOD_NOT_ALLOWED, "This method is not for this address",
        "The header `Allow` lists the methods that are.";
    NOT_ACCEPTABLE = "not-acceptable", NOT_ACCEPTABLE, "None of the representations is acceptable",
        "The header `Accept` shuts out all that there is. The problem lists what there is.";
    STALLED = "stalled", REQUEST_TIMEOUT, "The body did not arrive in time",
        "The next piece of a request's body must arrive within 15 seconds, and the whole of it within 300. Send the \
         request again.";
    CURSOR_EXPIRED = "cursor-expired", GONE, "This mark is too old",
        "What arrived after an `updates` mark is kept for seven days at least. This one is older, or comes from before \
         the service moved to other engines: read the collection anew from the page that the member `first` names, \
         and go on from the `updates` link of what that gives.";
    NAME_GONE = "name-gone", GONE, "This name is not given again",
        "There was an account of that name, and it was removed. Whoever remembers the name must not meet somebody \
         else.";
    TOO_LARGE = "too-large", PAYLOAD_TOO_LARGE, "The body is too large",
        "The parameters in a body may take 8 KiB, what is written 64 KiB, many activities at once 8 MiB and 1,000 \
         items.";
    MEDIA_TYPE = "media-type", UNSUPPORTED_MEDIA_TYPE, "This media type is not taken here",
        "The header `Content-Type` must name one of the types that the member `accepts` lists, in UTF-8, and the body \
         must not be compressed.";
    UNPROCESSABLE = "unprocessable", UNPROCESSABLE_ENTITY, "What was written can't be taken",
        "The body can be read, but something that is needed is not there, or a value makes no sense. The member \
         `field` names it, and `detail` says what would be right.";
    URI_TOO_LONG = "uri-too-long", URI_TOO_LONG, "The address is too long",
        "The request line may take 8 KiB. Parameters may also be sent as a form in the body.";
    HEADERS_TOO_LARGE = "headers-too-large", REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large",
        "The headers may take 32 KiB.";
    HOST = "host", BAD_REQUEST, "The request names no host, or several",
        "An HTTP/1.1 request needs exactly one `Host` header. Clients and proxies that disagree about the host of a \
         request disagree about whose answer it is.";
    THROTTLED = "throttled", TOO_MANY_REQUESTS, "Too many wrong credentials",
        "Wrong credentials came too often from one address. The header `Retry-After` says how many seconds to wait; a \
         right credential from elsewhere is not held up.";
    TOO_OFTEN = "too-often", TOO_MANY_REQUESTS, "That was asked for too often",
        "Looking at addresses elsewhere takes other people's servers: an account may have 30 a minute looked at, and a \
         hub may tell of news 60 times a minute. Bodies of up to 8 MiB may be under way from one account or address. The header `Retry-After` says how many seconds to wait.";
    STREAMS = "streams", TOO_MANY_REQUESTS, "Too many streams",
        "An account may have 32 streams open at once. Close one, or read several collections by their `updates` links.";
    TOO_BROAD = "too-broad", SERVICE_UNAVAILABLE, "The selection takes too long to find",
        "A read that is bounded only by the time that it is not ordered by may have to walk far. Order by that time: \
         `orderby=pubDate` with `publishedsince` and `publishedbefore`, `orderby=receivedDate` with the other two.";
    UNAVAILABLE = "unavailable", SERVICE_UNAVAILABLE, "The service can't answer now",
        "Something that the service needs is not there at the moment. The same request may go through later.";
    INTERNAL = "internal", INTERNAL_SERVER_ERROR, "The service failed",
        "A fault of the service. It is in its log, by the request's id.";
}
