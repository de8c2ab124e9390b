//! Atom: valid by RFC 4287, and in agreement with the other three representations.

use super::super::support::pages::{PageFixture, RenderedPage};
use super::content::Content;
use domain::feed::Item;
use infoset::Element;
use model::{Activity, Body, Kind, Millis, Verb, category, category_label};
use std::collections::HashSet;

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ACTIVITY: &str = "http://activitystrea.ms/spec/1.0/";
const SERVICE: &str = "http://activitystrea.ms/service-provider";
const POCO: &str = "http://portablecontacts.net/spec/1.0";
const THREAD: &str = "http://purl.org/syndication/thread/1.0";
const MEDIA: &str = "http://purl.org/syndication/atommedia";
const SCHEMA: &str = "http://activitystrea.ms/schema/1.0/";

fn all<'a>(parent: &'a Element, namespace: &'a str, local: &'a str) -> Vec<&'a Element> {
    parent.elements().filter(|element| element.name.is(namespace, local)).collect()
}

fn one<'a>(parent: &'a Element, namespace: &'a str, local: &'a str) -> &'a Element {
    let found = all(parent, namespace, local);
    assert_eq!(found.len(), 1, "{local} in {:?}", parent.name);
    found[0]
}

fn text(parent: &Element, namespace: &str, local: &str) -> String {
    one(parent, namespace, local).text()
}

fn optional_text(parent: &Element, namespace: &str, local: &str) -> Option<String> {
    let found = all(parent, namespace, local);
    assert!(found.len() <= 1, "{local} twice");
    found.first().map(|element| element.text())
}

/// The links of a relation.
fn links<'a>(parent: &'a Element, rel: &str) -> Vec<&'a Element> {
    all(parent, ATOM, "link").into_iter().filter(|link| link.attribute("", "rel") == Some(rel)).collect()
}

/// The requirements of RFC 4287 on a feed document.
pub(super) fn assert_valid(feed: &Element) {
    assert!(feed.name.is(ATOM, "feed"));
    assert_common(
        feed,
        &["entry", "author", "category", "generator", "icon", "id", "link", "subtitle", "title", "updated"],
    );
    assert_eq!(links(feed, "self").len(), 1, "a feed has one self link");
    let entries = all(feed, ATOM, "entry");
    let mut ids = HashSet::new();
    for entry in &entries {
        assert_common(
            entry,
            &[
                "author",
                "category",
                "content",
                "id",
                "link",
                "published",
                "rights",
                "source",
                "summary",
                "title",
                "updated",
            ],
        );
        assert!(ids.insert(text(entry, ATOM, "id")), "repeated identifier");
        for at_most_once in ["published", "summary", "content", "rights", "source"] {
            assert!(all(entry, ATOM, at_most_once).len() <= 1, "{at_most_once} twice");
        }
        assert!(!all(entry, ATOM, "author").is_empty() || !all(feed, ATOM, "author").is_empty(), "no author");
        let alternates = links(entry, "alternate");
        assert!(
            !alternates.is_empty() || !all(entry, ATOM, "content").is_empty(),
            "neither content nor an alternate link"
        );
        let kinds: HashSet<_> = alternates
            .iter()
            .map(|link| (link.attribute("", "type"), link.attribute("", "hreflang")))
            .collect();
        assert_eq!(kinds.len(), alternates.len(), "two alternates of one type and language");
        optional_text(entry, ATOM, "published").iter().for_each(|date| assert_date(date));
    }
}

/// The requirements that feeds and entries share.
fn assert_common(parent: &Element, allowed: &[&str]) {
    let foreign = parent
        .elements()
        .find(|child| child.name.namespace == ATOM && !allowed.contains(&&*child.name.local));
    assert!(foreign.is_none(), "{foreign:?} is not allowed in {:?}", parent.name);
    assert_eq!(parent.elements().count(), parent.children.len(), "text is not allowed here");
    assert_absolute(&text(parent, ATOM, "id"));
    assert_date(&text(parent, ATOM, "updated"));
    for construct in ["title", "summary"].map(|name| all(parent, ATOM, name)).concat() {
        let kind = construct.attribute("", "type").unwrap_or("text");
        assert!(matches!(kind, "text" | "html"), "type {kind}");
        assert_eq!(construct.elements().count(), 0, "text constructs contain only text");
        assert!(!construct.text().is_empty());
    }
    assert_eq!(all(parent, ATOM, "title").len(), 1);
    for link in all(parent, ATOM, "link") {
        assert_absolute(link.attribute("", "href").unwrap());
        let (main, sub) = link.attribute("", "type").unwrap_or("a/b").split_once('/').unwrap();
        assert!(!main.is_empty() && !sub.is_empty());
    }
    for category in all(parent, ATOM, "category") {
        assert!(category.attribute("", "term").is_some_and(|term| !term.is_empty()));
        category.attribute("", "scheme").into_iter().for_each(assert_absolute);
    }
    for author in all(parent, ATOM, "author") {
        assert!(!text(author, ATOM, "name").is_empty());
        optional_text(author, ATOM, "uri").iter().for_each(|uri| assert_absolute(uri));
    }
}

