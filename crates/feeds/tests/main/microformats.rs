//! Pages with microformats.

use crate::support::{only, read, try_read};
use feeds::{FeedError, Format, Medium};

fn entry(inside: &str) -> feeds::FeedItem {
    only(&format!("<!doctype html><html><body><article class=h-entry>{inside}</article>"))
}

#[test]
fn a_page_with_h_feed_is_read() {
    let feed = read(
        "<!DOCTYPE html><html><head><title>Page</title><base href='https://jo.example/'><link rel=hub href='https://hub.example/'>
        <link rel='self' href=/notes><body><div class='h-card'><a class='p-name u-url' href=/>Nobody</a></div>
        <ul class='h-feed'><h1 class=p-name>Notes by Jo</h1>
        <li class=h-entry><a class='u-url' href=/1><time class=dt-published datetime='2026-11-14 22:44'>x</time></a>
          <div class='e-content p-name'>First <b>note</b></div>
          <div class='u-author h-card'><img class=u-photo src=/jo.png><a class='p-name u-url' href=/jo>Jo Berg</a></div>
        <li class=h-entry><h2 class=p-name>An article</h2><a class=u-url href=/2></a><p class=p-summary>Short</p>
        </ul><div class=h-entry>outside</div>",
    );
    assert_eq!((feed.format, feed.title.as_deref()), (Format::Html, Some("Notes by Jo")));
    assert_eq!((feed.hubs.len(), feed.own_address.as_deref()), (1, Some("https://jo.example/notes")));
    assert_eq!(feed.items.len(), 2);
    let note = &feed.items[0];
    assert_eq!((note.title.as_deref(), note.text.as_deref()), (None, Some("First note")));
    assert_eq!(
        (note.url.as_deref(), note.id.as_str()),
        (Some("https://jo.example/1"), "https://jo.example/1")
    );
    assert_eq!((note.author.as_deref(), note.picture.as_ref()), (Some("Jo Berg"), None));
    assert!(note.published.is_some());
    assert_eq!(
        (feed.items[1].title.as_deref(), feed.items[1].text.as_deref()),
        (Some("An article"), Some("Short"))
    );
}

#[test]
fn responses_have_a_verb_and_an_object() {
    for (inside, verb, kind) in [
        ("<a class='u-like-of' href='https://knots.example/'>x</a>", "like", "page"),
        (
            "<div class='u-repost-of h-cite'><a class='u-url p-name' href='https://knots.example/'>x</a></div>",
            "share",
            "page",
        ),
        ("<a class='u-bookmark-of' href='https://knots.example/'>x</a>", "save", "bookmark"),
        (
            "<a class='u-in-reply-to' href='https://knots.example/'>x</a><data class=p-rsvp value=Yes>",
            "rsvp-yes",
            "event",
        ),
    ] {
        let item = entry(inside);
        assert_eq!((item.verb.as_deref(), item.kind.as_deref()), (Some(verb), Some(kind)), "{inside}");
        assert_eq!(item.object.unwrap().url.as_deref(), Some("https://knots.example/"), "{inside}");
    }
    let reply =
        entry("<a class='u-in-reply-to' href='https://knots.example/'>x</a><p class=e-content>Yes!</p>");
    assert_eq!((reply.in_reply_to.as_deref(), reply.object), (Some("https://knots.example/"), None));
}

#[test]
fn values_follow_the_prefix() {
    let item = entry(
        "<abbr class=p-name title='Long name'>LN</abbr><img class=u-photo src=/p.jpg alt=''>
        <span class=dt-published><span class=value>2026-11-14</span> at <span class=value>22:44</span></span>
        <link class=u-url href=/x><data class=u-uid value='tag:x,2026:1'>",
    );
    assert_eq!((item.title.as_deref(), item.id.as_str()), (Some("Long name"), "tag:x,2026:1"));
    assert_eq!((item.medium, item.url.as_deref()), (Some(Medium::Photo), Some("https://example.org/x")));
    assert_eq!(item.published.unwrap().zulu(), "2026-11-14T22:44:00.000Z");
}

#[test]
fn missing_values_are_implied() {
    let item = only("<html><a class=h-entry href=/x>All of it</a>");
    assert_eq!(
        (item.title.as_deref(), item.url.as_deref()),
        (Some("All of it"), Some("https://example.org/x"))
    );
    let item = entry("<a href=/y>Its only link</a>");
    assert_eq!(item.url.as_deref(), Some("https://example.org/y"));
    let item =
        entry("<a class=u-url href=/z>z</a><div class='h-cite'><p class=p-name>Not its name</p></div>");
    assert_eq!((item.title, item.url.as_deref()), (None, Some("https://example.org/z")));
}

#[test]
fn other_pages_are_not_feeds() {
    for page in [
        "<html><p>Hi</p>",
        "<!doctype html><div class='h-card'>x</div>",
        "<svg/>",
        "plain words",
        "",
        "<p class=h->",
    ] {
        assert_eq!(try_read(page), Err(FeedError::NotAFeed), "{page}");
    }
    assert_eq!(read("<html><div class=h-feed></div>").items.len(), 0, "an empty h-feed is a feed");
}
