//! RSS in all versions.

use crate::support::{only, read, rss, rss_item};
use feeds::{Format, Medium};
use std::time::Duration;

#[test]
fn the_properties_of_a_channel_are_read() {
    let feed = read(&rss(
        r#"<title>Tides &amp;amp; winds</title><link>https://example.org/</link><image><url>/i.png</url></image><ttl>90</ttl>
        <a:link rel="self" href="https://example.org/feed"/><a:link rel="hub" href="https://hub.example/"/>"#,
    ));
    assert_eq!((feed.format, feed.title.as_deref()), (Format::Rss, Some("Tides & winds")));
    assert_eq!(
        (feed.site.as_deref(), feed.icon.as_deref()),
        (Some("https://example.org/"), Some("https://example.org/i.png"))
    );
    assert_eq!((feed.every, feed.hubs.len()), (Some(Duration::from_secs(5_400)), 1));
    assert_eq!(feed.own_address.as_deref(), Some("https://example.org/feed"));
    let twice = rss("<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>");
    assert_eq!(read(&twice).every, Some(Duration::from_secs(43_200)));
    for none in [
        "<ttl>0</ttl>",
        "<ttl>x</ttl>",
        "<sy:updatePeriod>never</sy:updatePeriod>",
        "<ttl>99999999999999999999</ttl>",
        "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>",
    ] {
        assert_eq!(read(&rss(none)).every, None, "{none}");
    }
}

#[test]
fn identifiers_come_from_guid_link_or_content() {
    for (inside, id) in [
        ("<guid>a-1</guid><link>/x</link>", "a-1"),
        ("<guid> http://Example.org:80/X </guid>", "https://example.org/x"),
        ("<guid/><link>/X</link>", "https://example.org/x"),
    ] {
        assert_eq!(rss_item(inside).id, id, "{inside}");
    }
    assert_eq!(rss_item("<title>a</title>").id, rss_item("<title>a</title><pubDate>2026</pubDate>").id);
    assert_ne!(rss_item("<title>a</title>").id, rss_item("<title>b</title>").id);
}

#[test]
fn a_guid_is_an_address_unless_it_is_no_permalink() {
    assert_eq!(rss_item("<guid>https://example.org/1</guid>").url.as_deref(), Some("https://example.org/1"));
    assert_eq!(rss_item("<guid isPermaLink='false'>https://example.org/1</guid>").url, None);
    assert_eq!(rss_item("<guid>17</guid>").url, None);
    assert_eq!(rss_item("<link/><a:link href='/2'/>").url.as_deref(), Some("https://example.org/2"));
}

#[test]
fn extensions_are_read() {
    let item = rss_item(
        "<d:creator>Jo</d:creator><d:date>2026-11-14</d:date><s:comments>4</s:comments><c:encoded>&lt;p&gt;Whole&lt;/p&gt;</c:encoded>
         <enclosure url='/a.mp3' type='audio/mpeg' length='1'/><i:image href='/cover.jpg'/>",
    );
    assert_eq!((item.author.as_deref(), item.comments), (Some("Jo"), Some(4)));
    assert_eq!((item.text.as_deref(), item.medium), (Some("Whole"), Some(Medium::Audio)));
    assert_eq!(item.picture.unwrap().url, "https://example.org/cover.jpg");
    assert!(item.published.is_some());
    assert_eq!(
        rss_item("<description>Short</description><c:encoded>Long</c:encoded>").text.as_deref(),
        Some("Short")
    );
}

#[test]
fn rdf_and_older_versions_are_read() {
    let rdf = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
        <channel rdf:about="https://example.org/"><title>T</title><link>https://example.org/</link></channel>
        <item rdf:about="https://example.org/1"><title>One</title><link>https://example.org/1</link></item></rdf:RDF>"#;
    let feed = read(rdf);
    assert_eq!((feed.format, feed.items[0].id.as_str()), (Format::Rdf, "https://example.org/1"));
    let netscape = r#"<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd">
        <rss version="0.91"><channel><title>T</title><item><title>caf&eacute;</title><link>/1</link></item></channel></rss>"#;
    assert_eq!(only(netscape).title.as_deref(), Some("café"));
    let outside =
        "<rss version='0.90'><channel><title>T</title></channel><item><title>x</title></item></rss>";
    assert_eq!(only(outside).title.as_deref(), Some("x"));
}
