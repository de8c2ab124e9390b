//! Atom with the activity-streams extensions. An entry declares its namespaces itself, so that it works alone and in any
//! feed.

use crate::site::Site;
use infoset::{Attribute, Name, Namespace, Sink};
use model::{Account, Body, Comments, State, category, category_label};

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ACTIVITY: &str = "http://activitystrea.ms/spec/1.0/";
const SERVICE: &str = "http://activitystrea.ms/service-provider";
const POCO: &str = "http://portablecontacts.net/spec/1.0";
const THREAD: &str = "http://purl.org/syndication/thread/1.0";
const MEDIA: &str = "http://purl.org/syndication/atommedia";

const FEED_NAMESPACES: &[Namespace<'static>] = &[Namespace::new("", ATOM)];
const ENTRY_NAMESPACES: &[Namespace<'static>] = &[
    Namespace::new("", ATOM),
    Namespace::new("activity", ACTIVITY),
    Namespace::new("service", SERVICE),
    Namespace::new("poco", POCO),
    Namespace::new("thr", THREAD),
    Namespace::new("media", MEDIA),
];

const AVATAR_SIZES: [u16; 3] = [80, 120, 200];

const fn atom(local: &str) -> Name<'_> {
    Name::qualified("", ATOM, local)
}

const fn activity(local: &str) -> Name<'_> {
    Name::qualified("activity", ACTIVITY, local)
}

const fn poco(local: &str) -> Name<'_> {
    Name::qualified("poco", POCO, local)
}

const fn media(local: &str) -> Name<'_> {
    Name::qualified("media", MEDIA, local)
}

/// The metadata of a feed.
pub(super) struct FeedHead<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) updated: &'a str,
    /// Relation and address.
    pub(super) links: &'a [(&'static str, String)],
}

/// Opens the feed and writes everything but its entries.
pub(super) fn open_feed(head: &FeedHead<'_>, sink: &mut impl Sink) {
    sink.start(atom("feed"), FEED_NAMESPACES, &[]);
    sink.leaf(atom("id"), head.id);
    typed(sink, "title", "text", head.title);
    sink.leaf(atom("updated"), head.updated);
    for (rel, href) in head.links {
        link(sink, &[("rel", rel), ("type", "application/atom+xml"), ("href", href)]);
    }
}

/// Writes an entry, in the field order of the API contract.
pub(super) fn entry(site: &Site, state: &State, body: &Body, actor: &Account, sink: &mut impl Sink) {
    let (kind, verb) = (&state.facet.kind, &state.facet.verb);
    sink.start(atom("entry"), ENTRY_NAMESPACES, &[]);
    sink.leaf(activity("verb"), &verb.iri());
    sink.leaf(atom("published"), &state.published.zulu());
    typed(sink, "title", "text", &body.title);
    if let Some(summary) = body.summary.as_ref().or(body.object.description.as_ref()) {
        typed(sink, "summary", "html", &escape_html(summary));
    }
    provider(body, sink);
    object(state, body, sink);
    let (scheme, term, label) = (site.category_scheme(), category(kind, verb), category_label(kind, verb));
    element(sink, "category", &[("scheme", &scheme), ("term", &term), ("label", &label)]);
    sink.leaf(atom("updated"), &state.updated.zulu());
    sink.leaf(atom("id"), &site.activity_tag(state.id));
    let href = site.activity_url(state.id);
    link(sink, &[("href", &href), ("type", "text/xhtml"), ("rel", "alternate"), ("title", &body.title)]);
    sink.open(atom("author"));
    sink.leaf(atom("name"), &actor.display_name());
    sink.leaf(atom("uri"), &site.profile_url(&actor.name));
    sink.end();
    person(site, actor, sink);
    let comments = match body.comments {
        Comments::Counted { comments, .. } => comments,
        Comments::Available(_) => 0,
    };
    sink.leaf(Name::qualified("thr", THREAD, "total"), &comments.to_string());
    sink.end();
}

fn provider(body: &Body, sink: &mut impl Sink) {
    sink.open(Name::qualified("service", SERVICE, "provider"));
    sink.leaf(atom("name"), body.service.name.as_str());
    if let Some(website) = &body.service.website {
        sink.leaf(atom("uri"), website);
    }
    if let Some(icon) = &body.service.icon {
        sink.leaf(atom("icon"), icon);
    }
    sink.end();
}

fn object(state: &State, body: &Body, sink: &mut impl Sink) {
    let object = &body.object;
    sink.open(activity("object"));
    sink.leaf(activity("object-type"), &state.facet.kind.iri());
    if let Some(title) = &object.title {
        typed(sink, "title", "text", title);
    }
    if let Some(url) = &object.url {
        let page = object.alternate.as_ref().unwrap_or(url);
        link(sink, &[("rel", "alternate"), ("type", "text/html"), ("href", page)]);
        match &object.title {
            Some(title) => link(sink, &[("rel", "related"), ("href", url), ("title", title)]),
            None => link(sink, &[("rel", "related"), ("href", url)]),
        }
    }
    if let Some(thumbnail) = &object.thumbnail {
        let (height, width) =
            (thumbnail.height.map(|n| n.to_string()), thumbnail.width.map(|n| n.to_string()));
        let mut attributes = vec![
            Attribute::new(Name::local("rel"), "preview"),
            Attribute::new(Name::local("href"), &thumbnail.url),
        ];
        attributes.extend(height.as_deref().map(|n| Attribute::new(media("height"), n)));
        attributes.extend(width.as_deref().map(|n| Attribute::new(media("width"), n)));
        sink.start(atom("link"), &[], &attributes);
        sink.end();
    }
    if let Some(description) = &object.description {
        typed(sink, "summary", "text", description);
    }
    sink.end();
}

fn person(site: &Site, actor: &Account, sink: &mut impl Sink) {
    sink.open(activity("actor"));
    sink.leaf(activity("object-type"), "http://activitystrea.ms/schema/1.0/person");
    sink.leaf(atom("id"), actor.name.as_str());
    if actor.given_name.is_some() || actor.family_name.is_some() {
        sink.open(poco("name"));
        for (name, value) in [("givenName", &actor.given_name), ("familyName", &actor.family_name)] {
            if let Some(value) = value {
                sink.leaf(poco(name), value);
            }
        }
        sink.end();
    }
    for pixels in AVATAR_SIZES {
        let (href, size) = (site.avatar_url(&actor.name, pixels), pixels.to_string());
        let attributes = [
            Attribute::new(Name::local("rel"), "avatar"),
            Attribute::new(Name::local("type"), "image/png"),
            Attribute::new(Name::local("href"), &href),
            Attribute::new(media("height"), &size),
            Attribute::new(media("width"), &size),
        ];
        sink.start(atom("link"), &[], &attributes);
        sink.end();
    }
    sink.end();
}

fn typed(sink: &mut impl Sink, name: &str, kind: &str, text: &str) {
    sink.start(atom(name), &[], &[Attribute::new(Name::local("type"), kind)]);
    sink.text(text);
    sink.end();
}

fn link(sink: &mut impl Sink, attributes: &[(&str, &str)]) {
    element(sink, "link", attributes);
}

fn element(sink: &mut impl Sink, name: &str, attributes: &[(&str, &str)]) {
    let attributes: Vec<Attribute<'_>> =
        attributes.iter().map(|(name, value)| Attribute::new(Name::local(name), value)).collect();
    sink.start(atom(name), &[], &attributes);
    sink.end();
}

/// Escapes text as HTML.
pub(super) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
