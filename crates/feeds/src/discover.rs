//! What a page points to: its feeds, and the other places of whoever owns it.

use crate::feed::Format;
use crate::html::{Tag, Token, tokens};
use crate::limits::{MAX_LINKS, MAX_LINKS_LOOKED_AT};
use crate::{address, charset, plain};
use url::Url;

/// A feed that a page points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredFeed {
    /// Where it is.
    pub url: Url,
    /// What the page calls it.
    pub title: Option<String>,
    /// The format that the page says it has.
    pub format: Option<Format>,
}

/// The feeds that a page points to, the best first: those of its own content before those of comments. A page with
/// h-entry is a feed itself; [`read`](crate::read()) reads it.
pub fn discover(html: &[u8], content_type: Option<&str>, address: &Url) -> Vec<DiscoveredFeed> {
    let mut found: Vec<DiscoveredFeed> = Vec::new();
    for (tag, url) in links(html, content_type, address, is_feed) {
        if found.len() < MAX_LINKS && found.iter().all(|before| before.url != url) {
            let title = tag.get("title").and_then(plain::title);
            found.push(DiscoveredFeed { url, title, format: tag.get("type").and_then(format_of) });
        }
    }
    // Stable: otherwise the page's order is its owner's.
    found.sort_by_key(is_of_comments);
    found
}

/// The addresses that a page says are its owner's (`rel=me`), each once.
pub fn rel_me(html: &[u8], content_type: Option<&str>, address: &Url) -> Vec<Url> {
    let mut owned: Vec<Url> = Vec::new();
    for (_, url) in links(html, content_type, address, |tag| tag.has_rel("me")) {
        if owned.len() < MAX_LINKS && !owned.contains(&url) {
            owned.push(url);
        }
    }
    owned
}

fn is_feed(tag: &Tag) -> bool {
    let is_alternate = || tag.name == "link" && tag.has_rel("alternate");
    tag.has_rel("feed") || (is_alternate() && tag.get("type").and_then(format_of).is_some())
}

/// The links of a page that are wanted, each with where it leads.
fn links(
    html: &[u8],
    content_type: Option<&str>,
    address: &Url,
    is_wanted: impl Fn(&Tag) -> bool,
) -> Vec<(Tag, Url)> {
    let Ok(html) = charset::decoded(html, content_type) else { return Vec::new() };
    let mut base = None;
    let mut links = Vec::new();
    for token in tokens(&html) {
        let Token::Start(tag) = token else { continue };
        match tag.name.as_str() {
            "base" if base.is_none() => {
                base = tag.get("href").and_then(|href| address::resolved(href, address));
            }
            "link" | "a" | "area" if links.len() < MAX_LINKS_LOOKED_AT && is_wanted(&tag) => links.push(tag),
            _ => {}
        }
    }
    let base = base.as_ref().unwrap_or(address);
    let leads_to = |tag: &Tag| tag.get("href").and_then(|href| address::resolved(href, base));
    links.into_iter().filter_map(|tag| leads_to(&tag).map(|url| (tag, url))).collect()
}

fn format_of(media_type: &str) -> Option<Format> {
    let media_type = media_type.split(';').next()?.trim().to_ascii_lowercase();
    match media_type.as_str() {
        "application/atom+xml" => Some(Format::Atom),
        "application/rss+xml" | "application/x-rss+xml" => Some(Format::Rss),
        "application/rdf+xml" => Some(Format::Rdf),
        "application/feed+json" => Some(Format::Json),
        "text/mf2+html" => Some(Format::Html),
        _ => None,
    }
}

fn is_of_comments(found: &DiscoveredFeed) -> bool {
    let title = found.title.as_deref().unwrap_or_default().to_ascii_lowercase();
    title.contains("comment") || found.url.path().to_ascii_lowercase().contains("/comments")
}
