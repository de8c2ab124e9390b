//! Why a document can't be read as a feed.

/// A document that can't be read. Each message says to a person what is wrong, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// Something else altogether.
    #[error("this is not a feed: expected Atom, RSS, JSON Feed or a page with h-entry")]
    NotAFeed,
    /// It begins like a feed, and then breaks the rules of its format, or ends too early.
    #[error("the feed is broken: {0}")]
    Broken(String),
    /// More of something than is read.
    #[error("the feed is too much to read: {0}")]
    TooMuch(&'static str),
    /// It says to be in a character set that nobody knows.
    #[error("the feed is in an unknown character set: {0}")]
    Charset(String),
    /// It defines entities of its own, which is how small documents are made to grow without end.
    #[error("the feed has a document type with definitions of its own, which are not read")]
    Doctype,
}

/// Enough of somebody else's words to tell them from others.
pub(crate) fn shortened(words: &str) -> String {
    words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
