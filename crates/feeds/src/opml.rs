//! OPML: lists of feeds, as feed readers exchange them.

use crate::element::Element;
use crate::limits::MAX_ITEMS_SCANNED;
use crate::namespace::Ns;
use crate::{FeedError, address, charset, plain, xml};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use url::Url;

/// A feed in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its title.
    pub title: Option<String>,
    /// Its address.
    pub address: Url,
    /// The page that it is the feed of.
    pub site: Option<Url>,
}

/// Reads a list: its feeds in order, from all folders, without duplicate addresses. Outlines without a web
/// address are left out.
///
/// # Errors
/// [`FeedError`] if the document is not OPML or cannot be parsed.
pub fn read(bytes: &[u8]) -> Result<Vec<Outline>, FeedError> {
    let text = charset::decoded(bytes, None)?;
    if crate::read::root_name(&text).as_deref() != Some("opml") {
        return Err(FeedError::NotAFeed);
    }
    let root = xml::root(&text)?;
    let mut outlines = Vec::new();
    for body in root.all(Ns::None, "body") {
        collect(body, &mut outlines);
    }
    let mut met = std::collections::HashSet::new();
    outlines.retain(|outline: &Outline| met.insert(outline.address.clone()));
    Ok(outlines)
}

fn collect(element: &Element, outlines: &mut Vec<Outline>) {
    for inner in element.all(Ns::None, "outline") {
        if outlines.len() >= MAX_ITEMS_SCANNED {
            return;
        }
        outlines.extend(outline(inner));
        collect(inner, outlines);
    }
}

fn outline(element: &Element) -> Option<Outline> {
    // Writers disagree on the case of these names.
    let get = |name: &str| {
        let mut attributes = element.attributes.iter();
        attributes
            .find(|attribute| attribute.ns == Ns::None && attribute.name.eq_ignore_ascii_case(name))
            .map(|attribute| attribute.value.as_str())
    };
    let address = web(get("xmlUrl")?)?;
    // A missing title is replaced by the address: a title is required.
    let text = get("text").filter(|text| web(text).as_ref() != Some(&address));
    let title = get("title").and_then(plain::title).or_else(|| plain::title(text?));
    Some(Outline { title, address, site: get("htmlUrl").and_then(web) })
}

fn web(written: &str) -> Option<Url> {
    Url::parse(written.trim()).ok().filter(address::is_web)
}

/// Writes a list that [`read`] reads back unchanged.
pub fn write(outlines: &[Outline], title: &str) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory can't fail.
    let _ = write_all(&mut writer, outlines, title);
    String::from_utf8_lossy(&writer.into_inner()).into_owned()
}

fn write_all(writer: &mut Writer<Vec<u8>>, outlines: &[Outline], title: &str) -> std::io::Result<()> {
    let start = |name: &'static str| Event::Start(BytesStart::new(name));
    let end = |name: &'static str| Event::End(BytesEnd::new(name));
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer.write_event(Event::Start(BytesStart::new("opml").with_attributes([("version", "2.0")])))?;
    writer.write_event(start("head"))?;
    writer.write_event(start("title"))?;
    writer.write_event(Event::Text(BytesText::new(&plain::title(title).unwrap_or_default())))?;
    writer.write_event(end("title"))?;
    writer.write_event(end("head"))?;
    writer.write_event(start("body"))?;
    for outline in outlines {
        let mut element = BytesStart::new("outline");
        element.push_attribute(("type", "rss"));
        let title = outline.title.as_deref().and_then(plain::title);
        element.push_attribute(("text", title.as_deref().unwrap_or(outline.address.as_str())));
        if let Some(title) = &title {
            element.push_attribute(("title", title.as_str()));
        }
        element.push_attribute(("xmlUrl", outline.address.as_str()));
        if let Some(site) = &outline.site {
            element.push_attribute(("htmlUrl", site.as_str()));
        }
        writer.write_event(Event::Empty(element))?;
    }
    writer.write_event(end("body"))?;
    writer.write_event(end("opml"))
}
