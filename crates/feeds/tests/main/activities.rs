//! Conversion of items into activities.

use crate::support::{atom, read, rss};
use feeds::catalogue::{Activity, activity};

fn first(document: &str) -> Activity {
    let feed = read(document);
    activity(None, &feed, &feed.items[0], "Alice Berg")
}

#[track_caller]
fn assert_is(document: &str, verb: &str, kind: &str, title: &str) {
    let activity = first(document);
    assert_eq!((activity.verb.as_str(), activity.kind.as_str()), (verb, kind), "{document}");
    assert_eq!(activity.title, title, "{document}");
}

#[test]
fn the_type_is_guessed_from_the_content() {
    let item = |inside: &str| rss(&format!("<item>{inside}</item>"));
    let photo = "<enclosure type='image/png' url='/p.png'/>";
    assert_is(&item("<title>Tides</title>"), "post", "article", "Alice Berg posted an article: Tides");
    assert_is(&item("<description>Fog.</description>"), "post", "note", "Alice Berg posted a note: Fog.");
    assert_is(
        &item(&format!("<title>Fog</title>{photo}")),
        "post",
        "photo",
        "Alice Berg posted a photo: Fog",
    );
    let illustrated = format!("<title>Fog</title><description>Long.</description>{photo}");
    assert_is(&item(&illustrated), "post", "article", "Alice Berg posted an article: Fog");
    let episode = "<title>Fog</title><enclosure type='audio/mpeg' url='/f.mp3'/>";
    assert_is(&item(episode), "post", "audio", "Alice Berg posted audio: Fog");
    assert_is(&item("<link>/x</link>"), "post", "note", "Alice Berg posted a note");
}

#[test]
fn declared_verbs_and_types_are_used() {
    let liked = "<entry><id>1</id><title>Jo liked Low tide</title><act:verb>like</act:verb><act:object><title>Low tide</title>
        <act:object-type>photo</act:object-type></act:object></entry>";
    assert_is(&atom(liked), "like", "photo", "Jo liked Low tide");
    assert_eq!(first(&atom(liked)).object_title.as_deref(), Some("Low tide"));
    let answer = "<entry><id>1</id><content>Yes.</content><t:in-reply-to ref='2'/></entry>";
    assert_is(&atom(answer), "post", "comment", "Alice Berg posted a comment: Yes.");
    let page = "<html><p class=h-entry><a class=u-bookmark-of href='https://knots.example/'>Knots</a>";
    assert_is(page, "save", "bookmark", "Alice Berg saved a bookmark: Knots");
    assert_eq!(first(page).object_url.as_deref(), Some("https://knots.example/"));
}

#[test]
fn an_object_always_has_a_title_or_an_address() {
    let nothing = first(&rss("<link>https://example.org/</link><item/>"));
    assert_eq!(
        (nothing.object_title.as_deref(), nothing.object_url.as_deref()),
        (Some("Alice Berg posted a note"), Some("https://example.org/"))
    );
    let words = first(&rss(&format!("<item><description>{}</description></item>", "word ".repeat(100))));
    assert_eq!(words.object_title.map(|title| title.chars().count()), Some(100), "an excerpt");
}

#[test]
fn the_time_is_the_publication_otherwise_the_last_change() {
    let both = "<entry><id>1</id><published>2026-01-01</published><updated>2026-01-02</updated></entry>";
    assert_eq!(first(&atom(both)).published.unwrap().zulu(), "2026-01-01T00:00:00.000Z");
    let updated = "<entry><id>1</id><updated>2026-01-02</updated></entry>";
    assert_eq!(first(&atom(updated)).published.unwrap().zulu(), "2026-01-02T00:00:00.000Z");
}
