//! Activities as Atom entries with the activity-streams extensions, as written by this server and by others that follow
//! the same drafts.
//!
//! Names are compared by namespace, never by prefix. Author, actor, the entry's links and its update time are ignored: the
//! server has its own values. The entry's `id` is the `SourceId`, unless the request path has one. An entry always
//! includes its summary and the alternate link of its object: an entry without them removes them.

use crate::parse::element::{only, value_of};
use crate::parse::xml::cost;
use crate::parse::{LIMITS, MAX_ENTRIES, MAX_FEED, other_root, xml};
use domain::ingest::{MAX_BODY, RawActivity, RawObject, RawService, RawThumbnail, RawValue, Unreadable};
use infoset::{Attribute, Element, Limits, Name, Namespace, Node, Sink, TreeBuilder, XmlWriter};
use model::{Kind, parse_category};
use quick_xml::escape::unescape;

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ACTIVITY: &str = "http://activitystrea.ms/spec/1.0/";
const SERVICE: &str = "http://activitystrea.ms/service-provider";
const THREAD: &str = "http://purl.org/syndication/thread/1.0";
const MEDIA: &str = "http://purl.org/syndication/atommedia";

/// A link relation may also be written as an address below this one.
const RELATIONS: &str = "http://www.iana.org/assignments/relation/";

/// Parses an `entry` element.
pub(super) fn entry(root: &Element) -> Result<RawActivity, Unreadable> {
    if !root.name.is(ATOM, "entry") {
        return Err(other_root(root, "an Atom entry, in Atom's namespace,"));
    }
    let object = only(root, ACTIVITY, "object")?;
    let verb = word(only(root, ACTIVITY, "verb")?);
    let kind = word(object.map(|object| only(object, ACTIVITY, "object-type")).transpose()?.flatten());
    let category =
        if verb == RawValue::Absent || kind == RawValue::Absent { category(root, &kind) } else { None };
    let source = only(root, ATOM, "source")?;
    Ok(RawActivity {
        source_id: word(only(root, ATOM, "id")?),
        title: text(only(root, ATOM, "title")?)?,
        summary: Some(summary(only(root, ATOM, "summary")?)?),
        service: provider(root)?.or(source.map(provider).transpose()?.flatten()).unwrap_or_default(),
        comment_count: word(only(root, THREAD, "total")?),
        published: word(only(root, ATOM, "published")?),
        objects: match object {
            Some(element) => vec![(object_name(&kind, category), self::object(element)?)],
            None => Vec::new(),
        },
        category: category.map(RawValue::text).unwrap_or_default(),
        verb,
        kind,
        ..RawActivity::default()
    })
}

/// A date, number or address, without surrounding blanks.
fn word(element: Option<&Element>) -> RawValue {
    match element.map(value_of) {
        Some(RawValue::Text(text)) => RawValue::text(text.trim()),
        other => other.unwrap_or_default(),
    }
}

/// Text for display, as it is. HTML is accepted only without markup, because there is no field to store markup.
fn text(element: Option<&Element>) -> Result<RawValue, Unreadable> {
    let Some(element) = element else { return Ok(RawValue::Absent) };
    let refused = || {
        let name = &element.name.local;
        Unreadable::malformed(format!("{name}: expected type=\"text\", or HTML without any markup"))
    };
    match (element.attribute("", "type").unwrap_or("text"), value_of(element)) {
        ("text", value) => Ok(value),
        ("html", RawValue::Text(html)) if !html.contains('<') => {
            unescape(&html).map(RawValue::text).map_err(|_| refused())
        }
        ("html", RawValue::Absent) => Ok(RawValue::Absent),
        _ => Err(refused()),
    }
}

