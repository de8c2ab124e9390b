//! Feeds and other addresses of pages, and OPML lists.

use crate::support::address;
use feeds::opml::{self, Outline};
use feeds::{FeedError, Format};
use url::Url;

const PAGE: &str = r#"<!doctype html><html><head><base href="https://jo.example/blog/">
<link rel="alternate" type="application/rss+xml" title="Comments on Knots" href="/comments/feed/">
<link rel="alternate" type="application/rss+xml; charset=utf-8" title="Knots &amp; nets" href="feed">
<LINK REL="Alternate Feed" TYPE="application/atom+xml" HREF='feed.atom'>
<link rel=alternate type="application/json" href="/wp-json"><link rel=alternate hreflang=de href=/de>
<link rel="alternate" type="application/feed+json" href="feed"><link rel="alternate" type="application/rss+xml" href="mailto:x">
<link rel="me" href="https://github.com/jo"></head><body><a rel="feed" href="/notes">Notes</a>
<a rel="nofollow me" href="https://social.example/@jo">me</a><a rel=me href="mailto:jo@jo.example">mail</a><a rel=me href="/">home</a></body>"#;

#[test]
fn feeds_of_a_page_are_listed_best_first() {
    let discovered = feeds::discover(PAGE.as_bytes(), None, &address());
    let shown: Vec<_> =
        discovered.iter().map(|feed| (feed.url.as_str(), feed.title.as_deref(), feed.format)).collect();
    assert_eq!(
        shown,
        [
            ("https://jo.example/blog/feed", Some("Knots & nets"), Some(Format::Rss)),
            ("https://jo.example/blog/feed.atom", None, Some(Format::Atom)),
            ("https://jo.example/notes", None, None),
            ("https://jo.example/comments/feed/", Some("Comments on Knots"), Some(Format::Rss)),
        ]
    );
}

#[test]
fn rel_me_links_are_listed() {
    let owned = feeds::rel_me(PAGE.as_bytes(), None, &address());
    let owned: Vec<_> = owned.iter().map(Url::as_str).collect();
    assert_eq!(owned, ["https://github.com/jo", "https://social.example/@jo", "https://jo.example/"]);
}

#[test]
fn opml_is_read_and_written() {
    let list = br#"<?xml version="1.0"?><opml version="1.1"><head><title>x</title></head><body>
        <outline text="Folder"><outline type="rss" text="Knots &amp; nets" xmlUrl="https://jo.example/feed" htmlUrl="https://jo.example/"/>
        <outline text="https://b.example/" title="B" XMLURL="https://b.example/"/></outline>
        <outline text="again" xmlUrl="https://jo.example/feed"/><outline text="no" xmlUrl="javascript:x"/><outline text="none"/></body></opml>"#;
    let outlines = opml::read(list).unwrap();
    let shown: Vec<_> =
        outlines.iter().map(|outline| (outline.title.as_deref(), outline.address.as_str())).collect();
    assert_eq!(shown, [(Some("Knots & nets"), "https://jo.example/feed"), (Some("B"), "https://b.example/")]);
    let written = opml::write(&outlines, "My <feeds>");
    assert_eq!(opml::read(written.as_bytes()), Ok(outlines));
    assert!(written.contains("<title>My &lt;feeds&gt;</title>"), "{written}");
}

#[test]
fn opml_without_titles_is_read_back() {
    let untitled =
        [Outline { title: None, address: Url::parse("https://a.example/f?x=1&y=2").unwrap(), site: None }];
    let written = opml::write(&untitled, "");
    assert!(written.contains("text="), "{written}");
    assert_eq!(opml::read(written.as_bytes()), Ok(untitled.to_vec()));
    assert_eq!(opml::read(b"<rss/>"), Err(FeedError::NotAFeed));
}
