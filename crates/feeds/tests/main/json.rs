//! JSON Feed.

use crate::support::{only, read, try_read};
use feeds::{FeedError, Format, Medium};

fn feed_with(items: &str) -> String {
    format!(
        r#"{{"version": "https://jsonfeed.org/version/1.1", "title": "T", "authors": [{{"name": "Jo"}}], "items": [{items}]}}"#
    )
}

#[test]
fn an_item_is_read() {
    let item = only(&feed_with(
        r#"{"id": 7, "url": "/7", "title": "Seven", "content_html": "<p>a</p><p>b</p>", "image": "/i.png",
            "date_published": "2026-11-14T00:00:00Z", "attachments": [{"url": "/a.mp3", "mime_type": "audio/mpeg"}]}"#,
    ));
    assert_eq!((item.id.as_str(), item.url.as_deref()), ("7", Some("https://example.org/7")));
    assert_eq!((item.text.as_deref(), item.author.as_deref()), (Some("a\nb"), Some("Jo")));
    assert_eq!(
        (item.medium, item.picture.unwrap().url.as_str()),
        (Some(Medium::Audio), "https://example.org/i.png")
    );
}

#[test]
fn an_external_address_makes_a_bookmark() {
    let item = only(&feed_with(
        r#"{"id": "1", "url": "/1", "external_url": "https://knots.example/", "title": "Knots"}"#,
    ));
    assert_eq!(item.kind.as_deref(), Some("bookmark"));
    assert_eq!(item.object.unwrap().url.as_deref(), Some("https://knots.example/"));
}

#[test]
fn members_of_the_wrong_type_count_as_absent() {
    let feed = read(&feed_with(
        r#"{"id": "1", "title": {"a": [1]}, "summary": null, "image": false, "url": 1.5, "authors": {"name": "x"}, "tags": 3}, 5, "x", null, []"#,
    ));
    assert_eq!((feed.format, feed.items.len(), feed.items[0].title.as_deref()), (Format::Json, 1, None));
    assert_eq!(feed.items[0].author.as_deref(), Some("Jo"));
}

#[test]
fn other_json_is_not_a_feed() {
    assert_eq!(try_read(r#"{"items": []}"#), Err(FeedError::NotAFeed));
    assert_eq!(try_read(r#"{"version": "2", "items": []}"#), Err(FeedError::NotAFeed));
    assert_eq!(try_read("[1]"), Err(FeedError::NotAFeed));
    let cut = feed_with(r#"{"id": "1"}, {"id": "2""#);
    assert!(matches!(try_read(&cut[..cut.len() - 4]), Err(FeedError::Broken(why)) if why.contains("line 1")));
}
