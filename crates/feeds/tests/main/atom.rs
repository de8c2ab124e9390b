//! Atom, with the extensions for activities, threads and media.

use crate::support::{atom, entry, only, read};
use feeds::{Format, Medium};
use model::Millis;

#[test]
fn the_properties_of_a_feed_are_read() {
    let feed = read(&atom(
        r#"<title>Tides</title><link href="/"/><link rel="self" href="feed.atom"/><link rel="hub" href="https://hub.example/"/>
        <icon>/icon.png</icon>
        <sp:provider><name>The Tide Office</name><icon>https://tides.example/i.png</icon><uri>https://tides.example/</uri></sp:provider>"#,
    ));
    assert_eq!((feed.format, feed.title.as_deref()), (Format::Atom, Some("Tides")));
    assert_eq!(feed.site.as_deref(), Some("https://example.org/"));
    assert_eq!(feed.own_address.as_deref(), Some("https://example.org/blog/feed.atom"));
    assert_eq!(feed.hubs, ["https://hub.example/"]);
    assert_eq!(feed.icon.as_deref(), Some("https://example.org/icon.png"));
    let provider = feed.provider.unwrap();
    assert_eq!(
        (provider.name.as_str(), provider.site.as_deref()),
        ("The Tide Office", Some("https://tides.example/"))
    );
}

#[test]
fn a_full_activity_is_read() {
    let item = entry(
        r#"<title>Jo liked Low tide</title><published>2026-11-14T00:00:00Z</published>
        <author><name>Jo</name><act:object-type>person</act:object-type></author>
        <act:verb>http://activitystrea.ms/schema/1.0/like</act:verb>
        <act:object><id>tag:x,2026:7</id><title>Low tide</title><act:object-type>photo</act:object-type>
          <summary type="html">&lt;b&gt;Mud&lt;/b&gt;</summary><link rel="alternate" type="text/html" href="/photos/7"/>
          <link rel="preview" type="image/png" href="/s.png" am:width="80" am:height="60"/></act:object>"#,
    );
    let object = item.object.unwrap();
    assert_eq!((item.verb.as_deref(), item.author.as_deref()), (Some("like"), Some("Jo")));
    assert_eq!((object.kind.as_deref(), object.title.as_deref()), (Some("photo"), Some("Low tide")));
    assert_eq!((object.id.as_deref(), object.text.as_deref()), (Some("tag:x,2026:7"), Some("Mud")));
    assert_eq!(object.url.as_deref(), Some("https://example.org/photos/7"));
    let picture = object.picture.unwrap();
    assert_eq!((picture.width, picture.height), (Some(80), Some(60)));
    assert_eq!(item.published, Some(Millis(1_794_614_400_000)));
}

#[test]
fn an_implied_activity_may_have_unknown_words() {
    let item = entry(
        "<title>x</title><act:verb>post</act:verb><act:object-type>http://hats.example/top-hat</act:object-type>",
    );
    assert_eq!(
        (item.verb.as_deref(), item.kind.as_deref(), item.object),
        (Some("post"), Some("top-hat"), None)
    );
    assert_eq!(entry("<act:verb>!!</act:verb>").verb, None);
}

#[test]
fn a_bookmark_has_its_target_as_object() {
    let item = entry(
        r#"<title>Jo saved Knots</title><act:object-type>bookmark</act:object-type><link href="/bookmarks/1"/>
        <link rel="related" href="https://knots.example/" title="Knots"/>"#,
    );
    let object = item.object.unwrap();
    assert_eq!(
        (object.url.as_deref(), object.title.as_deref()),
        (Some("https://knots.example/"), Some("Knots"))
    );
    assert_eq!(item.url.as_deref(), Some("https://example.org/bookmarks/1"));
}

#[test]
fn activities_before_1_0_are_read() {
    let feed = read(&atom(
        r#"<act:subject><title>Nobody</title></act:subject><entry><id>1</id><act:actor><title>Jo</title></act:actor>
        <act:object><title>First</title></act:object><act:object><title>Second</title></act:object>
        <sp:provider><name>Old Service</name></sp:provider></entry>"#,
    ));
    let item = &feed.items[0];
    assert_eq!(item.author.as_deref(), Some("Jo"));
    assert_eq!(item.object.as_ref().unwrap().title.as_deref(), Some("First"));
    assert_eq!(feed.provider.unwrap().name, "Old Service");
}

