//! Malicious and broken documents.

use crate::support::{address, only, rss, rss_item, try_read};
use feeds::FeedError;
use std::time::{Duration, Instant};

#[track_caller]
fn read_in_time(case: &str, document: &str) -> Result<feeds::Feed, FeedError> {
    let start = Instant::now();
    let read = try_read(document);
    feeds::discover(document.as_bytes(), None, &address());
    // A generous limit, because the machine may be busy: the test detects quadratic time.
    assert!(start.elapsed() < Duration::from_secs(60), "{case} took {:?}", start.elapsed());
    read
}

#[test]
fn entities_are_neither_defined_nor_fetched() {
    let laughs = r#"<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><rss><channel>&b;</channel></rss>"#;
    assert_eq!(read_in_time("laughs", laughs), Err(FeedError::Doctype));
    let outside = r#"<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>&x;</title></channel></rss>"#;
    assert_eq!(read_in_time("outside", outside), Err(FeedError::Doctype));
    assert_eq!(rss_item("<title>&x; &amp; y</title>").title.as_deref(), Some("&x; & y"));
}

#[test]
fn documents_over_a_limit_are_rejected() {
    let deep = "<b>".repeat(100_000);
    assert!(matches!(read_in_time("deep", &rss(&deep)), Err(FeedError::TooLarge(_))));
    let attributes: String = (0..100_000).map(|n| format!(" a{n}=''")).collect();
    assert!(matches!(
        read_in_time("attributes", &format!("<rss{attributes}><channel/></rss>")),
        Err(FeedError::TooLarge(_))
    ));
    let declarations: String = (0..50_000).map(|n| format!(" xmlns:a{n}='b'")).collect();
    assert!(read_in_time("declarations", &format!("<rss{declarations}><channel/></rss>")).is_err());
    let elements = "<b/>".repeat(300_000);
    assert!(matches!(read_in_time("elements", &rss(&elements)), Err(FeedError::TooLarge(_))));
    let name = "n".repeat(300);
    assert!(matches!(read_in_time("name", &rss(&format!("<{name}/>"))), Err(FeedError::TooLarge(_))));
    assert!(matches!(read_in_time("bytes", &" ".repeat(6 << 20)), Err(FeedError::TooLarge(_))));
}

#[test]
fn hostile_pages_take_linear_time() {
    for (case, piece) in [
        ("deep", "<div>"),
        ("attributes", "<a"),
        ("open", "<"),
        ("ends", "</"),
        ("comments", "<!--"),
        ("raw", "<title>"),
        ("references", "&"),
        ("lists", "<li class=h-entry>"),
        ("things", "<i class='h-x p-name'>"),
        ("names", "<i class='h-entry u-url'>"),
        ("properties", "<p class='e-content u-url dt-published'> "),
        ("formatting", "<b><i></b>"),
        ("cdata", "<![CDATA["),
    ] {
        let page = format!("<html><p class=h-entry>{}", piece.repeat((1 << 19) / piece.len()));
        let _ = read_in_time(case, &page);
    }
    let flood: String = (0..150_000).map(|n| format!(" a{n}")).collect();
    let _ = read_in_time("one tag", &format!("<html><p class=h-entry{flood}>x"));
    let classes = "p-name u-url ".repeat(100_000);
    let _ = read_in_time("classes", &format!("<html><p class=h-entry><b class='{classes}'>x</b>"));
}

#[test]
fn large_json_is_bounded() {
    let head = r#"{"version":"https://jsonfeed.org/version/1","items":["#;
    let many = format!("{head}{}{{}}]}}", "{},".repeat(1_000_000));
    assert_eq!(read_in_time("many", &many).map(|feed| feed.items.len()), Ok(1));
    let deep = format!("{head}{}", "[".repeat(1_000_000));
    assert!(matches!(read_in_time("deep", &deep), Err(FeedError::Broken(_))));
}

#[test]
fn unambiguous_mistakes_are_accepted() {
    for (inside, title) in [
        ("<title>Fish & chips</title>", "Fish & chips"),
        ("<title>AT&T; &nbsp;x</title>", "AT&T; x"),
        ("<title><![CDATA[a & b]]></title>", "a & b"),
        ("<nobody:knows>x</nobody:knows><title>y</title>", "y"),
        ("<title a='1' a='2'>z</title>", "z"),
        ("<title>bell\u{7}</title>", "bell"),
    ] {
        assert_eq!(rss_item(inside).title.as_deref(), Some(title), "{inside}");
    }
    let around = format!(
        " \n<?xml version='1.0'?><!-- x -->{}<!-- served in 3 ms --> junk < & </b>",
        rss("<item><title>x</title></item>")
    );
    assert_eq!(only(&around).title.as_deref(), Some("x"));
}

#[test]
fn errors_have_a_line_and_a_column() {
    for broken in [
        "<rss><channel><item><title>x</title></item>",
        "<rss>\n<channel><item></channel></rss>",
        "<rss>\n<channel><title>x</titel></channel></rss>",
        "<rss><channel><title>x",
        "<rss><channel><!-- x",
        "<rss><channel a='x></channel></rss>",
        "<rss><channel a=x></channel></rss>",
    ] {
        match try_read(broken) {
            Err(FeedError::Broken(why)) => {
                assert!(why.contains("line ") && why.contains("column "), "{why}")
            }
            other => panic!("{broken}: {other:?}"),
        }
    }
}

#[test]
fn every_error_is_a_sentence() {
    for refusal in [
        FeedError::NotAFeed,
        FeedError::Broken("x".to_owned()),
        FeedError::TooLarge("x"),
        FeedError::Charset("x".to_owned()),
        FeedError::Doctype,
    ] {
        assert!(refusal.to_string().len() > 20, "{refusal}");
    }
}
