//! Helpers that read documents from a fixed address.

use feeds::{Feed, FeedError, FeedItem};
use url::Url;

pub(crate) fn address() -> Url {
    Url::parse("https://example.org/blog/feed").unwrap()
}

pub(crate) fn try_read(document: &str) -> Result<Feed, FeedError> {
    feeds::read(document.as_bytes(), None, &address())
}

#[track_caller]
pub(crate) fn read(document: &str) -> Feed {
    try_read(document).unwrap_or_else(|error| panic!("{error}: {document}"))
}

/// The only item of a feed.
#[track_caller]
pub(crate) fn only(document: &str) -> FeedItem {
    let mut items = read(document).items;
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0)
}

/// Reads an Atom feed whose only entry contains `inside`.
pub(crate) fn entry(inside: &str) -> FeedItem {
    only(&atom(&format!("<entry><id>1</id>{inside}</entry>")))
}

/// An Atom feed that contains `inside`. Its prefixes are unusual because prefixes must not matter.
pub(crate) fn atom(inside: &str) -> String {
    format!(
        r#"<a:feed xmlns:a="http://www.w3.org/2005/Atom" xmlns="http://www.w3.org/2005/Atom"
            xmlns:act="http://activitystrea.ms/spec/1.0/" xmlns:sp="http://activitystrea.ms/service-provider"
            xmlns:t="http://purl.org/syndication/thread/1.0" xmlns:am="http://purl.org/syndication/atommedia"
            xmlns:y="http://search.yahoo.com/mrss/">{inside}</a:feed>"#
    )
}

/// Reads an RSS feed whose only item contains `inside`.
pub(crate) fn rss_item(inside: &str) -> FeedItem {
    only(&rss(&format!("<item>{inside}</item>")))
}

/// An RSS feed whose channel contains `inside`.
pub(crate) fn rss(inside: &str) -> String {
    format!(
        r#"<rss version="2.0" xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:a="http://www.w3.org/2005/Atom"
            xmlns:c="http://purl.org/rss/1.0/modules/content/" xmlns:s="http://purl.org/rss/1.0/modules/slash/"
            xmlns:y="http://search.yahoo.com/mrss/" xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"
            xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel>{inside}</channel></rss>"#
    )
}
