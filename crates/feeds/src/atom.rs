//! Atom 1.0 and its drafts, with threads, media and the activity extensions.

use crate::element::Element;
use crate::feed::{Feed, FeedItem, Format, ItemObject, Provider};
use crate::identity::{deduplicated, identity};
use crate::limits::MAX_ITEMS_SCANNED;
use crate::media::{Media, picture};
use crate::namespace::Ns;
use crate::period::update_period;
use crate::{address, plain, times, words};
use url::Url;

/// Reads the feed with this root element. A lone entry is read as a feed of one item.
pub(crate) fn feed(root: &Element, address: &Url) -> Feed {
    let base = root.base(address);
    let atom_ns = atom_namespace(root);
    let lone_entry = root.is(atom_ns, "entry").then_some(root);
    let entries = root.all(atom_ns, "entry").chain(lone_entry).take(MAX_ITEMS_SCANNED);
    let author = author(root, atom_ns);
    let items = entries.map(|entry| item(entry, atom_ns, &base, author.as_deref())).collect();
    let link = |rel: &str| links(root, atom_ns, rel, &base).next();
    Feed {
        format: Format::Atom,
        title: root.first(atom_ns, "title").and_then(title),
        site: page(root, atom_ns, &base),
        icon: ["icon", "logo"]
            .into_iter()
            .find_map(|name| root.text_of(atom_ns, name))
            .and_then(|icon| address::absolute(&icon, &base)),
        hubs: links(root, atom_ns, "hub", &base).collect(),
        own_address: link("self"),
        every: update_period(root),
        provider: provider(root, &base)
            .or_else(|| root.all(atom_ns, "entry").find_map(|entry| provider(entry, &base))),
        items: deduplicated(items),
    }
}

/// Atom 1.0 and Atom 0.3 have different namespaces. A feed's elements are read in the namespace of its root.
pub(crate) fn atom_namespace(root: &Element) -> Ns {
    if root.ns == Ns::Atom03 { Ns::Atom03 } else { Ns::Atom }
}

/// The addresses of all links with this relation.
pub(crate) fn links<'a>(
    element: &'a Element,
    atom_ns: Ns,
    rel: &'a str,
    base: &'a Url,
) -> impl Iterator<Item = String> + 'a {
    let links = element.all(atom_ns, "link").filter(move |link| is_rel(link, rel));
    links
        .filter_map(|link| address::absolute(link.get("href")?, &link.base(base)))
        .take(crate::limits::MAX_LINKS)
}

/// The page of a feed, entry or object: its HTML alternate, otherwise any alternate.
pub(crate) fn page(element: &Element, atom_ns: Ns, base: &Url) -> Option<String> {
    let alternates = || element.all(atom_ns, "link").filter(|link| is_rel(link, "alternate"));
    let is_page = |link: &&Element| link.get("type").is_none_or(|kind| kind.contains("html"));
    let link = alternates().find(is_page).or_else(|| alternates().next())?;
    address::absolute(link.get("href")?, &link.base(base))
}

fn item(entry: &Element, atom_ns: Ns, base: &Url, author_of_feed: Option<&str>) -> FeedItem {
    let base = &entry.base(base);
    let object = of_entry(entry, atom_ns, base);
    let url = page(entry, atom_ns, base);
    let title = entry.first(atom_ns, "title").and_then(title);
    let mut media = Media::default();
    // The picture of the object also represents the activity.
    let pictured = entry.first(Ns::Activity, "object");
    for element in [Some(entry), pictured].into_iter().flatten() {
        add_links(&mut media, element, atom_ns, base);
        media.add_media_rss(element, base);
    }
    let text = text(entry, atom_ns, base, &mut media);
    let text = text.or_else(|| media_description(entry));
    let declared_id = entry.text_of(atom_ns, "id");
    let source = entry.first(atom_ns, "source");
    let author = [Some(entry), source].into_iter().flatten().find_map(|element| author(element, atom_ns));
    let time = |names: [&str; 2]| names.iter().find_map(|name| times::parse(&entry.text_of(atom_ns, name)?));
    FeedItem {
        id: identity(declared_id.as_deref(), url.as_deref(), title.as_deref(), text.as_deref()),
        published: time(["published", "issued"])
            .or_else(|| times::parse(&entry.text_of(atom_ns, "created")?)),
        updated: time(["updated", "modified"]),
        verb: entry.text_of(Ns::Activity, "verb").and_then(|verb| words::verb(&verb)),
        kind: entry.text_of(Ns::Activity, "object-type").and_then(|kind| words::kind(&kind)),
        object,
        author: author.or_else(|| author_of_feed.map(str::to_owned)),
        picture: media.picture(),
        medium: media.medium(),
        comments: comments(entry, atom_ns),
        in_reply_to: reply(entry),
        title,
        text,
        url,
    }
}

/// The text of an entry or object. The summary comes first because it is meant to be short.
pub(crate) fn text(element: &Element, atom_ns: Ns, base: &Url, media: &mut Media) -> Option<String> {
    let summary = element.first(atom_ns, "summary").and_then(|summary| prose(summary, base, media));
    let content = element.first(atom_ns, "content").and_then(|content| prose(content, base, media));
    summary.or(content)
}

/// The words of a text construct; its `type` attribute says how they are encoded.
fn prose(element: &Element, base: &Url, media: &mut Media) -> Option<String> {
    match form(element) {
        Form::Plain => plain::text(&element.text()),
        Form::Escaped => {
            let html = element.text();
            media.add_inline_html(&html, &element.base(base));
            plain::text_of_html(&html)
        }
        Form::Elements => {
            media.add_inline_element(element, &element.base(base));
            plain::text_of_element(element)
        }
        Form::Bytes => None,
    }
}

