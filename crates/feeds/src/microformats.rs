//! Reads a page as a feed: h-feed and h-entry of microformats2.
//!
//! Class prefixes mark the elements: `h-` begins a microformat, and `p-`, `u-`, `dt-` and `e-` are its
//! properties. The properties of a nested microformat do not belong to the outer one.

use crate::FeedError;
use crate::element::Element;
use crate::feed::{Feed, FeedItem, Format, ItemObject, Medium};
use crate::identity::{deduplicated, identity};
use crate::limits::{MAX_ITEMS_SCANNED, MAX_LINKS};
use crate::media::{Media, picture_at};
use crate::namespace::Ns;
use crate::{address, plain, times, tree, words};
use url::Url;

/// Reads the first h-feed of a page, otherwise the page. A page without an entry is not a feed.
pub(crate) fn feed(html: &str, address: &Url) -> Result<Feed, FeedError> {
    let page = tree::page(html)?;
    let mut head = Vec::new();
    named(&page, &["base", "link", "title"], &mut head);
    let base = head.iter().find(|one| one.is(Ns::Xhtml, "base")).and_then(|base| base.get("href"));
    let base = &base.and_then(|base| address::resolved(base, address)).unwrap_or_else(|| address.clone());

    let mut things = Vec::new();
    nested_microformats(&page, &mut things);
    let feed = things.iter().copied().find(|thing| has_class(thing, "h-feed"));
    let entries = match feed {
        Some(feed) => {
            let mut inside = Vec::new();
            for child in feed.elements() {
                outermost_microformats(child, &mut inside);
            }
            inside
        }
        None => things,
    };
    let entries: Vec<_> = entries.into_iter().filter(|thing| has_class(thing, "h-entry")).collect();
    if feed.is_none() && entries.is_empty() {
        return Err(FeedError::NotAFeed);
    }
    let items = entries.into_iter().take(MAX_ITEMS_SCANNED).map(|entry| item(entry, base));
    let link = |rel: &'static str| {
        head.iter()
            .filter(move |link| link.is(Ns::Xhtml, "link") && has_word(link.get("rel"), rel))
            .filter_map(|link| address::absolute(link.get("href")?, base))
    };
    let properties = feed.map(|feed| Properties::of(feed, base));
    let of_feed = |name| properties.as_ref().and_then(|properties| properties.url(name));
    let name = properties.as_ref().and_then(|properties| plain::title(&properties.text("name")?));
    let title_of_page =
        || head.iter().find(|one| one.is(Ns::Xhtml, "title")).and_then(|one| plain::title(&one.text()));
    Ok(Feed {
        format: Format::Html,
        title: name.or_else(title_of_page),
        site: of_feed("url").or_else(|| address::absolute(address.as_str(), address)),
        icon: of_feed("photo").or_else(|| link("icon").next()),
        hubs: link("hub").take(MAX_LINKS).collect(),
        own_address: link("self").next(),
        every: None,
        provider: None,
        items: deduplicated(items.collect()),
    })
}

fn named<'a>(element: &'a Element, names: &[&str], found: &mut Vec<&'a Element>) {
    for inner in element.elements() {
        if names.contains(&&*inner.name) {
            found.push(inner);
        }
        named(inner, names, found);
    }
}

/// The outermost microformats inside.
fn nested_microformats<'a>(element: &'a Element, found: &mut Vec<&'a Element>) {
    element.elements().for_each(|inner| outermost_microformats(inner, found));
}

fn outermost_microformats<'a>(element: &'a Element, found: &mut Vec<&'a Element>) {
    if is_microformat(element) { found.push(element) } else { nested_microformats(element, found) }
}

pub(crate) fn is_microformat(element: &Element) -> bool {
    classes(element).any(|class| {
        class.strip_prefix("h-").is_some_and(|name| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        })
    })
}

/// The most classes of an element that are examined.
const MAX_CLASSES: usize = 64;

fn classes(element: &Element) -> impl Iterator<Item = &str> {
    element.get("class").unwrap_or_default().split_ascii_whitespace().take(MAX_CLASSES)
}

fn has_class(element: &Element, class: &str) -> bool {
    classes(element).any(|one| one == class)
}

fn has_word(list: Option<&str>, word: &str) -> bool {
    list.is_some_and(|list| list.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(word)))
}

