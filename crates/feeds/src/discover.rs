//! Finds the feeds that a page links to, and its owner's other pages (`rel=me`).

use crate::feed::Format;
use crate::html::{Tag, Token, tokens};
use crate::limits::{MAX_LINKS, MAX_LINKS_SCANNED};
use crate::{address, charset, plain};
use url::Url;

/// A feed that a page links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredFeed {
    /// Its address.
    pub url: Url,
    /// The page's title for it.
    pub title: Option<String>,
    /// The format that the page declares for it.
    pub format: Option<Format>,
}

/// The feeds that a page links to, best first: feeds of content come before feeds of comments. A page with
/// h-entry is a feed itself; read it with [`read`](crate::read()).
pub fn discover(html: &[u8], content_type: Option<&str>, address: &Url) -> Vec<DiscoveredFeed> {
    let mut discovered: Vec<DiscoveredFeed> = Vec::new();
    for (tag, url) in links(html, content_type, address, is_feed) {
        if discovered.len() < MAX_LINKS && discovered.iter().all(|before| before.url != url) {
            let title = tag.get("title").and_then(plain::title);
            discovered.push(DiscoveredFeed { url, title, format: tag.get("type").and_then(format_of) });
        }
    }
    // The sort is stable and keeps the page's order otherwise.
    discovered.sort_by_key(is_comment_feed);
    discovered
}

/// The addresses that a page declares as its owner's (`rel=me`), without duplicates.
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

/// The links of a page that match the filter, with their addresses.
fn links(
    html: &[u8],
    content_type: Option<&str>,
    address: &Url,
    matches: impl Fn(&Tag) -> bool,
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
            "link" | "a" | "area" if links.len() < MAX_LINKS_SCANNED && matches(&tag) => links.push(tag),
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

fn is_comment_feed(discovered: &DiscoveredFeed) -> bool {
    let title = discovered.title.as_deref().unwrap_or_default().to_ascii_lowercase();
    title.contains("comment") || discovered.url.path().to_ascii_lowercase().contains("/comments")
}
