//! The object of an entry's activity, and the links that show it.

use crate::atom::{page, text, title};
use crate::element::Element;
use crate::feed::ItemObject;
use crate::media::{Media, picture};
use crate::namespace::Ns;
use crate::{address, plain, words};
use url::Url;

/// Prefix with which a registered link relation may also be written.
const REGISTRY: &str = "http://www.iana.org/assignments/relation/";

/// Whether a link has this relation. A link without `rel` is an alternate.
pub(crate) fn is_rel(link: &Element, rel: &str) -> bool {
    let rel_value = link.get("rel").unwrap_or("alternate").trim();
    rel_value.strip_prefix(REGISTRY).unwrap_or(rel_value).eq_ignore_ascii_case(rel)
}

/// The object of an entry, if it differs from the entry. A bookmark is an entry that links to its object.
pub(crate) fn of_entry(entry: &Element, atom_ns: Ns, base: &Url) -> Option<ItemObject> {
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
pub(crate) fn add_links(media: &mut Media, element: &Element, atom_ns: Ns, base: &Url) {
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