/// The properties of a microformat in document order. Values are computed on demand: there may be many, and
/// each one walks its element.
pub(crate) struct Properties<'a> {
    found: Vec<Property<'a>>,
    /// Whether a nested microformat is a property; then nothing is implied.
    has_nested: bool,
    base: &'a Url,
}

struct Property<'a> {
    prefix: &'a str,
    name: &'a str,
    element: &'a Element,
}

/// The most occurrences of a property that are tried to find one value.
const MAX_TRIES: usize = 4;

impl<'a> Properties<'a> {
    pub(crate) fn of(microformat: &'a Element, base: &'a Url) -> Properties<'a> {
        let mut properties = Properties { found: Vec::new(), has_nested: false, base };
        properties.collect(microformat);
        properties
    }

    fn collect(&mut self, element: &'a Element) {
        for inner in element.elements() {
            for class in classes(inner) {
                if let Some((prefix @ ("p" | "u" | "dt" | "e"), name)) = class.split_once('-') {
                    self.found.push(Property { prefix, name, element: inner });
                }
            }
            if is_microformat(inner) {
                self.has_nested = true;
            } else {
                self.collect(inner);
            }
        }
    }

    pub(crate) fn element(&self, name: &str) -> Option<&'a Element> {
        self.found.iter().find(|one| one.name == name).map(|one| one.element)
    }

    fn values(&self, name: &str) -> impl Iterator<Item = String> {
        let named = self.found.iter().filter(move |one| one.name == name).take(MAX_TRIES);
        named.filter_map(|one| value(one.prefix, one.element, self.base))
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.values(name).next()
    }

    /// The name of a property, also if its value is an address.
    pub(crate) fn name_of(&self, name: &str) -> Option<String> {
        value("p", self.element(name)?, self.base)
    }

    /// The value of a property that is an address, with any prefix.
    pub(crate) fn url(&self, name: &str) -> Option<String> {
        let is_address = |text: &str| text.starts_with("http://") || text.starts_with("https://");
        self.values(name)
            .find(|value| is_address(value))
            .and_then(|value| address::absolute(&value, self.base))
    }

    /// Whether a name or an address may be implied from the microformat's element.
    pub(crate) fn implies(&self, prefixes: &[&str]) -> bool {
        !self.has_nested && !self.found.iter().any(|one| prefixes.contains(&one.prefix))
    }
}

/// The value of a property by the rules for its prefix. A nested microformat has its name or address as value.
fn value(prefix: &str, element: &Element, base: &Url) -> Option<String> {
    let name = &*element.name;
    let by_value = || {
        let value = parts(element);
        value.or_else(|| match name {
            "abbr" | "link" => element.get("title").map(str::to_owned),
            "data" | "input" => element.get("value").map(str::to_owned),
            _ => None,
        })
    };
    match prefix {
        "u" if is_microformat(element) => {
            let inner = Properties::of(element, base);
            inner.url("url").or_else(|| linked(element, base))
        }
        "u" => linked(element, base)
            .or_else(|| address::absolute(&by_value().unwrap_or_else(|| element.text()), base)),
        "dt" => {
            let time = matches!(name, "time" | "ins" | "del").then(|| element.get("datetime")).flatten();
            time.map(str::to_owned).or_else(by_value).or_else(|| Some(element.text()))
        }
        "e" => plain::text_of_element(element),
        _ if is_microformat(element) => {
            let inner = Properties::of(element, base);
            inner.text("name").or_else(|| plain::text_of_element(element))
        }
        _ if matches!(name, "img" | "area") => element.get("alt").map(str::to_owned),
        _ => by_value().or_else(|| plain::text_of_element(element)),
    }
}

/// The value-class pattern: the values of nested elements, joined.
fn parts(element: &Element) -> Option<String> {
    let values: Vec<String> = element
        .elements()
        .filter(|part| has_class(part, "value") || has_class(part, "value-title"))
        .map(|part| {
            let value = part.get("datetime").or_else(|| part.get("title")).or_else(|| part.get("alt"));
            value.map_or_else(|| part.text().trim().to_owned(), str::to_owned)
        })
        .collect();
    (!values.is_empty()).then(|| values.join(" "))
}

