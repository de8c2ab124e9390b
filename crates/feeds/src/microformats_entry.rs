//! Converts an h-entry into an item.

use crate::element::Element;
use crate::feed::{FeedItem, ItemObject, Medium};
use crate::identity::identity;
use crate::media::{Media, picture_at};
use crate::microformats::{Properties, linked};
use crate::{plain, times, words};
use url::Url;

/// Response properties, each with its verb and object type.
const RESPONSES: [(&str, &str, &str); 5] = [
    ("like-of", "like", "page"),
    ("favorite-of", "favorite", "page"),
    ("repost-of", "share", "page"),
    ("bookmark-of", "save", "bookmark"),
    ("listen-of", "listen", "audio"),
];

pub(crate) fn item(entry: &Element, base: &Url) -> FeedItem {
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
