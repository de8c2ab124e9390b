//! Documents that mean harm, and such that are merely broken.

use crate::support::{address, only, rss, rss_item, try_read};
use feeds::Unreadable;
use std::time::{Duration, Instant};

#[track_caller]
fn soon(what: &str, document: &str) -> Result<feeds::Feed, Unreadable> {
    let start = Instant::now();
    let read = try_read(document);
    feeds::discover(document.as_bytes(), None, &address());
    // Far more than it takes, because machines may be busy: what must not be is the square of the length.
    assert!(start.elapsed() < Duration::from_secs(60), "{what} took {:?}", start.elapsed());
    read
}

#[test]
fn nothing_is_defined_and_nothing_is_fetched() {
    let laughs = r#"<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><rss><channel>&b;</channel></rss>"#;
    assert_eq!(soon("laughs", laughs), Err(Unreadable::Doctype));
    let outside = r#"<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>&x;</title></channel></rss>"#;
    assert_eq!(soon("outside", outside), Err(Unreadable::Doctype));
    assert_eq!(rss_item("<title>&x; &amp; y</title>").title.as_deref(), Some("&x; & y"));
}

#[test]
fn limits() {
    let deep = "<b>".repeat(100_000);
    assert!(matches!(soon("deep", &rss(&deep)), Err(Unreadable::TooMuch(_))));
    let attributes: String = (0..100_000).map(|n| format!(" a{n}=''")).collect();
    assert!(matches!(
        soon("attributes", &format!("<rss{attributes}><channel/></rss>")),
        Err(Unreadable::TooMuch(_))
    ));
    let declarations: String = (0..50_000).map(|n| format!(" xmlns:a{n}='b'")).collect();
    assert!(soon("declarations", &format!("<rss{declarations}><channel/></rss>")).is_err());
    let elements = "<b/>".repeat(300_000);
    assert!(matches!(soon("elements", &rss(&elements)), Err(Unreadable::TooMuch(_))));
    let name = "n".repeat(300);
    assert!(matches!(soon("name", &rss(&format!("<{name}/>"))), Err(Unreadable::TooMuch(_))));
    assert!(matches!(soon("bytes", &" ".repeat(6 << 20)), Err(Unreadable::TooMuch(_))));
}

#[test]
fn pages_that_take_long_to_browse() {
    for (what, piece) in [
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
        let _ = soon(what, &page);
    }
    let flood: String = (0..150_000).map(|n| format!(" a{n}")).collect();
    let _ = soon("one tag", &format!("<html><p class=h-entry{flood}>x"));
    let classes = "p-name u-url ".repeat(100_000);
    let _ = soon("classes", &format!("<html><p class=h-entry><b class='{classes}'>x</b>"));
}

#[test]
fn json_that_is_much() {
    let head = r#"{"version":"https://jsonfeed.org/version/1","items":["#;
    let many = format!("{head}{}{{}}]}}", "{},".repeat(1_000_000));
    assert_eq!(soon("many", &many).map(|feed| feed.items.len()), Ok(1));
    let deep = format!("{head}{}", "[".repeat(1_000_000));
    assert!(matches!(soon("deep", &deep), Err(Unreadable::Broken(_))));
}

#[test]
fn what_leaves_no_doubt_is_forgiven() {
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
fn what_is_broken_is_told_where() {
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
            Err(Unreadable::Broken(why)) => {
                assert!(why.contains("line ") && why.contains("column "), "{why}")
            }
            other => panic!("{broken}: {other:?}"),
        }
    }
}

#[test]
fn every_refusal_is_a_sentence() {
    for refusal in [
        Unreadable::NotAFeed,
        Unreadable::Broken("x".to_owned()),
        Unreadable::TooMuch("x"),
        Unreadable::Charset("x".to_owned()),
        Unreadable::Doctype,
    ] {
        assert!(refusal.to_string().len() > 20, "{refusal}");
    }
}