/// The address that an element links to.
pub(crate) fn linked(element: &Element, base: &Url) -> Option<String> {
    let attributes: &[&str] = match &*element.name {
        "a" | "area" | "link" => &["href"],
        "img" | "audio" | "source" | "iframe" => &["src"],
        "video" => &["src", "poster"],
        "object" => &["data"],
        _ => &[],
    };
    attributes.iter().find_map(|name| address::absolute(element.get(name)?, base))
}

/// Response properties, each with its verb and object type.
const RESPONSES: [(&str, &str, &str); 5] = [
    ("like-of", "like", "page"),
    ("favorite-of", "favorite", "page"),
    ("repost-of", "share", "page"),
    ("bookmark-of", "save", "bookmark"),
    ("listen-of", "listen", "audio"),
];

/// Converts an h-entry into an item.
fn item(entry: &Element, base: &Url) -> FeedItem {
    let properties = Properties::of(entry, base);
    let content = properties.element("content");
    let text =
        properties.text("summary").or_else(|| properties.text("content")).and_then(|text| plain::text(&text));
    let title = title(entry, &properties, text.as_deref());
    let url = properties.url("url").or_else(|| implied_url(entry, &properties, base));
    let declared_id = properties.url("uid").or_else(|| properties.name_of("uid"));
    let response =
        RESPONSES.iter().find_map(|(property, verb, kind)| Some((properties.url(property)?, *verb, *kind)));
    let rsvp = properties.text("rsvp").map(|answer| format!("rsvp-{}", answer.trim().to_ascii_lowercase()));
    let verb = rsvp.as_deref().or(response.as_ref().map(|(_, verb, _)| *verb));
    let kind = rsvp.as_ref().map(|_| "event").or(response.as_ref().map(|(.., kind)| *kind));
    let media = media(entry, &properties, content, base);
    let in_reply_to = properties.url("in-reply-to");
    let answered = in_reply_to.clone().filter(|_| rsvp.is_some());
    let object = response.as_ref().map(|(url, ..)| url.clone()).or(answered);
    FeedItem {
        id: identity(declared_id.as_deref(), url.as_deref(), title.as_deref(), text.as_deref()),
        published: properties.text("published").and_then(|time| times::parse(&time)),
        updated: properties.text("updated").and_then(|time| times::parse(&time)),
        verb: verb.and_then(words::verb),
        kind: kind.and_then(words::kind),
        object: object.map(|url| ItemObject { url: Some(url), ..ItemObject::default() }),
        author: properties.name_of("author").and_then(|name| plain::title(&name)),
        picture: media.picture(),
        medium: media.medium(),
        comments: None,
        in_reply_to,
        title,
        text,
        url,
    }
}

/// A name that only repeats the content is not a title: pages write notes that way.
fn title(entry: &Element, properties: &Properties<'_>, text: Option<&str>) -> Option<String> {
    let implied = || {
        let is_implied = properties.implies(&["p", "e"]);
        is_implied.then(|| plain::text_of_element(entry)).flatten()
    };
    let title =
        properties.text("name").and_then(|name| plain::title(&name)).or_else(|| plain::title(&implied()?))?;
    let content = properties.text("content").or_else(|| text.map(str::to_owned));
    let content = content.and_then(|content| plain::title(&content));
    let repeats = content.is_some_and(|content| content.starts_with(title.trim_end_matches(['…', '.'])));
    (!repeats).then_some(title)
}

/// Without a declared address, the entry or its only link implies one.
fn implied_url(entry: &Element, properties: &Properties<'_>, base: &Url) -> Option<String> {
    if !properties.implies(&["u"]) {
        return None;
    }
    let mut inside = entry.elements().filter(|inner| matches!(&*inner.name, "a" | "area"));
    linked(entry, base)
        .or_else(|| inside.next().filter(|_| inside.next().is_none()).and_then(|link| linked(link, base)))
}

fn media(entry: &Element, properties: &Properties<'_>, content: Option<&Element>, base: &Url) -> Media {
    let mut media = Media::default();
    let picture = |name| properties.url(name).and_then(|url| picture_at(&url, base));
    media.add_thumbnail(picture("featured"));
    for (property, kind) in [("photo", "image"), ("video", "video"), ("audio", "audio")] {
        if properties.url(property).is_some() {
            media.add_enclosure(kind, picture(property));
        }
    }
    if media.medium() != Some(Medium::Photo) {
        media.add_inline_element(content.unwrap_or(entry), base);
    }
    media
}