fn assert_absolute(iri: &str) {
    assert!(url::Url::parse(iri).is_ok(), "{iri}");
}

/// RFC 3339, with the letters in upper case.
fn assert_date(text: &str) {
    assert_eq!(Millis::parse(text).map(Millis::zulu).as_deref(), Ok(text));
}

/// The metadata of a feed.
pub(super) fn assert_feed(fixture: &PageFixture, shown: &RenderedPage, feed: &Element) {
    let (word, name) = (shown.query.collection.as_str(), &shown.owner.name);
    assert_eq!(text(feed, ATOM, "id"), format!("tag:feed.example,2009:{word}/{name}"));
    assert!(text(feed, ATOM, "title").ends_with(&shown.owner.display_name()));
    let changed = shown.items.iter().map(|item| fixture.data.activities[&item.state.id].state.updated).max();
    assert_eq!(text(feed, ATOM, "updated"), changed.unwrap_or(shown.owner.created).zulu());
    let links: Vec<_> = all(feed, ATOM, "link")
        .into_iter()
        .map(|link| (link.attribute("", "rel").unwrap(), link.attribute("", "href").unwrap()))
        .collect();
    let expected: Vec<_> = shown.links.iter().map(|(rel, href)| (*rel, href.as_str())).collect();
    assert_eq!(links, expected);
}

/// An entry agrees with the other three representations, and has the fields that only Atom has.
pub(super) fn assert_entry(fixture: &PageFixture, entry: &Element, item: &Item, activity: &Content) {
    let Activity { state, body } = &fixture.data.activities[&item.state.id];
    let text_at = |path: &[&str]| activity.at(path).map(str::to_owned);
    let id = text_at(&["ActivityIdentifier"]).unwrap();
    assert_eq!(text(entry, ATOM, "id"), format!("tag:feed.example,2009:activity/{id}"));
    assert_eq!(text(entry, ATOM, "published"), state.published.zulu());
    assert_eq!(text(entry, ATOM, "updated"), state.updated.zulu());
    assert_eq!(Some(text(entry, ATOM, "title")), text_at(&["Title"]));
    let alternate = links(entry, "alternate")[0];
    assert_eq!(alternate.attribute("", "href").map(str::to_owned), text_at(&["ActivityUrl"]));
    assert_eq!(alternate.attribute("", "title").map(str::to_owned), text_at(&["Title"]));
    assert_eq!(alternate.attribute("", "type"), Some("text/xhtml"));
    let comments = text_at(&["CommentCount"]).unwrap_or("0".to_owned());
    assert_eq!(text(entry, THREAD, "total"), comments);

    let provider = one(entry, SERVICE, "provider");
    assert_eq!(Some(text(provider, ATOM, "name")), text_at(&["SourceService", "Name"]));
    assert_eq!(optional_text(provider, ATOM, "uri"), text_at(&["SourceService", "WebsiteURL"]));
    assert_eq!(optional_text(provider, ATOM, "icon"), text_at(&["SourceService", "IconURL"]));

    assert_words(entry, activity);
    assert_person(entry, activity);
    assert_object(entry, activity, body);
}

