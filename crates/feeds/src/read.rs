//! Detects the format of a document and reads it. The content decides, because servers often declare wrong
//! types.

use crate::feed::Feed;
use crate::html::{Token, tokens};
use crate::namespace::Ns;
use crate::{FeedError, atom, charset, json, microformats, rss, xml};
use url::Url;

/// Reads a feed in any supported format. `content_type` is the response header and sets the character set.
/// `address` is the address of the document: relative addresses are resolved against it.
///
/// # Errors
/// [`FeedError`] if the document is not a feed or cannot be parsed.
pub fn read(bytes: &[u8], content_type: Option<&str>, address: &Url) -> Result<Feed, FeedError> {
    let text = charset::decoded(bytes, content_type)?;
    if text.trim_start().starts_with('{') {
        return json::feed(&text, address);
    }
    match root_name(&text).as_deref() {
        Some("feed" | "entry" | "rss" | "rdf") => {
            let root = xml::root(&text)?;
            match (&*root.name, root.ns) {
                ("feed" | "entry", Ns::Atom | Ns::Atom03) => Ok(atom::feed(&root, address)),
                ("rss", Ns::None) | ("RDF", Ns::Rdf) => rss::feed(&root, address).ok_or(FeedError::NotAFeed),
                _ => Err(FeedError::NotAFeed),
            }
        }
        Some(_) => microformats::feed(&text, address),
        None => Err(FeedError::NotAFeed),
    }
}

/// The name of the first element, without its prefix and in lower case.
pub(crate) fn root_name(text: &str) -> Option<String> {
    let name = tokens(text).find_map(|token| match token {
        Token::Start(tag) => Some(tag.name),
        _ => None,
    })?;
    Some(name.rsplit(':').next().unwrap_or_default().to_owned())
}