#[test]
fn replies_and_comment_counts_are_read() {
    let item =
        entry(r#"<t:in-reply-to ref="tag:x,2026:1" href="https://example.org/1"/><t:total>7</t:total>"#);
    assert_eq!((item.in_reply_to.as_deref(), item.comments), (Some("https://example.org/1"), Some(7)));
    let item = entry(r#"<t:in-reply-to ref="tag:x,2026:1"/><link rel="replies" href="/r" t:count="3"/>"#);
    assert_eq!((item.in_reply_to.as_deref(), item.comments), (Some("tag:x,2026:1"), Some(3)));
}

#[test]
fn every_type_of_text_is_read() {
    for (inside, expected) in [
        ("<summary>1 &lt; 2 &amp;amp; 3</summary>", "1 < 2 &amp; 3"),
        ("<summary type='html'>&lt;p&gt;a&lt;/p&gt;&lt;p&gt;b &amp;amp; c&lt;/p&gt;</summary>", "a\nb & c"),
        (
            "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>a <b>b</b></p><script>no</script>c</div></content>",
            "a b\nc",
        ),
        ("<content type='html'><![CDATA[<i>a</i>&nbsp;b]]></content>", "a b"),
        ("<content type='text/html' mode='escaped'>&lt;i&gt;a&lt;/i&gt;</content>", "a"),
    ] {
        assert_eq!(entry(inside).text.as_deref(), Some(expected), "{inside}");
    }
    assert_eq!(entry("<content type='image/png'>iVBORw0KGgo=</content>").text, None);
    assert_eq!(
        entry("<title type='html'>A &lt;em&gt;fine&lt;/em&gt; day</title>").title.as_deref(),
        Some("A fine day")
    );
}

#[test]
fn addresses_are_relative_to_the_nearest_base() {
    let document = atom("<entry xml:base='two/'><id>1</id><link href='three' xml:base='x/'/></entry>")
        .replace("xmlns:sp=", "xml:base='https://one.example/' xmlns:sp=");
    assert_eq!(only(&document).url.as_deref(), Some("https://one.example/two/x/three"));
}

#[test]
fn both_media_extensions_are_read() {
    let item = entry(
        r#"<y:group><y:thumbnail url="/t.jpg" width="120"/><y:content url="/v.mp4" type="video/mp4"/></y:group>"#,
    );
    assert_eq!((item.medium, item.picture.unwrap().width), (Some(Medium::Video), Some(120)));
    let item = entry(r#"<link rel="enclosure" type="image/jpeg" href="/p.jpg"/>"#);
    assert_eq!(
        (item.medium, item.picture.unwrap().url.as_str()),
        (Some(Medium::Photo), "https://example.org/p.jpg")
    );
    let item = entry(
        r#"<content type="html">&lt;img src="/dot.gif" width="1"&gt;&lt;img src="/real.gif"&gt;</content>"#,
    );
    assert_eq!((item.medium, item.picture.unwrap().url.as_str()), (None, "https://example.org/real.gif"));
}

#[test]
fn atom_0_3_and_lone_entries_are_read() {
    let old = r#"<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>Old</title><entry><title>x</title>
        <link rel="alternate" type="text/html" href="/x"/><issued>2004-01-02</issued><modified>2004-01-03T00:00:00Z</modified>
        <id>tag:x,2004:1</id></entry></feed>"#;
    let item = only(old);
    assert_eq!((item.id.as_str(), item.url.as_deref()), ("tag:x,2004:1", Some("https://example.org/x")));
    assert!(item.published < item.updated);
    let lone = r#"<entry xmlns="http://www.w3.org/2005/Atom"><id>1</id><title>Alone</title></entry>"#;
    assert_eq!(only(lone).title.as_deref(), Some("Alone"));
}

#[test]
fn of_duplicates_the_last_updated_is_kept() {
    let feed = read(&atom(
        "<entry><id>urn:x:A</id><title>first</title><updated>2026-01-01T00:00:00Z</updated></entry><entry><id>2</id></entry>
         <entry><id>URN:x:a</id><title>later</title><updated>2026-01-02T00:00:00Z</updated></entry>
         <entry><id>urn:x:a</id><title>earlier</title><updated>2025-01-02T00:00:00Z</updated></entry>",
    ));
    let titles: Vec<_> = feed.items.iter().map(|item| item.title.as_deref()).collect();
    assert_eq!(titles, [Some("later"), None]);
}

#[test]
fn of_too_many_items_the_latest_are_kept() {
    let entries: String = (0..1_500)
        .map(|n| {
            format!(
                "<entry><id>{n}</id><updated>2026-01-01T{:02}:{:02}:00Z</updated></entry>",
                n / 100,
                n % 60
            )
        })
        .collect();
    let feed = read(&atom(&entries));
    assert_eq!(feed.items.len(), feeds::MAX_ITEMS);
    assert_eq!((feed.items[0].id.as_str(), feed.items[999].id.as_str()), ("500", "1499"));
}
