//! Why something could not be fetched, in sentences for the person who gave the address.
//!
//! A sentence says what would be right. It never has an error of the system or an address that a name led to in it: who
//! may give any address could learn from those what stands in the operator's own networks. So a name that leads to a
//! private address reads the same as one that leads nowhere.

use std::time::Duration;

/// Why something could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It must not be asked.
    #[error("{0}")]
    Refused(Refusal),
    /// It is gone for good: 410.
    #[error("What was there is gone for good, its server says: give its new address, if it has one.")]
    Gone,
    /// Nothing is there: 404.
    #[error("Nothing is found at this address: check how it is written.")]
    NotFound,
    /// It is not for everybody: 401 or 403.
    #[error(
        "This address is not open to everybody (status {0}): give one that can be read without signing in."
    )]
    NeedsSignIn(u16),
    /// The server asks to come later: 429 or 503.
    #[error("The server is busy and asks to come later: nothing has to be done here.")]
    Busy {
        /// When to come again.
        retry_after: Option<Duration>,
    },
    /// Any other status that brings no content.
    #[error("The server answered with status {0}, where 200 is expected.")]
    Status(u16),
    /// More than is read, as sent or inflated.
    #[error("There is more at this address than is read: give one of a shorter feed.")]
    TooLarge,
    /// It took too long.
    #[error("The server took too long to answer: try again later.")]
    TooSlow,
    /// Redirects that lead to each other, or too many.
    #[error("This address leads to another one too many times: give the one where it ends.")]
    RedirectLoop,
    /// No connection.
    #[error("{0}")]
    Unreachable(Unreachable),
    /// No secure connection.
    #[error("{0}")]
    Tls(Tls),
    /// What came is not what HTTP is.
    #[error("The server's answer cannot be read: {0}.")]
    Garbled(&'static str),
}

/// Why an address must not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is longer than 2,048 bytes.
    #[error("The address is too long: at most 2,048 characters are read.")]
    TooLong,
    /// It is no address at all.
    #[error("This is not the address of a page: write one like https://example.org/feed.")]
    NoAddress,
    /// It is neither http nor https.
    #[error("Only addresses that begin with https:// or http:// are read.")]
    Scheme,
    /// It has a user name or a password.
    #[error("The address has a user name or a password in it: give one without.")]
    Credentials,
    /// Its port is not one of those that are asked.
    #[error("The address has a port that is not asked, or leads to one: give one without a port.")]
    Port,
    /// It is, or leads to, a number that is not public.
    #[error(
        "The address is not one of the public internet, or leads to none: give one that everybody can reach."
    )]
    PrivateAddress,
    /// It is, or leads to, a name with an address that is not public.
    #[error("No public server is found for the host name in this address: check how it is written.")]
    PrivateName,
    /// It is one of the service itself.
    #[error("The address is one of this service itself, or leads to one: give the address of another.")]
    Own,
    /// It leads from https to http.
    #[error("The address leads from https to http, which is not followed: give one that stays with https.")]
    Downgrade,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The name has no address.
    #[error("No public server is found for the host name in this address: check how it is written.")]
    NoSuchHost,
    /// Nobody takes the connection.
    #[error("The server cannot be reached: check the address, or try again later.")]
    NoConnection,
}

/// Why there is no secure connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Tls {
    /// The certificate is for another host.
    #[error("The server's certificate is for another host name: check how the address is written.")]
    WrongName,
    /// The certificate is not valid at this time.
    #[error("The server's certificate is not valid at this time: who runs the server has to renew it.")]
    Expired,
    /// Nobody who is trusted vouches for the certificate.
    #[error(
        "The server's certificate is from an authority that is not known: who runs the server has to change it."
    )]
    Untrusted,
    /// Anything else.
    #[error("No secure connection can be made to this server.")]
    Broken,
}