/// Type and verb: as IRIs, as a category and as the name of the object's element.
fn assert_words(entry: &Element, activity: &Content) {
    let verb = text(entry, ACTIVITY, "verb");
    let kind = text(one(entry, ACTIVITY, "object"), ACTIVITY, "object-type");
    assert!(verb.starts_with(SCHEMA) && kind.starts_with(SCHEMA), "{verb} {kind}");
    let (kind, verb) = (Kind::parse(&kind).unwrap(), Verb::parse(&verb).unwrap());
    let shown = one(entry, ATOM, "category");
    assert_eq!(shown.attribute("", "term"), activity.at(&["Category"]));
    assert_eq!(shown.attribute("", "term"), Some(&*category(&kind, &verb)));
    assert_eq!(shown.attribute("", "label"), Some(&*category_label(&kind, &verb)));
    let letters = |text: &str| text.replace([' ', '-'], "");
    assert_eq!(letters(shown.attribute("", "label").unwrap()), letters(&category(&kind, &verb)));
    assert_eq!(shown.attribute("", "scheme"), Some("https://feed.example:8443/prefix/docs/categories"));
    assert_eq!(activity.last_name(), kind.element());
}

fn assert_person(entry: &Element, activity: &Content) {
    let text_at = |path: &[&str]| activity.at(path).map(str::to_owned);
    let names = [text_at(&["SourceUser", "GivenName"]), text_at(&["SourceUser", "FamilyName"])];
    let user = text_at(&["SourceUser", "UserIdentifier"]).unwrap();
    let author = one(entry, ATOM, "author");
    let full: Vec<String> = names.iter().flatten().cloned().collect();
    assert_eq!(text(author, ATOM, "name"), if full.is_empty() { user.clone() } else { full.join(" ") });
    assert_eq!(Some(text(author, ATOM, "uri")), text_at(&["SourceUser", "ProfileUrl"]));
    let actor = one(entry, ACTIVITY, "actor");
    assert_eq!(text(actor, ACTIVITY, "object-type"), format!("{SCHEMA}person"));
    assert_eq!(text(actor, ATOM, "id"), user);
    let name = all(actor, POCO, "name");
    let poco =
        ["givenName", "familyName"].map(|part| name.first().and_then(|name| optional_text(name, POCO, part)));
    assert_eq!(poco, names);
    assert_eq!(name.len(), usize::from(!full.is_empty()), "an empty name");
    let avatars: Vec<_> = links(actor, "avatar")
        .into_iter()
        .map(|link| {
            assert_eq!(link.attribute("", "type"), Some("image/png"));
            assert_eq!(link.attribute(MEDIA, "height"), link.attribute(MEDIA, "width"));
            (link.attribute(MEDIA, "width").unwrap(), link.attribute("", "href").unwrap().to_owned())
        })
        .collect();
    let expected = ["80", "120", "200"]
        .map(|size| (size, format!("https://feed.example:8443/prefix/user/{user}/avatar/{size}.png")));
    assert_eq!(avatars, expected);
}

fn assert_object(entry: &Element, activity: &Content, body: &Body) {
    let name = activity.last_name();
    let text_at = |path: &[&str]| activity.at(&[&[name], path].concat()).map(str::to_owned);
    let object = one(entry, ACTIVITY, "object");
    assert_eq!(optional_text(object, ATOM, "title"), text_at(&["Title"]));
    assert_eq!(optional_text(object, ATOM, "summary"), text_at(&["Description"]));
    let attribute = |rel: &str, namespace: &str, local: &str| {
        let link = links(object, rel);
        assert!(link.len() <= 1, "{rel} twice");
        link.first().and_then(|link| link.attribute(namespace, local).map(str::to_owned))
    };
    assert_eq!(attribute("related", "", "href"), text_at(&["Url"]));
    assert_eq!(attribute("related", "", "title"), text_at(&["Url"]).and(text_at(&["Title"])));
    let page = body.object.alternate.clone().or(text_at(&["Url"]));
    assert_eq!(attribute("alternate", "", "href"), page, "an alternate link needs a related link");
    assert_eq!(attribute("alternate", "", "type"), page.map(|_| "text/html".to_owned()));
    assert_eq!(attribute("preview", "", "href"), text_at(&["Thumbnail", "Url"]));
    assert_eq!(attribute("preview", MEDIA, "height"), text_at(&["Thumbnail", "Height"]));
    assert_eq!(attribute("preview", MEDIA, "width"), text_at(&["Thumbnail", "Width"]));

    // The summary is HTML with the entry's own summary or else the description, and contains no markup from users.
    let summary = optional_text(entry, ATOM, "summary");
    assert!(summary.as_ref().is_none_or(|html| !html.contains(['<', '>'])), "{summary:?}");
    let shown = summary.map(|html| html.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
    assert_eq!(shown, body.summary.clone().or(text_at(&["Description"])));
    if shown.is_some() {
        assert_eq!(one(entry, ATOM, "summary").attribute("", "type"), Some("html"));
    }
}