/// The summary of the entry. Others write it in HTML, so its text content is used.
fn summary(element: Option<&Element>) -> Result<RawValue, Unreadable> {
    let parsed = text(element);
    let (Err(_), Some(element)) = (&parsed, element) else { return parsed };
    let markup = match element.attribute("", "type") {
        Some("html") => element.text(),
        Some("xhtml") => {
            let mut writer = XmlWriter::fragment();
            element.emit(&mut writer);
            String::from_utf8_lossy(&writer.finish()).into_owned()
        }
        _ => return parsed,
    };
    Ok(feeds::text_of_html(&markup).map(RawValue::text).unwrap_or_default())
}

/// The first category that contains a type and a verb. Categories of others are ignored.
fn category<'a>(root: &'a Element, kind: &RawValue) -> Option<&'a str> {
    let kind = if let RawValue::Text(kind) = kind { Kind::parse(kind) } else { None };
    root.elements()
        .filter(|element| element.name.is(ATOM, "category"))
        .filter_map(|element| element.attribute("", "term"))
        .find(|term| parse_category(term, kind.as_ref()).is_some())
}

/// The name that the object's element would have in XML; empty if neither type nor category is given.
fn object_name(kind: &RawValue, category: Option<&str>) -> String {
    let kind = match kind {
        RawValue::Text(kind) => Kind::parse(kind),
        _ => category.and_then(|term| parse_category(term, None)).map(|(kind, _)| kind),
    };
    kind.map(|kind| kind.element()).unwrap_or_default()
}

/// The service, if the element names it.
fn provider(parent: &Element) -> Result<Option<RawService>, Unreadable> {
    let Some(provider) = only(parent, SERVICE, "provider")? else { return Ok(None) };
    Ok(Some(RawService {
        name: only(provider, ATOM, "name")?.map(value_of).unwrap_or_default(),
        icon: word(only(provider, ATOM, "icon")?),
        website: word(only(provider, ATOM, "uri")?),
    }))
}

fn object(object: &Element) -> Result<RawObject, Unreadable> {
    let address = |rel: &str| links(object, rel).find_map(|link| link.attribute("", "href"));
    let page = links(object, "alternate").filter(is_page).find_map(|link| link.attribute("", "href"));
    let url_value = |url: Option<&str>| url.map(|url| RawValue::text(url.trim())).unwrap_or_default();
    let thumbnail = links(object, "preview").next().map(|preview| {
        let attribute_value = |namespace: &str, name: &str| {
            preview.attribute(namespace, name).map(|value| RawValue::text(value.trim())).unwrap_or_default()
        };
        RawThumbnail {
            url: attribute_value("", "href"),
            height: attribute_value(MEDIA, "height"),
            width: attribute_value(MEDIA, "width"),
        }
    });
    Ok(RawObject {
        title: text(only(object, ATOM, "title")?)?,
        description: text(only(object, ATOM, "summary")?)?,
        thumbnail: thumbnail.unwrap_or_default(),
        // A bookmark points to its target with a related link; any other object has its page as the alternate link.
        url: url_value(address("related").or(page).or_else(|| address("alternate"))),
        alternate: Some(url_value(page)),
    })
}

/// The links with a relation. Atom allows any number of them.
fn links<'a>(parent: &'a Element, rel: &str) -> impl Iterator<Item = &'a Element> {
    parent.elements().filter(|element| element.name.is(ATOM, "link")).filter(move |link| {
        let found = link.attribute("", "rel").unwrap_or("alternate").trim();
        found.strip_prefix(RELATIONS).unwrap_or(found).eq_ignore_ascii_case(rel)
    })
}

/// Whether a link leads to a web page; one without a type may.
fn is_page(link: &&Element) -> bool {
    let media_type = link.attribute("", "type").unwrap_or("text/html");
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml", "text/xhtml"].iter().any(|page| essence.eq_ignore_ascii_case(page))
}

/// The parser limits of a whole feed; those of an entry apply to each.
const FEED_LIMITS: Limits =
    Limits { bytes: MAX_FEED, depth: LIMITS.depth + 1, output: 4 * MAX_FEED, ..LIMITS };

