//! Entries and feeds of this server and of others.

use super::super::{MAX_ENTRIES, read_activity, read_feed};
use super::*;
use domain::ingest::MAX_BODY;
use model::Format;
use std::time::{Duration, Instant};

const NAMESPACES: &str = "xmlns='http://www.w3.org/2005/Atom' xmlns:activity='http://activitystrea.ms/spec/1.0/' \
     xmlns:service='http://activitystrea.ms/service-provider' xmlns:thr='http://purl.org/syndication/thread/1.0' \
     xmlns:media='http://purl.org/syndication/atommedia'";
const SCHEMA: &str = "http://activitystrea.ms/schema/1.0";

fn read(inside: &str) -> Result<RawActivity, Unreadable> {
    read_activity(format!("<entry {NAMESPACES}>{inside}</entry>").as_bytes(), Format::Atom)
}

fn text(text: &str) -> RawValue {
    RawValue::text(text)
}

/// The object of an entry that shares a bookmark, with this content.
fn object(inside: &str) -> Result<RawObject, Unreadable> {
    let bookmark = format!("<activity:object-type>{SCHEMA}/bookmark</activity:object-type>");
    let raw = read(&format!("<activity:object>{bookmark}{inside}</activity:object>"))?;
    let [(name, object)] = &raw.objects[..] else { panic!("{raw:?}") };
    assert_eq!(name, "Bookmark");
    Ok(object.clone())
}

#[test]
fn a_complete_entry_is_read() {
    let raw = read(&format!(
        "<activity:verb>\n {SCHEMA}/share\n</activity:verb><published> 2009-10-01T10:34:56.789Z </published>
        <title type='text'> R&amp;D </title><summary type='html'>&lt;b>bold&lt;/b></summary>
        <service:provider><name>Delicious</name><uri>https://w/</uri><icon>https://i/</icon></service:provider>
        <activity:object><activity:object-type>{SCHEMA}/bookmark</activity:object-type><id>urn:1</id>
            <title type='text'>t</title><summary type='text'>two\nlines</summary>
            <link rel='alternate' type='text/html' href='https://a/'/>
            <link rel='related' href='https://r/' title='t'/>
            <link rel='preview' href='https://p/' media:height='80' media:width='120'/></activity:object>
        <category scheme='s' term='BookmarkShared' label='Bookmark Shared'/><category term='fun'/>
        <updated>2009-10-01T10:34:56.789Z</updated><id>tag:example.org,2009:1</id>
        <link href='https://e/' type='text/xhtml' rel='alternate'/>
        <author><name>Alice</name></author><author><name>Bob</name></author>
        <activity:actor><id>alice</id></activity:actor><thr:total>3</thr:total>"
    ));
    let expected = RawActivity {
        source_id: text("tag:example.org,2009:1"),
        title: text(" R&D "),
        summary: Some(text("bold")),
        verb: text("http://activitystrea.ms/schema/1.0/share"),
        kind: text("http://activitystrea.ms/schema/1.0/bookmark"),
        service: RawService {
            name: text("Delicious"),
            icon: text("https://i/"),
            website: text("https://w/"),
        },
        comment_count: text("3"),
        published: text("2009-10-01T10:34:56.789Z"),
        objects: vec![(
            "Bookmark".to_owned(),
            RawObject {
                title: text("t"),
                description: text("two\nlines"),
                thumbnail: RawThumbnail { url: text("https://p/"), height: text("80"), width: text("120") },
                url: text("https://r/"),
                alternate: Some(text("https://a/")),
            },
        )],
        ..RawActivity::default()
    };
    assert_eq!(raw, Ok(expected));
    let nothing = RawActivity { summary: Some(RawValue::Absent), ..RawActivity::default() };
    assert_eq!(
        read("<unknown/>x<thr:in-reply-to ref='y'/>"),
        Ok(nothing),
        "an entry without a summary removes it"
    );
}

#[test]
fn the_text_of_an_html_summary_is_used() {
    for (inside, expected) in [
        ("<summary>x</summary>", Some(text("x"))),
        ("<summary type='text'>&lt;b>x</summary>", Some(text("<b>x"))),
        ("<summary type='html'>Tom &amp;amp; Jerry</summary>", Some(text("Tom & Jerry"))),
        (
            "<summary type='html'>&lt;p>Tom &lt;i>&amp;amp;&lt;/i> Jerry&lt;script>1&lt;/script></summary>",
            Some(text("Tom & Jerry")),
        ),
        ("<summary type='html'>a &amp;nonsense; b</summary>", Some(text("a &nonsense; b"))),
        ("<summary type='html'>&lt;img src='x'></summary>", Some(RawValue::Absent)),
        (
            "<summary type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>1 &lt; <b>2</b></div></summary>",
            Some(text("1 < 2")),
        ),
        ("<summary type='image/png'>x</summary>", None),
    ] {
        assert_eq!(read(inside).ok().map(|raw| raw.summary), expected.map(Some), "{inside}");
    }
}