pub(crate) fn title(element: &Element) -> Option<String> {
    match form(element) {
        Form::Plain => plain::title(&element.text()),
        Form::Escaped => plain::title_of_html(&element.text()),
        Form::Elements => plain::text_of_element(element).and_then(|text| plain::title(&text)),
        Form::Bytes => None,
    }
}

enum Form {
    Plain,
    Escaped,
    Elements,
    Bytes,
}

fn form(element: &Element) -> Form {
    let kind = element.get("type").unwrap_or("text").trim().to_ascii_lowercase();
    // The drafts have separate attributes for the media type and for its encoding.
    let is_escaped = element.get("mode") == Some("escaped");
    match kind.as_str() {
        "html" => Form::Escaped,
        "text/html" | "application/xhtml+xml" if is_escaped || element.elements().next().is_none() => {
            Form::Escaped
        }
        "xhtml" | "text/html" | "application/xhtml+xml" => Form::Elements,
        "text" | "text/plain" => Form::Plain,
        _ => Form::Bytes,
    }
}

/// The Media RSS description of an entry; video services use it.
fn media_description(entry: &Element) -> Option<String> {
    let group = entry.first(Ns::Media, "group").unwrap_or(entry);
    plain::text(&group.text_of(Ns::Media, "description")?)
}

/// The author of an entry, feed or source. Before Activity Streams 1.0, services named an actor instead.
fn author(element: &Element, atom_ns: Ns) -> Option<String> {
    let actor = element.first(Ns::Activity, "actor").or_else(|| element.first(Ns::Activity, "subject"));
    [element.first(atom_ns, "author"), actor].into_iter().flatten().find_map(|person| {
        let name = person.text_of(atom_ns, "name").or_else(|| person.text_of(Ns::Contacts, "displayName"));
        name.or_else(|| person.text_of(atom_ns, "title")).and_then(|name| plain::title(&name))
    })
}

/// `service:provider` of the feed or of an entry's source. Before 1.0 it was in the entry.
fn provider(element: &Element, base: &Url) -> Option<Provider> {
    let source = element.first(Ns::Atom, "source");
    let mut candidates = [Some(element), source].into_iter().flatten();
    let provider = candidates.find_map(|candidate| candidate.first(Ns::Service, "provider"))?;
    let link = |name| provider.text_of(Ns::Atom, name).and_then(|link| address::absolute(&link, base));
    let name = plain::title(&provider.text_of(Ns::Atom, "name")?)?;
    Some(Provider { name, icon: link("icon"), site: link("uri") })
}

fn comments(entry: &Element, atom_ns: Ns) -> Option<u32> {
    let counted = || {
        entry.all(atom_ns, "link").find_map(|link| link.attribute(Ns::Thread, "count")?.trim().parse().ok())
    };
    let total = entry.text_of(Ns::Thread, "total").and_then(|total| total.parse().ok());
    total.or_else(|| entry.text_of(Ns::Slash, "comments")?.parse().ok()).or_else(counted)
}

fn reply(entry: &Element) -> Option<String> {
    let reply = entry.first(Ns::Thread, "in-reply-to")?;
    plain::title(reply.get("href").or_else(|| reply.get("ref"))?)
}

/// Prefix with which a registered link relation may also be written.
const REGISTRY: &str = "http://www.iana.org/assignments/relation/";

/// Whether a link has this relation. A link without `rel` is an alternate.
fn is_rel(link: &Element, rel: &str) -> bool {
    let rel_value = link.get("rel").unwrap_or("alternate").trim();
    rel_value.strip_prefix(REGISTRY).unwrap_or(rel_value).eq_ignore_ascii_case(rel)
}

/// The object of an entry, if it differs from the entry. A bookmark is an entry that links to its object.
fn of_entry(entry: &Element, atom_ns: Ns, base: &Url) -> Option<ItemObject> {
    // Before 1.0 an entry could have several objects; the title describes the first.
    if let Some(object) = entry.first(Ns::Activity, "object") {
        return Some(read_object(object, atom_ns, base));
    }
    let kind = entry.text_of(Ns::Activity, "object-type").and_then(|kind| words::kind(&kind));
    let kind = kind.filter(|kind| kind == "bookmark")?;
    let link = entry.all(atom_ns, "link").find(|link| is_rel(link, "related"))?;
    Some(ItemObject {
        url: Some(address::absolute(link.get("href")?, &link.base(base))?),
        title: link.get("title").and_then(plain::title),
        kind: Some(kind),
        ..ItemObject::default()
    })
}

fn read_object(object: &Element, atom_ns: Ns, base: &Url) -> ItemObject {
    let base = &object.base(base);
    let mut media = Media::default();
    add_links(&mut media, object, atom_ns, base);
    media.add_media_rss(object, base);
    let text = text(object, atom_ns, base, &mut media);
    ItemObject {
        id: object.text_of(atom_ns, "id").and_then(|id| plain::title(&id)),
        title: object.first(atom_ns, "title").and_then(title),
        url: page(object, atom_ns, base),
        kind: object.text_of(Ns::Activity, "object-type").and_then(|kind| words::kind(&kind)),
        picture: media.picture(),
        text,
    }
}

/// Adds the links that show the element: a preview is small, an enclosure is the content.
fn add_links(media: &mut Media, element: &Element, atom_ns: Ns, base: &Url) {
    for link in element.all(atom_ns, "link") {
        let kind = link.get("type").unwrap_or_default();
        let shown = || picture(link, "href", &link.base(base));
        if is_rel(link, "preview") && (kind.is_empty() || kind.starts_with("image/")) {
            media.add_thumbnail(shown());
        } else if is_rel(link, "enclosure") {
            media.add_enclosure(kind, shown());
        }
    }
}