/// Parses the entries of a feed.
pub(super) fn feed(bytes: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    let mut feed = Feed::default();
    xml::read(bytes, &FEED_LIMITS, &mut feed)?;
    if !feed.root.name.is(ATOM, "feed") {
        return Err(other_root(&feed.root, "an Atom feed, in Atom's namespace,"));
    }
    if feed.count > MAX_ENTRIES {
        return Err(Unreadable::TooMany);
    }
    // The service of the feed applies to entries that name none. It may come after them.
    if let Some(service) = provider(&feed.root)? {
        let unnamed = |raw: &&mut RawActivity| raw.service == RawService::default();
        feed.entries.iter_mut().flatten().filter(unnamed).for_each(|raw| raw.service = service.clone());
    }
    Ok(feed.entries)
}

/// Receives the events of a feed.
#[derive(Default)]
struct Feed {
    /// The feed element itself, with nothing in it but its providers.
    root: Element,
    /// The number of open elements.
    depth: usize,
    /// The open child of the feed.
    part: Part,
    /// The number of entries.
    count: usize,
    entries: Vec<Result<RawActivity, Unreadable>>,
}

#[derive(Default)]
enum Part {
    /// An ignored element.
    #[default]
    Other,
    Entry(PartialElement),
    Provider(PartialElement),
}

/// A partially received element.
struct PartialElement {
    /// `None` if it exceeded a limit.
    tree: Option<TreeBuilder>,
    /// The bytes of text and values that are left of its budget.
    bytes: usize,
    /// How much more it may cost.
    output: usize,
}

impl PartialElement {
    fn new() -> PartialElement {
        PartialElement { tree: Some(TreeBuilder::new()), bytes: MAX_BODY, output: LIMITS.output }
    }

    /// The tree to add a node of this size and cost to; `None` if it exceeds a limit.
    fn spend(&mut self, bytes: usize, output: usize) -> Option<&mut TreeBuilder> {
        match (self.bytes.checked_sub(bytes), self.output.checked_sub(output)) {
            (Some(bytes), Some(output)) => (self.bytes, self.output) = (bytes, output),
            _ => self.tree = None,
        }
        self.tree.as_mut()
    }

    fn finish(self) -> Result<Element, Unreadable> {
        self.tree.and_then(TreeBuilder::finish).ok_or(Unreadable::TooLarge)
    }
}

impl Feed {
    fn partial(&mut self) -> Option<&mut PartialElement> {
        match &mut self.part {
            Part::Other => None,
            Part::Entry(partial) | Part::Provider(partial) => Some(partial),
        }
    }

    /// The kind of a child element of the feed.
    fn part(&mut self, name: Name<'_>) -> Part {
        match (name.namespace, name.local) {
            (ATOM, "entry") => {
                self.count += 1;
                if self.count <= MAX_ENTRIES { Part::Entry(PartialElement::new()) } else { Part::Other }
            }
            // A second provider is an error, and a third need not be kept to report it.
            (SERVICE, "provider") if self.root.children.len() < 2 => Part::Provider(PartialElement::new()),
            _ => Part::Other,
        }
    }
}

impl Sink for Feed {
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) {
        match self.depth {
            0 => self.root.name = name.into(),
            1 => self.part = self.part(name),
            _ => {}
        }
        self.depth += 1;
        let bytes = attributes.iter().map(|one| one.value.len()).sum();
        let output = cost(name, namespaces, attributes);
        if let Some(tree) = self.partial().and_then(|partial| partial.spend(bytes, output)) {
            tree.start(name, namespaces, attributes);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(tree) = self.partial().and_then(|partial| partial.spend(text.len(), text.len())) {
            tree.text(text);
        }
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if let Some(tree) = self.partial().and_then(|partial| partial.tree.as_mut()) {
            tree.end();
        }
        if self.depth == 1 {
            match std::mem::take(&mut self.part) {
                Part::Other => {}
                Part::Entry(partial) => self.entries.push(partial.finish().and_then(|tree| entry(&tree))),
                // An oversized provider counts as an empty one.
                Part::Provider(partial) => {
                    self.root.children.extend(partial.finish().map(Node::Element));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
