//! Requests of the fetcher and their responses.

use std::time::Duration;
use url::Url;

/// The `Accept` header for feeds.
pub const FEED: &str = "application/atom+xml, application/rss+xml;q=0.9, application/xml;q=0.8, */*;q=0.1";

/// A GET request.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// The address.
    pub url: Url,
    /// The entity tag of the known version, unchanged.
    pub etag: Option<String>,
    /// The `Last-Modified` time of the known version, unchanged.
    pub modified: Option<String>,
    /// The `Accept` header.
    pub accept: &'static str,
}

impl FetchRequest {
    /// A request for a feed without a known version.
    #[must_use]
    pub fn feed(url: Url) -> FetchRequest {
        FetchRequest { url, etag: None, modified: None, accept: FEED }
    }
}

/// The response to a GET request.
#[derive(Clone, Debug)]
pub struct FetchResponse {
    /// The final address after all redirects.
    pub url: Url,
    /// The address to use from now on: the end of the leading permanent redirects (301, 308).
    pub moved: Option<Url>,
    /// The content.
    pub content: Content,
    /// How long the response stays fresh, from its headers.
    pub fresh_for: Option<Duration>,
    /// The number of redirects that were followed.
    pub hops: usize,
}

/// The content of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The content has not changed since the known version.
    Unchanged,
    /// New content.
    Fresh {
        /// The decompressed body.
        body: Vec<u8>,
        /// The `Content-Type` header.
        content_type: Option<String>,
        /// The entity tag for the next request.
        etag: Option<String>,
        /// The `Last-Modified` time for the next request.
        modified: Option<String>,
        /// The `Link` headers.
        links: Vec<String>,
    },
}

/// The response to a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostResponse {
    /// The status, including errors.
    pub status: u16,
    /// The first 4 KiB of the body, for the log only: the person who entered the address must not see it.
    pub body: String,
}
