//! Atom 1.0 and the drafts before it, with threads, media and the activity extensions.

use crate::atom_object::{self, is_rel};
use crate::element::Element;
use crate::feed::{Feed, Format, Item, Provider};
use crate::identity::{each_once, identity};
use crate::limits::MAX_ITEMS_LOOKED_AT;
use crate::media::Media;
use crate::namespace::Ns;
use crate::{address, plain, times, words};
use url::Url;

/// The feed of that root element; a lone entry is a feed of one.
pub(crate) fn feed(root: &Element, address: &Url) -> Feed {
    let base = root.base(address);
    let own = atom_namespace(root);
    let alone = root.is(own, "entry").then_some(root);
    let entries = root.all(own, "entry").chain(alone).take(MAX_ITEMS_LOOKED_AT);
    let author = author(root, own);
    let items = entries.map(|entry| item(entry, own, &base, author.as_deref())).collect();
    let link = |rel: &str| links(root, own, rel, &base).next();
    Feed {
        format: Format::Atom,
        title: root.first(own, "title").and_then(title),
        site: page(root, own, &base),
        icon: ["icon", "logo"]
            .into_iter()
            .find_map(|name| root.text_of(own, name))
            .and_then(|icon| address::absolute(&icon, &base)),
        hubs: links(root, own, "hub", &base).collect(),
        own_address: link("self"),
        every: crate::rss::update_period(root),
        provider: provider(root, &base)
            .or_else(|| root.all(own, "entry").find_map(|one| provider(one, &base))),
        items: each_once(items),
    }
}

/// Elements of Atom may have the namespace of one of two versions, and in a feed of either only its own counts.
pub(crate) fn atom_namespace(root: &Element) -> Ns {
    if root.ns == Ns::Atom03 { Ns::Atom03 } else { Ns::Atom }
}

/// The addresses of the links of that relation.
pub(crate) fn links<'a>(
    element: &'a Element,
    own: Ns,
    rel: &'a str,
    base: &'a Url,
) -> impl Iterator<Item = String> + 'a {
    let links = element.all(own, "link").filter(move |link| is_rel(link, rel));
    links
        .filter_map(|link| address::absolute(link.get("href")?, &link.base(base)))
        .take(crate::limits::MAX_LINKS)
}

/// The page of a feed, entry or object: an alternate of HTML, else any alternate.
pub(crate) fn page(element: &Element, own: Ns, base: &Url) -> Option<String> {
    let alternates = || element.all(own, "link").filter(|link| is_rel(link, "alternate"));
    let is_page = |link: &&Element| link.get("type").is_none_or(|kind| kind.contains("html"));
    let link = alternates().find(is_page).or_else(|| alternates().next())?;
    address::absolute(link.get("href")?, &link.base(base))
}

fn item(entry: &Element, own: Ns, base: &Url, author_of_feed: Option<&str>) -> Item {
    let base = &entry.base(base);
    let object = atom_object::of_entry(entry, own, base);
    let url = page(entry, own, base);
    let title = entry.first(own, "title").and_then(title);
    let mut media = Media::default();
    // The picture of an object stands for its activity.
    let pictured = entry.first(Ns::Activity, "object");
    for element in [Some(entry), pictured].into_iter().flatten() {
        atom_object::add_links(&mut media, element, own, base);
        media.add_media_rss(element, base);
    }
    let text = text(entry, own, base, &mut media);
    let text = text.or_else(|| media_description(entry));
    let told = entry.text_of(own, "id");
    let source = entry.first(own, "source");
    let author = [Some(entry), source].into_iter().flatten().find_map(|one| author(one, own));
    let time = |names: [&str; 2]| names.iter().find_map(|name| times::parse(&entry.text_of(own, name)?));
    Item {
        id: identity(told.as_deref(), url.as_deref(), title.as_deref(), text.as_deref()),
        published: time(["published", "issued"]).or_else(|| times::parse(&entry.text_of(own, "created")?)),
        updated: time(["updated", "modified"]),
        verb: entry.text_of(Ns::Activity, "verb").and_then(|verb| words::verb(&verb)),
        kind: entry.text_of(Ns::Activity, "object-type").and_then(|kind| words::kind(&kind)),
        object,
        author: author.or_else(|| author_of_feed.map(str::to_owned)),
        picture: media.picture(),
        medium: media.medium(),
        comments: comments(entry, own),
        in_reply_to: reply(entry),
        title,
        text,
        url,
    }
}

/// The text of an entry or object: a summary is meant to be short, so it goes before the content.
pub(crate) fn text(element: &Element, own: Ns, base: &Url, media: &mut Media) -> Option<String> {
    let summary = element.first(own, "summary").and_then(|summary| prose(summary, base, media));
    let content = element.first(own, "content").and_then(|content| prose(content, base, media));
    summary.or(content)
}

/// The words of a text construct, whose type says how they are written.
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
    // The drafts said apart what the text is and how it is written.
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

/// What Media RSS says of an entry, as video services do.
fn media_description(entry: &Element) -> Option<String> {
    let group = entry.first(Ns::Media, "group").unwrap_or(entry);
    plain::text(&group.text_of(Ns::Media, "description")?)
}

/// Who an entry, feed or source is by: its author, else, as services had it before 1.0, its actor.
fn author(element: &Element, own: Ns) -> Option<String> {
    let actor = element.first(Ns::Activity, "actor").or_else(|| element.first(Ns::Activity, "subject"));
    [element.first(own, "author"), actor].into_iter().flatten().find_map(|person| {
        let name = person.text_of(own, "name").or_else(|| person.text_of(Ns::Contacts, "displayName"));
        name.or_else(|| person.text_of(own, "title")).and_then(|name| plain::title(&name))
    })
}

/// `service:provider`, in the feed, in the source of an entry, or, as it was before 1.0, in an entry.
fn provider(element: &Element, base: &Url) -> Option<Provider> {
    let source = element.first(Ns::Atom, "source");
    let mut places = [Some(element), source].into_iter().flatten();
    let provider = places.find_map(|place| place.first(Ns::Service, "provider"))?;
    let link = |name| provider.text_of(Ns::Atom, name).and_then(|link| address::absolute(&link, base));
    let name = plain::title(&provider.text_of(Ns::Atom, "name")?)?;
    Some(Provider { name, icon: link("icon"), site: link("uri") })
}

fn comments(entry: &Element, own: Ns) -> Option<u32> {
    let counted =
        || entry.all(own, "link").find_map(|link| link.attribute(Ns::Thread, "count")?.trim().parse().ok());
    let total = entry.text_of(Ns::Thread, "total").and_then(|total| total.parse().ok());
    total.or_else(|| entry.text_of(Ns::Slash, "comments")?.parse().ok()).or_else(counted)
}

fn reply(entry: &Element) -> Option<String> {
    let reply = entry.first(Ns::Thread, "in-reply-to")?;
    plain::title(reply.get("href").or_else(|| reply.get("ref"))?)
}