#[test]
fn names_are_compared_by_namespace() {
    let raw = read(
        "<title xmlns='urn:x'>other</title><a:title xmlns:a='http://www.w3.org/2005/Atom'>ours</a:title>",
    );
    assert_eq!(raw.unwrap().title, text("ours"));
}

#[test]
fn verb_and_type_take_precedence_over_a_category() {
    let verb = format!("<activity:verb>{SCHEMA}/like</activity:verb>");
    let photo = "<activity:object><activity:object-type>photo</activity:object-type></activity:object>";
    let any = "<activity:object><title>x</title></activity:object>";
    for (inside, expected) in [
        (format!("{verb}{photo}<category term='PhotoPosted'/>"), ("like", "photo", "", "Photo")),
        (
            format!("{photo}<category term='x'/><category term='PhotoPosted'/>"),
            ("", "photo", "PhotoPosted", "Photo"),
        ),
        (format!("{verb}{any}<category term='PhotoLiked'/>"), ("like", "", "PhotoLiked", "Photo")),
        (format!("{any}<category/><category term='BookSaved'/>"), ("", "", "BookSaved", "Book")),
        (format!("{any}<category term='x'/>"), ("", "", "", "")),
        (
            format!("{verb}{photo}<activity:object-type>x</activity:object-type>"),
            ("like", "photo", "", "Photo"),
        ),
    ] {
        let raw = read(&inside).unwrap();
        let (verb, kind, category, name) = expected;
        let verb = if verb.is_empty() { String::new() } else { format!("{SCHEMA}/{verb}") };
        assert_eq!(
            (raw.verb, raw.kind, raw.category, raw.objects[0].0.as_str()),
            (text(&verb), text(kind), text(category), name),
            "{inside}"
        );
    }
}

#[test]
fn only_plain_text_is_accepted() {
    for (title, expected) in [
        ("<title>x</title>", Some(text("x"))),
        ("<title type='text'>&lt;b>x</title>", Some(text("<b>x"))),
        ("<title type='text'>x<b/></title>", Some(RawValue::Other)),
        ("<title type='html'>Tom &amp;amp; &amp;#74;erry</title>", Some(text("Tom & Jerry"))),
        ("<title type='html'/>", Some(RawValue::Absent)),
        ("<title type='html'>&lt;b>x</title>", None),
        ("<title type='html'>a &amp;hellip; b</title>", Some(text("a … b"))),
        ("<title type='html'>a &amp;nonsense; b</title>", None),
        ("<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>x</div></title>", None),
        ("<title type='image/png'>x</title>", None),
    ] {
        assert_eq!(read(title).ok().map(|raw| raw.title), expected, "{title}");
        assert_eq!(object(title).ok().map(|object| object.title), expected, "{title}");
    }
}

#[test]
fn the_links_of_an_object_are_its_addresses() {
    let none = RawThumbnail::default();
    let picture =
        |url: &str, height: &str| RawThumbnail { url: text(url), height: text(height), ..none.clone() };
    for (inside, url, page, thumbnail) in [
        ("<link href='a'/>", "a", "a", none.clone()),
        ("<link href='a'/><link rel='related' href=' r '/>", "r", "a", none.clone()),
        ("<link rel='related' href='r'/><link rel='related' href='s'/>", "r", "", none.clone()),
        ("<link rel='http://www.iana.org/assignments/relation/Alternate' href='a'/>", "a", "a", none.clone()),
        (
            "<link href='a' type='application/pdf'/><link href='b' type='text/HTML; x=y'/>",
            "b",
            "b",
            none.clone(),
        ),
        ("<link href='a' type='application/pdf'/>", "a", "", none.clone()),
        ("<link rel='enclosure' href='a'/>", "", "", none.clone()),
        ("<link rel='related'/><link href='a'/>", "a", "a", none.clone()),
        ("<link rel='preview' href='p'/><link rel='preview' href='q'/>", "", "", picture("p", "")),
        ("<link rel='preview' href='p' media:height='80' width='3'/>", "", "", picture("p", "80")),
        ("<link rel='preview' media:height='80'/>", "", "", picture("", "80")),
    ] {
        let object = object(inside).unwrap();
        let expected = (text(url), Some(text(page)), thumbnail);
        assert_eq!((object.url, object.alternate, object.thumbnail), expected, "{inside}");
    }
}

#[test]
fn repeated_elements_are_rejected() {
    for (inside, message) in [
        ("<title>x</title><title>x</title>", "title appears twice in entry"),
        ("<published/><published/>", "published appears twice in entry"),
        ("<id>1</id><id>2</id>", "id appears twice in entry"),
        ("<thr:total>0</thr:total><thr:total>1</thr:total>", "total appears twice in entry"),
        ("<activity:verb/><activity:verb/>", "verb appears twice in entry"),
        ("<activity:object/><activity:object/>", "object appears twice in entry"),
        ("<service:provider/><service:provider/>", "provider appears twice in entry"),
        ("<service:provider><name/><name/></service:provider>", "name appears twice in provider"),
        ("<activity:object><title/><title/></activity:object>", "title appears twice in object"),
    ] {
        assert_eq!(read(inside), Err(Unreadable::Malformed(message.to_owned())), "{inside}");
    }
}

