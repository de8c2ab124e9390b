//! What the activity extensions say an entry's activity was done with, and the links that show it.

use crate::atom::{page, text, title};
use crate::element::Element;
use crate::feed::ItemObject;
use crate::media::{Media, picture};
use crate::namespace::Ns;
use crate::{address, plain, words};
use url::Url;

/// What relations that have a registered name may also be written as.
const REGISTRY: &str = "http://www.iana.org/assignments/relation/";

/// Whether a link has that relation; one that says none is an alternate.
pub(crate) fn is_rel(link: &Element, rel: &str) -> bool {
    let said = link.get("rel").unwrap_or("alternate").trim();
    said.strip_prefix(REGISTRY).unwrap_or(said).eq_ignore_ascii_case(rel)
}

/// The object of an entry, where it is not the entry itself. A bookmark is an entry of its own, and what it marks is a
/// link.
pub(crate) fn of_entry(entry: &Element, own: Ns, base: &Url) -> Option<ItemObject> {
    // Before 1.0 there could be several; the first is what the title speaks of.
    if let Some(object) = entry.first(Ns::Activity, "object") {
        return Some(told(object, own, base));
    }
    let kind = entry.text_of(Ns::Activity, "object-type").and_then(|kind| words::kind(&kind));
    let kind = kind.filter(|kind| kind == "bookmark")?;
    let link = entry.all(own, "link").find(|link| is_rel(link, "related"))?;
    Some(ItemObject {
        url: Some(address::absolute(link.get("href")?, &link.base(base))?),
        title: link.get("title").and_then(plain::title),
        kind: Some(kind),
        ..ItemObject::default()
    })
}

fn told(object: &Element, own: Ns, base: &Url) -> ItemObject {
    let base = &object.base(base);
    let mut media = Media::default();
    add_links(&mut media, object, own, base);
    media.add_media_rss(object, base);
    let text = text(object, own, base, &mut media);
    ItemObject {
        id: object.text_of(own, "id").and_then(|id| plain::title(&id)),
        title: object.first(own, "title").and_then(title),
        url: page(object, own, base),
        kind: object.text_of(Ns::Activity, "object-type").and_then(|kind| words::kind(&kind)),
        picture: media.picture(),
        text,
    }
}

/// The links that show something: previews are small, enclosures are the thing itself.
pub(crate) fn add_links(media: &mut Media, element: &Element, own: Ns, base: &Url) {
    for link in element.all(own, "link") {
        let kind = link.get("type").unwrap_or_default();
        let shown = || picture(link, "href", &link.base(base));
        if is_rel(link, "preview") && (kind.is_empty() || kind.starts_with("image/")) {
            media.add_thumbnail(shown());
        } else if is_rel(link, "enclosure") {
            media.add_enclosure(kind, shown());
        }
    }
}
