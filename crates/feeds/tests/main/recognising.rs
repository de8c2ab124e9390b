//! Recognition of typed addresses and names.

use feeds::catalogue::{by_name, recognise, services};
use feeds::{Feed, Format, Provider, catalogue};
use url::Url;

#[test]
fn services_are_recognised_by_address_and_name() {
    for (typed, service, feed) in [
        ("https://github.com/alice", "GitHub", Some("https://github.com/alice.atom")),
        (" github.com/alice/ ", "GitHub", Some("https://github.com/alice.atom")),
        ("http://www.github.com/alice?tab=repositories", "GitHub", Some("https://github.com/alice.atom")),
        ("https://github.com/alice.atom", "GitHub", Some("https://github.com/alice.atom")),
        (
            "https://github.com/harbour/buoys",
            "GitHub releases",
            Some("https://github.com/harbour/buoys/releases.atom"),
        ),
        ("@alice@example.social", "Mastodon", Some("https://example.social/@alice.rss")),
        ("https://example.social/@alice", "Mastodon", Some("https://example.social/@alice.rss")),
        ("https://medium.com/@alice", "Medium", Some("https://medium.com/feed/@alice")),
        ("alice.medium.com", "Medium", Some("https://medium.com/feed/@alice")),
        ("https://www.youtube.com/@alice", "YouTube", None),
        (
            "https://youtube.com/channel/UCabc-1_x",
            "YouTube",
            Some("https://www.youtube.com/feeds/videos.xml?channel_id=UCabc-1_x"),
        ),
        ("https://www.flickr.com/photos/alice/", "Flickr", None),
        ("alice.tumblr.com", "Tumblr", Some("https://alice.tumblr.com/rss")),
        (
            "https://stackoverflow.com/users/42/alice",
            "Stack Overflow",
            Some("https://stackoverflow.com/feeds/user/42"),
        ),
        ("https://lobste.rs/~alice", "Lobsters", Some("https://lobste.rs/~alice/stories.rss")),
        (
            "https://news.ycombinator.com/user?id=alice",
            "Hacker News",
            Some("https://hnrss.org/submitted?id=alice"),
        ),
        (
            "https://de.wikipedia.org/wiki/User:Alice",
            "Wikipedia",
            Some("https://de.wikipedia.org/w/api.php?action=feedcontributions&feedformat=atom&user=Alice"),
        ),
        ("https://example.world/u/alice", "Lemmy", Some("https://example.world/feeds/u/alice.xml")),
        (
            "https://example.tube/a/alice/videos",
            "PeerTube",
            Some("https://example.tube/feeds/videos.xml?accountName=alice"),
        ),
        ("https://pixelfed.social/alice", "Pixelfed", Some("https://pixelfed.social/users/alice.atom")),
        (
            "https://bsky.app/profile/alice.example.org",
            "Bluesky",
            Some("https://bsky.app/profile/alice.example.org/rss"),
        ),
    ] {
        let recognised = recognise(typed).unwrap_or_else(|| panic!("{typed}"));
        assert_eq!(recognised.service.map(|service| service.name.as_str()), Some(service), "{typed}");
        assert_eq!(recognised.feed.as_ref().map(Url::as_str), feed, "{typed}");
    }
}

#[test]
fn other_addresses_have_no_service() {
    for (typed, page) in [
        ("example.org", "https://example.org/"),
        ("feed://example.org/x.xml", "https://example.org/x.xml"),
        ("feed:https://example.org/x.xml", "https://example.org/x.xml"),
        ("http://example.org:8080/x?y#z", "http://example.org:8080/x?y#z"),
        ("bücher.example/blog", "https://xn--bcher-kva.example/blog"),
    ] {
        let recognised = recognise(typed).unwrap_or_else(|| panic!("{typed}"));
        assert!(recognised.service.is_none() && recognised.feed.is_none(), "{typed}");
        assert_eq!(recognised.page.as_str(), page);
    }
    for nonsense in [
        "",
        "alice",
        "two words.example",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://jo:x@example.org/",
        "jo@example.org",
        "@jo",
        "ftp://example.org/",
    ] {
        assert!(recognise(nonsense).is_none(), "{nonsense}");
    }
}

#[test]
fn a_name_gives_the_feed_address() {
    for (service, person, feed) in [
        ("GitHub", "alice", Some("https://github.com/alice.atom")),
        ("GitHub", " @alice ", Some("https://github.com/alice.atom")),
        ("GitHub", "../evil", None),
        ("GitHub", "a?b", None),
        ("Mastodon", "@alice@example.social", Some("https://example.social/@alice.rss")),
        ("Mastodon", "alice@EXAMPLE.social", Some("https://example.social/@alice.rss")),
        ("Mastodon", "alice", None),
        ("Mastodon", "alice@127.0.0.1", None),
        ("Mastodon", "alice@example.social/x", None),
        ("Substack", "alice", Some("https://alice.substack.com/feed")),
        ("Substack", "evil.example/", None),
        ("Substack", "evil@example", None),
        ("OpenStreetMap", "Jo Smith", Some("https://www.openstreetmap.org/user/Jo%20Smith/history/feed")),
        ("YouTube", "alice", None),
        ("DeviantArt", "alice", Some("https://backend.deviantart.com/rss.xml?q=gallery:alice")),
    ] {
        let address = by_name(service).unwrap().feed_of(person);
        assert_eq!(address.as_ref().map(Url::as_str), feed, "{service} {person}");
    }
}

#[test]
fn a_feed_address_is_recognised_as_its_service() {
    for service in services() {
        for person in ["alice", "alice@example.social"] {
            if let Some(feed) = service.feed_of(person) {
                let again = recognise(feed.as_str()).unwrap();
                assert_eq!(again.service.map(|service| &service.name), Some(&service.name), "{feed}");
                assert_eq!(again.feed, Some(feed));
            }
        }
    }
}

#[test]
fn a_feed_is_named_after_its_provider_or_host() {
    let mut feed = Feed {
        format: Format::Atom,
        title: None,
        site: Some("https://example.org/".to_owned()),
        icon: None,
        hubs: Vec::new(),
        own_address: None,
        every: None,
        provider: None,
        items: Vec::new(),
    };
    let address = Url::parse("https://www.example.org/feed").unwrap();
    let name = |feed: &Feed| catalogue::source(None, feed, &address).unwrap().name.as_str().to_owned();
    assert_eq!(name(&feed), "example.org");
    feed.provider = Some(Provider { name: "Tides, winds/waves".to_owned(), icon: None, site: None });
    assert_eq!(name(&feed), "Tides winds waves");
    let github = catalogue::source(by_name("github"), &feed, &address).unwrap();
    assert_eq!((github.name.as_str(), github.website.as_deref()), ("GitHub", Some("https://github.com/")));
}