fn feed(inside: &str) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    read_feed(format!("<feed {NAMESPACES}><title>f</title>{inside}</feed>").as_bytes())
}

#[test]
fn an_invalid_entry_does_not_affect_the_others() {
    let long = "x".repeat(MAX_BODY);
    let many = "<a/>".repeat(20_000);
    let entries = feed(&format!(
        "<entry><id>1</id></entry><entry><id>2</id><id>2</id></entry><other><entry/></other>
        <entry><id>3</id><content>{long}</content></entry><entry>{many}</entry>
        <entry xmlns='urn:x'/><entry><id>4</id><title type='xhtml'/></entry><entry><id>5</id></entry>"
    ));
    let results: Vec<_> = entries.unwrap().into_iter().map(|one| one.map(|raw| raw.source_id)).collect();
    let wrong = |text: &str| Err(Unreadable::Malformed(text.to_owned()));
    assert_eq!(
        results[..4],
        [
            Ok(text("1")),
            wrong("id appears twice in entry"),
            Err(Unreadable::TooLarge),
            Err(Unreadable::TooLarge),
        ]
    );
    assert!(matches!(results[4], Err(Unreadable::Malformed(_))));
    assert_eq!(results[5..], [Ok(text("5"))]);
    assert_eq!(feed(""), Ok(Vec::new()));
}

#[test]
fn a_malformed_feed_is_rejected_as_a_whole() {
    for (text, message) in [
        ("<entry xmlns='http://www.w3.org/2005/Atom'/>", "expected an Atom feed"),
        ("<feed><entry/></feed>", "in Atom's namespace"),
        ("<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id></entry>", "cut off"),
        ("<!DOCTYPE feed><feed xmlns='http://www.w3.org/2005/Atom'/>", "document type"),
        ("", "starting with <"),
    ] {
        let why = read_feed(text.as_bytes()).unwrap_err().to_string();
        assert!(why.contains(message), "{text}: {why}");
    }
    let entries = |count: usize| feed(&"<entry/>".repeat(count)).map(|entries| entries.len());
    assert_eq!(entries(MAX_ENTRIES), Ok(MAX_ENTRIES));
    assert_eq!(entries(MAX_ENTRIES + 1), Err(Unreadable::TooMany));
    assert_eq!(read_feed(&vec![b' '; (8 << 20) + 1]), Err(Unreadable::TooMany));
}

#[test]
fn the_service_of_a_feed_applies_to_its_entries() {
    let named = |name: &str| format!("<service:provider><name>{name}</name></service:provider>");
    let (a, b, c) = (named("a"), named("b"), named("c"));
    let entries = format!(
        "<entry>{a}</entry><entry><source>{b}</source></entry><entry/><entry>{a}<source>{b}</source></entry>"
    );
    let names = |feed: Result<Vec<Result<RawActivity, Unreadable>>, Unreadable>| -> Vec<RawValue> {
        feed.unwrap().into_iter().map(|entry| entry.unwrap().service.name).collect()
    };
    assert_eq!(names(feed(&entries)), [text("a"), text("b"), RawValue::Absent, text("a")]);
    let expected = [text("a"), text("b"), text("c"), text("a")];
    assert_eq!(names(feed(&format!("{c}{entries}"))), expected);
    assert_eq!(names(feed(&format!("{entries}{c}"))), expected, "the provider may come last");
    let message = feed(&format!("{c}{entries}{b}{a}")).unwrap_err().to_string();
    assert_eq!(message, "provider appears twice in feed");
}

/// Feeds of cheap but expensive-looking content. Anything but linear time would take minutes, even on an idle machine.
#[test]
fn hostile_feeds_cost_little() {
    let full = |piece: &str| piece.repeat((1 << 18) / piece.len());
    for (what, inside, refused) in [
        ("entries", full("<entry/>"), true),
        ("elements", format!("<entry>{}</entry>", full("<a/>")), false),
        ("elements beside entries", full("<a/>"), false),
        ("providers", full("<service:provider><name>x</name></service:provider>"), true),
        ("references", format!("<entry><title>{}</title></entry>", full("&lt;")), false),
        ("attributes", full("<a b='' c='' d='' e='' f='' g='' h='' i='' j='' k='' l='' m=''/>"), false),
        ("namespaces", full("<a xmlns:b='u'><b:c/></a>"), false),
        ("depth", full("<a>"), true),
        ("a long namespace", format!("<a xmlns='{}'>{}</a>", "u".repeat(9_000), "<a/>".repeat(4_000)), true),
    ] {
        let start = Instant::now();
        let read = feed(&inside);
        let took = start.elapsed();
        assert_eq!(read.is_err(), refused, "{what}");
        assert!(took < Duration::from_secs(30), "{what} took {took:?}");
    }
}
