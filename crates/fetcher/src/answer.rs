//! What is asked for, and what comes back.

use std::time::Duration;
use url::Url;

/// The `Accept` header of who looks for a feed.
pub const FEED: &str = "application/atom+xml, application/rss+xml;q=0.9, application/xml;q=0.8, */*;q=0.1";

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Get {
    /// Where.
    pub url: Url,
    /// The entity tag of what is known already, as it came.
    pub etag: Option<String>,
    /// The time of what is known already, as it came.
    pub modified: Option<String>,
    /// The `Accept` header.
    pub accept: &'static str,
}

impl Get {
    /// Asks for a feed of which nothing is known yet.
    #[must_use]
    pub fn feed(url: Url) -> Get {
        Get { url, etag: None, modified: None, accept: FEED }
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Where it came from in the end.
    pub url: Url,
    /// Where to ask from now on: the end of the permanent redirects (301, 308) that everything began with.
    pub moved: Option<Url>,
    /// What came.
    pub content: Content,
    /// How long it stays as it is, by its server's word.
    pub fresh_for: Option<Duration>,
    /// How many redirects led there.
    pub hops: usize,
}

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// It is as it was known.
    Unchanged,
    /// It is this now.
    Fresh {
        /// The body, inflated.
        body: Vec<u8>,
        /// The `Content-Type` header.
        content_type: Option<String>,
        /// The entity tag to ask with next time.
        etag: Option<String>,
        /// The time to ask with next time.
        modified: Option<String>,
        /// The `Link` headers.
        links: Vec<String>,
    },
}

/// What came back for a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The status, whatever it is.
    pub status: u16,
    /// The first 4 KiB of the body. It is for the log: who gave the address must not see it.
    pub body: String,
}
