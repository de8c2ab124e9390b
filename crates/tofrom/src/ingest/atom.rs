//! Activities as Atom entries with the activity-streams extensions, as written by this server and by others that follow
//! the same drafts.
//!
//! Names are compared by namespace, never by prefix. Author, actor, the entry's links and its update time are ignored: the
//! server has its own values. The entry's `id` is the `SourceId`, unless the request path has one. An entry always
//! includes its summary and the alternate link of its object: an entry without them removes them.

mod feed;

use super::element::{only, value_of};
use super::read::other_root;
use super::{RawActivity, RawObject, RawService, RawThumbnail, RawValue, Unreadable};
use infoset::{Element, XmlWriter};
use model::{Kind, parse_category};
use quick_xml::escape::unescape;

pub(super) use feed::read as feed;

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

#[cfg(test)]
mod tests;
