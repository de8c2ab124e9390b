//! Invariants for any input. Depends only on the crates, so a fuzzer can include it.

use feeds::catalogue::{self, Service};
use feeds::{Feed, FeedItem, Picture};
use url::Url;

const CONTENT_TYPES: [Option<&str>; 4] = [
    None,
    Some("text/html; charset=windows-1252"),
    Some("application/xml"),
    Some("text/xml; charset=utf-16"),
];

/// Reads the bytes as every supported format and checks the invariants of the result.
pub(crate) fn check(data: &[u8]) {
    let address = Url::parse("https://example.org/blog/feed?x=1").expect("an address");
    for content_type in CONTENT_TYPES {
        let read = feeds::read(data, content_type, &address);
        assert_eq!(read, feeds::read(data, content_type, &address), "reading is not deterministic");
        match read {
            Ok(feed) => check_feed(&feed, &address),
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
        for found in feeds::discover(data, content_type, &address) {
            check_url(found.url.as_str());
            found.title.iter().for_each(|title| check_title(title));
        }
        feeds::rel_me(data, content_type, &address).iter().for_each(|url| check_url(url.as_str()));
    }
    let text = String::from_utf8_lossy(data);
    feeds::links(&text, &address).iter().for_each(|link| check_url(link.url.as_str()));
    if let Ok(outlines) = feeds::opml::read(data) {
        let written = feeds::opml::write(&outlines, &text);
        assert_eq!(feeds::opml::read(written.as_bytes()), Ok(outlines), "{written}");
    }
    if let Some(recognised) = catalogue::recognise(&text) {
        check_url(recognised.page.as_str());
        recognised.feed.iter().for_each(|feed| check_url(feed.as_str()));
    }
    for service in catalogue::services() {
        service.feed_of(&text).iter().for_each(|feed| check_url(feed.as_str()));
    }
}

pub(crate) fn check_feed(feed: &Feed, address: &Url) {
    assert!(feed.items.len() <= feeds::MAX_ITEMS);
    let addresses = [&feed.site, &feed.icon, &feed.own_address].into_iter().flatten().chain(&feed.hubs);
    addresses.for_each(|url| check_url(url));
    feed.title.iter().for_each(|title| check_title(title));
    let ids: std::collections::HashSet<_> = feed.items.iter().map(|item| &item.id).collect();
    assert_eq!(ids.len(), feed.items.len(), "duplicate identifier");
    let some = catalogue::services().iter().step_by(9).map(Some);
    let services: Vec<Option<&Service>> = some.chain([None]).collect();
    for item in &feed.items {
        check_item(item);
        services.iter().for_each(|service| check_activity(*service, feed, item));
    }
    let source = catalogue::source(None, feed, address).expect("a name");
    source.icon.iter().chain(&source.website).for_each(|url| check_url(url));
}

fn check_item(item: &FeedItem) {
    assert!((1..=feeds::MAX_ID).contains(&item.id.len()), "{:?}", item.id);
    assert!(!item.id.chars().any(char::is_control), "{:?}", item.id);
    [&item.title, &item.author, &item.in_reply_to].into_iter().flatten().for_each(|text| check_title(text));
    item.text.iter().for_each(|text| check_text(text));
    item.url.iter().for_each(|url| check_url(url));
    item.picture.iter().for_each(check_picture);
    if let Some(object) = &item.object {
        object.title.iter().chain(&object.id).for_each(|title| check_title(title));
        object.text.iter().for_each(|text| check_text(text));
        object.url.iter().for_each(|url| check_url(url));
        object.picture.iter().for_each(check_picture);
    }
}

fn check_activity(service: Option<&Service>, feed: &Feed, item: &FeedItem) {
    let activity = catalogue::activity(service, feed, item, "Alice");
    assert_eq!(activity.id, item.id);
    check_title(&activity.title);
    assert_eq!(model::Verb::parse(&activity.verb).expect("a verb").as_str(), activity.verb);
    assert_eq!(model::Kind::parse(&activity.kind).expect("a kind").as_str(), activity.kind);
    assert!(activity.object_title.is_some() || activity.object_url.is_some(), "{activity:?}");
    activity.object_title.iter().for_each(|title| check_title(title));
    activity.object_text.iter().for_each(|text| check_text(text));
    activity.object_url.iter().for_each(|url| check_url(url));
}

fn check_picture(picture: &Picture) {
    check_url(&picture.url);
}

fn check_title(title: &str) {
    assert!((1..=feeds::MAX_TITLE).contains(&title.chars().count()), "{title:?}");
    assert!(title.trim() == title && !title.chars().any(char::is_control), "{title:?}");
    assert!(!title.contains(['\u{fffe}', '\u{ffff}']), "{title:?}");
}

fn check_text(text: &str) {
    assert!((1..=feeds::MAX_TEXT).contains(&text.chars().count()), "{text:?}");
    assert!(text.lines().all(|line| !line.is_empty() && !line.chars().any(char::is_control)), "{text:?}");
    assert!(!text.contains(['\u{fffe}', '\u{ffff}']), "{text:?}");
}

fn check_url(text: &str) {
    let url = Url::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(matches!(url.scheme(), "http" | "https") && url.has_host(), "{text}");
    assert!(
        text.len() <= feeds::MAX_URL && !text.chars().any(|c| c.is_control() || c.is_whitespace()),
        "{text}"
    );
}
