//! RSS 2.0 and 0.9x, and RSS 1.0, which is RDF. They have the same elements with items in different places.

use crate::atom::links;
use crate::element::Element;
use crate::feed::{Feed, FeedItem, Format};
use crate::identity::{deduplicated, identity};
use crate::limits::MAX_ITEMS_SCANNED;
use crate::media::{Media, picture, picture_at};
use crate::namespace::Ns;
use crate::period::{seconds, update_period};
use crate::{address, plain, times, words};
use std::time::Duration;
use url::Url;

/// Reads the feed with this root element, if it has a channel.
pub(crate) fn feed(root: &Element, address: &Url) -> Option<Feed> {
    let rdf = root.ns == Ns::Rdf;
    let rss_ns = if rdf { Ns::Rss1 } else { Ns::None };
    let channel = root.first(rss_ns, "channel")?;
    let base = &channel.base(&root.base(address));
    // In RSS 1.0 and 0.9 items are siblings of the channel.
    let items = channel.all(rss_ns, "item").chain(root.all(rss_ns, "item")).take(MAX_ITEMS_SCANNED);
    let items = items.map(|element| item(element, rss_ns, base)).collect();
    let image = channel.first(rss_ns, "image").or_else(|| root.first(rss_ns, "image"));
    let icon = image.and_then(|image| image.text_of(rss_ns, "url"));
    let icon = icon.or_else(|| channel.first(Ns::Itunes, "image")?.get("href").map(str::to_owned));
    Some(Feed {
        format: if rdf { Format::Rdf } else { Format::Rss },
        title: channel.text_of(rss_ns, "title").and_then(|title| plain::title_of_either(&title)),
        site: link(channel, rss_ns, base),
        icon: icon.and_then(|icon| address::absolute(&icon, base)),
        hubs: links(channel, Ns::Atom, "hub", base).collect(),
        own_address: links(channel, Ns::Atom, "self", base).next(),
        every: time_to_live(channel).or_else(|| update_period(channel)),
        provider: None,
        items: deduplicated(items),
    })
}

fn item(item: &Element, rss_ns: Ns, base: &Url) -> FeedItem {
    let base = &item.base(base);
    let title = item.text_of(rss_ns, "title").or_else(|| item.text_of(Ns::Dublin, "title"));
    let title = title.and_then(|title| plain::title_of_either(&title));
    let mut media = Media::default();
    let text = text(item, rss_ns, base, &mut media);
    media.add_media_rss(item, base);
    for enclosure in item.all(rss_ns, "enclosure") {
        media.add_enclosure(enclosure.get("type").unwrap_or_default(), picture(enclosure, "url", base));
    }
    if let Some(image) = item.first(Ns::Itunes, "image").and_then(|image| image.get("href")) {
        media.add_thumbnail(picture_at(image, base));
    }
    let guid = item.first(rss_ns, "guid");
    let declared_id = guid.map(|guid| guid.text().trim().to_owned()).filter(|guid| !guid.is_empty());
    let declared_id = declared_id.or_else(|| item.attribute(Ns::Rdf, "about").map(str::to_owned));
    // A guid is the item's address unless `isPermaLink` is false.
    let permanent = || {
        let guid = guid.filter(|guid| guid.get("isPermaLink") != Some("false"))?.text();
        guid.trim().starts_with("http").then(|| address::absolute(&guid, base))?
    };
    let url = link(item, rss_ns, base).or_else(permanent);
    let author = [(Ns::Dublin, "creator"), (Ns::Itunes, "author"), (rss_ns, "author")];
    let published =
        [(rss_ns, "pubDate"), (Ns::Dublin, "date"), (Ns::DublinTerms, "created"), (Ns::Atom, "published")];
    let updated = [(Ns::Atom, "updated"), (Ns::DublinTerms, "modified")];
    let time =
        |names: &[(Ns, &str)]| names.iter().find_map(|(ns, name)| times::parse(&item.text_of(*ns, name)?));
    FeedItem {
        id: identity(declared_id.as_deref(), url.as_deref(), title.as_deref(), text.as_deref()),
        published: time(&published),
        updated: time(&updated),
        verb: item.text_of(Ns::Activity, "verb").and_then(|verb| words::verb(&verb)),
        kind: item.text_of(Ns::Activity, "object-type").and_then(|kind| words::kind(&kind)),
        object: None,
        author: author.iter().find_map(|(ns, name)| plain::title(&item.text_of(*ns, name)?)),
        picture: media.picture(),
        medium: media.medium(),
        comments: [(Ns::Slash, "comments"), (Ns::Thread, "total")]
            .iter()
            .find_map(|(ns, name)| item.text_of(*ns, name)?.parse().ok()),
        in_reply_to: item
            .first(Ns::Thread, "in-reply-to")
            .and_then(|reply| plain::title(reply.get("href").or_else(|| reply.get("ref"))?)),
        title,
        text,
        url,
    }
}

/// The text of an item: its description, otherwise its full content.
fn text(item: &Element, rss_ns: Ns, base: &Url, media: &mut Media) -> Option<String> {
    let names = [
        (rss_ns, "description"),
        (Ns::Content, "encoded"),
        (Ns::Itunes, "summary"),
        (Ns::Dublin, "description"),
    ];
    let mut text = None;
    for html in names.iter().filter_map(|(ns, name)| item.text_of(*ns, name)) {
        media.add_inline_html(&html, base);
        text = text.or_else(|| plain::text_of_html(&html));
    }
    let group = item.first(Ns::Media, "group").unwrap_or(item);
    text.or_else(|| plain::text_of_html(&group.text_of(Ns::Media, "description")?))
}

/// The link; some feeds leave it empty and have a link of Atom instead.
fn link(element: &Element, rss_ns: Ns, base: &Url) -> Option<String> {
    let address = element.text_of(rss_ns, "link").and_then(|link| address::absolute(&link, base));
    address.or_else(|| crate::atom::page(element, Ns::Atom, base))
}

/// `ttl`, in minutes.
fn time_to_live(channel: &Element) -> Option<Duration> {
    let minutes: u64 = channel.text_of(Ns::None, "ttl")?.parse().ok()?;
    seconds(minutes.checked_mul(60)?)
}
