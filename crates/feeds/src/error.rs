//! The error of documents that cannot be read as a feed.

/// A document that cannot be read. Each message is one sentence for display.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// Another format.
    #[error("this is not a feed: expected Atom, RSS, JSON Feed or a page with h-entry")]
    NotAFeed,
    /// The document begins like a feed but breaks the rules of its format or ends too early.
    #[error("the feed is broken: {0}")]
    Broken(String),
    /// The document exceeds a limit.
    #[error("the feed is too large: {0}")]
    TooLarge(&'static str),
    /// The document declares an unknown character set.
    #[error("the feed is in an unknown character set: {0}")]
    Charset(String),
    /// The document defines entities. Such definitions can make a small document expand without bound.
    #[error("the feed has a document type with definitions, which are not supported")]
    Doctype,
}

/// Shortens foreign text for a message.
pub(crate) fn shortened(words: &str) -> String {
    words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
