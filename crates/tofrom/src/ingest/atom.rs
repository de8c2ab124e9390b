//! Activities as Atom entries, with the extensions of activity streams: what the service writes, and what others wrote
//! who went by the same drafts.
//!
//! Names are compared by namespace, never by prefix. Author, actor, the entry's links and its time of change are
//! ignored: the service knows better. The entry's `id` is the `SourceId`, which counts where no address gives one. An
//! entry always says its own summary and the alternate link of its object: an entry without them removes them.

mod feed;

use super::element::{only, said};
use super::read::other_root;
use super::{RawActivity, RawObject, RawService, RawThumbnail, Said, Unreadable};
use infoset::{Element, XmlWriter};
use model::{Kind, parse_category};
use quick_xml::escape::unescape;

pub(super) use feed::read as feed;

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ACTIVITY: &str = "http://activitystrea.ms/spec/1.0/";
const SERVICE: &str = "http://activitystrea.ms/service-provider";
const THREAD: &str = "http://purl.org/syndication/thread/1.0";
const MEDIA: &str = "http://purl.org/syndication/atommedia";

/// A relation may be written as an address below this.
const RELATIONS: &str = "http://www.iana.org/assignments/relation/";

/// What an `entry` says.
pub(super) fn entry(root: &Element) -> Result<RawActivity, Unreadable> {
    if !root.name.is(ATOM, "entry") {
        return Err(other_root(root, "an Atom entry, in Atom's namespace,"));
    }
    let object = only(root, ACTIVITY, "object")?;
    let verb = word(only(root, ACTIVITY, "verb")?);
    let kind = word(object.map(|object| only(object, ACTIVITY, "object-type")).transpose()?.flatten());
    let category = if verb == Said::Nothing || kind == Said::Nothing { category(root, &kind) } else { None };
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
        category: category.map(Said::text).unwrap_or_default(),
        verb,
        kind,
        ..RawActivity::default()
    })
}

/// A date, a number, an address: blanks around it are somebody's layout.
fn word(element: Option<&Element>) -> Said {
    match element.map(said) {
        Some(Said::Text(text)) => Said::text(text.trim()),
        other => other.unwrap_or_default(),
    }
}

/// Text for people, as it stands. HTML is taken where it is text, too: there is nowhere to keep its markup.
fn text(element: Option<&Element>) -> Result<Said, Unreadable> {
    let Some(element) = element else { return Ok(Said::Nothing) };
    let refused = || {
        let name = &element.name.local;
        Unreadable::malformed(format!("{name}: expected type=\"text\", or HTML without any markup"))
    };
    match (element.attribute("", "type").unwrap_or("text"), said(element)) {
        ("text", said) => Ok(said),
        ("html", Said::Text(html)) if !html.contains('<') => {
            unescape(&html).map(Said::text).map_err(|_| refused())
        }
        ("html", Said::Nothing) => Ok(Said::Nothing),
        _ => Err(refused()),
    }
}

/// The entry's own summary, which others write in HTML: the text that people would read is taken.
fn summary(element: Option<&Element>) -> Result<Said, Unreadable> {
    let taken = text(element);
    let (Err(_), Some(element)) = (&taken, element) else { return taken };
    let markup = match element.attribute("", "type") {
        Some("html") => element.text(),
        Some("xhtml") => {
            let mut writer = XmlWriter::fragment();
            element.emit(&mut writer);
            String::from_utf8_lossy(&writer.finish()).into_owned()
        }
        _ => return taken,
    };
    Ok(feeds::text_of_html(&markup).map(Said::text).unwrap_or_default())
}

/// Of the categories, which may be anybody's, the first that tells a type and a verb.
fn category<'a>(root: &'a Element, kind: &Said) -> Option<&'a str> {
    let kind = if let Said::Text(kind) = kind { Kind::parse(kind) } else { None };
    root.elements()
        .filter(|element| element.name.is(ATOM, "category"))
        .filter_map(|element| element.attribute("", "term"))
        .find(|term| parse_category(term, kind.as_ref()).is_some())
}

/// What the object's element would be called in XML; nothing where neither type nor category tells.
fn object_name(kind: &Said, category: Option<&str>) -> String {
    let kind = match kind {
        Said::Text(kind) => Kind::parse(kind),
        _ => category.and_then(|term| parse_category(term, None)).map(|(kind, _)| kind),
    };
    kind.map(|kind| kind.element()).unwrap_or_default()
}

/// The service, if it is named here.
fn provider(parent: &Element) -> Result<Option<RawService>, Unreadable> {
    let Some(provider) = only(parent, SERVICE, "provider")? else { return Ok(None) };
    Ok(Some(RawService {
        name: only(provider, ATOM, "name")?.map(said).unwrap_or_default(),
        icon: word(only(provider, ATOM, "icon")?),
        website: word(only(provider, ATOM, "uri")?),
    }))
}

fn object(object: &Element) -> Result<RawObject, Unreadable> {
    let address = |rel: &str| links(object, rel).find_map(|link| link.attribute("", "href"));
    let page = links(object, "alternate").filter(is_page).find_map(|link| link.attribute("", "href"));
    let said = |url: Option<&str>| url.map(|url| Said::text(url.trim())).unwrap_or_default();
    let thumbnail = links(object, "preview").next().map(|preview| {
        let said = |namespace: &str, name: &str| {
            preview.attribute(namespace, name).map(|value| Said::text(value.trim())).unwrap_or_default()
        };
        RawThumbnail { url: said("", "href"), height: said(MEDIA, "height"), width: said(MEDIA, "width") }
    });
    Ok(RawObject {
        title: text(only(object, ATOM, "title")?)?,
        description: text(only(object, ATOM, "summary")?)?,
        thumbnail: thumbnail.unwrap_or_default(),
        // What a bookmark leads to is related to it; any other object has a page of its own.
        url: said(address("related").or(page).or_else(|| address("alternate"))),
        alternate: Some(said(page)),
    })
}

/// The links of a relation; Atom allows any number of them.
fn links<'a>(parent: &'a Element, rel: &str) -> impl Iterator<Item = &'a Element> {
    parent.elements().filter(|element| element.name.is(ATOM, "link")).filter(move |link| {
        let found = link.attribute("", "rel").unwrap_or("alternate").trim();
        found.strip_prefix(RELATIONS).unwrap_or(found).eq_ignore_ascii_case(rel)
    })
}

/// Whether a link leads to a page for people; one that says nothing of its type may.
fn is_page(link: &&Element) -> bool {
    let media_type = link.attribute("", "type").unwrap_or("text/html");
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    ["text/html", "application/xhtml+xml", "text/xhtml"].iter().any(|page| essence.eq_ignore_ascii_case(page))
}

#[cfg(test)]
mod tests;
