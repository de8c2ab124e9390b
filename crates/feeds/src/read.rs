//! Finds out what a document is, and has it read. Its content says so: what servers call it is wrong too often.

use crate::feed::Feed;
use crate::html::{Token, tokens};
use crate::namespace::Ns;
use crate::{Unreadable, atom, charset, json, microformats, rss, xml};
use url::Url;

/// Reads a feed of whichever format. `content_type` is the header as it came; it counts for the character set.
/// `address` is where the document was fetched: relative addresses are relative to it.
///
/// # Errors
/// [`Unreadable`] says why it is none, or can't be read.
pub fn read(bytes: &[u8], content_type: Option<&str>, address: &Url) -> Result<Feed, Unreadable> {
    let text = charset::decoded(bytes, content_type)?;
    if text.trim_start().starts_with('{') {
        return json::feed(&text, address);
    }
    match root_name(&text).as_deref() {
        Some("feed" | "entry" | "rss" | "rdf") => {
            let root = xml::root(&text)?;
            match (&*root.name, root.ns) {
                ("feed" | "entry", Ns::Atom | Ns::Atom03) => Ok(atom::feed(&root, address)),
                ("rss", Ns::None) | ("RDF", Ns::Rdf) => rss::feed(&root, address).ok_or(Unreadable::NotAFeed),
                _ => Err(Unreadable::NotAFeed),
            }
        }
        Some(_) => microformats::feed(&text, address),
        None => Err(Unreadable::NotAFeed),
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
