//! Errors of the fetcher, as sentences for the person who entered the address.
//!
//! A sentence says what was expected. It never contains a system error or a resolved IP address: a person who
//! can enter any address could map the operator's private networks with them. For the same reason a name with a
//! private address and a name without an address have the same message.

use std::time::Duration;

/// Why a fetch failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The address is not allowed.
    #[error("{0}")]
    Refused(Refusal),
    /// Status 410.
    #[error("The feed was removed permanently (status 410): enter its new address, if it has one.")]
    Gone,
    /// Status 404.
    #[error("Nothing was found at this address (status 404): check the spelling.")]
    NotFound,
    /// Status 401 or 403.
    #[error("This address requires signing in (status {0}): enter a public one.")]
    NeedsSignIn(u16),
    /// Status 429 or 503.
    #[error("The server is busy. It will be tried again later; no action is needed.")]
    Busy {
        /// The `Retry-After` of the response.
        retry_after: Option<Duration>,
    },
    /// Any other status without content.
    #[error("The server answered with status {0}: expected 200.")]
    Status(u16),
    /// The body exceeds the limit, compressed or decompressed.
    #[error("The document at this address is too large: enter the address of a shorter feed.")]
    TooLarge,
    /// A timeout.
    #[error("The server took too long to answer: try again later.")]
    TooSlow,
    /// A redirect loop, or too many redirects.
    #[error("Too many redirects: enter the final address.")]
    RedirectLoop,
    /// No connection.
    #[error("{0}")]
    Unreachable(Unreachable),
    /// No secure connection.
    #[error("{0}")]
    Tls(TlsError),
    /// The response is not valid HTTP.
    #[error("Invalid response from the server: {0}.")]
    InvalidResponse(&'static str),
}

/// Why an address is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is longer than 2,048 bytes.
    #[error("The address is too long: expected at most 2,048 characters.")]
    TooLong,
    /// It is not a URL.
    #[error("This is not a web address: expected one like https://example.org/feed.")]
    NoAddress,
    /// Its scheme is neither http nor https.
    #[error("Unsupported address: expected one that begins with https:// or http://.")]
    Scheme,
    /// It contains a user name or a password.
    #[error("The address contains a user name or a password: enter one without.")]
    Credentials,
    /// Its port is not allowed.
    #[error("The address has, or redirects to, a port that is not allowed: enter one without a port.")]
    Port,
    /// It is, or redirects to, an IP address that is not public.
    #[error("The address is, or redirects to, a private one: enter a public address.")]
    PrivateAddress,
    /// It is, or redirects to, a name whose IP address is not public.
    #[error("No public server was found for the host name: check the spelling.")]
    PrivateName,
    /// It belongs to this service.
    #[error("The address is, or redirects to, this server: enter the address of another one.")]
    Own,
    /// It redirects from https to http.
    #[error("The address redirects from https to http, which is not followed: enter an https address.")]
    Downgrade,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The name has no address.
    #[error("No public server was found for the host name: check the spelling.")]
    NoSuchHost,
    /// No address accepts the connection.
    #[error("The server cannot be reached: check the address, or try again later.")]
    NoConnection,
}

/// Why there is no secure connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The certificate is for another host.
    #[error("The server's certificate is for another host name: check the spelling.")]
    WrongName,
    /// The certificate is not valid at this time.
    #[error("The server's certificate has expired or is not yet valid: its operator has to renew it.")]
    Expired,
    /// No trusted authority has signed the certificate.
    #[error("The server's certificate is from an unknown authority: its operator has to replace it.")]
    Untrusted,
    /// Any other TLS error.
    #[error("No secure connection can be made to this server.")]
    Broken,
}
