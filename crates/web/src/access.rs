//! The credentials of routes. The router enforces them and the documentation describes them, so neither owns them.

/// The credential that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// An API credential.
    Credential,
    /// The signature of an OAuth application.
    Application,
    /// None: a browser page, which checks the session itself.
    Page,
    /// A browser page, and an API address with a credential. The headers of the request decide which.
    PageOrCredential,
    /// None.
    Open,
}
