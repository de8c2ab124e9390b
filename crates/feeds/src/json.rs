//! JSON Feed 1.0 and 1.1.

use crate::Unreadable;
use crate::feed::{Feed, Format, Item, ItemObject};
use crate::identity::{each_once, identity};
use crate::json_raw::{Many, Object, RawAuthor, RawFeed, RawItem, Text};
use crate::limits::MAX_LINKS;
use crate::media::{Media, picture_at};
use crate::unreadable::shortened;
use crate::{address, plain, times};
use url::Url;

/// The feed of that text, if its version says that it is one.
pub(crate) fn feed(text: &str, address: &Url) -> Result<Feed, Unreadable> {
    let raw: RawFeed =
        serde_json::from_str(text).map_err(|wrong| Unreadable::Broken(shortened(&wrong.to_string())))?;
    if !raw.version.get().is_some_and(|version| version.contains("jsonfeed.org/version/")) {
        return Err(Unreadable::NotAFeed);
    }
    let absolute = |text: &Text| text.get().and_then(|link| address::absolute(link, address));
    let author = author(&raw.authors, &raw.author);
    let items = raw.items.0.iter().map(|one| item(one, address, author.as_deref()));
    Ok(Feed {
        format: Format::Json,
        title: raw.title.get().and_then(plain::title),
        site: absolute(&raw.home_page_url),
        icon: absolute(&raw.icon).or_else(|| absolute(&raw.favicon)),
        hubs: raw.hubs.0.iter().filter_map(|hub| absolute(&hub.url)).take(MAX_LINKS).collect(),
        own_address: absolute(&raw.feed_url),
        every: None,
        provider: None,
        items: each_once(items.collect()),
    })
}

fn item(raw: &RawItem, base: &Url, author_of_feed: Option<&str>) -> Item {
    let absolute = |text: &Text| text.get().and_then(|link| address::absolute(link, base));
    let mut media = Media::default();
    let image = raw.image.get().or_else(|| raw.banner_image.get());
    media.add_thumbnail(image.and_then(|image| picture_at(image, base)));
    for attachment in &raw.attachments.0 {
        let picture = attachment.url.get().and_then(|link| picture_at(link, base));
        media.add_enclosure(attachment.mime_type.get().unwrap_or_default(), picture);
    }
    if let Some(html) = raw.content_html.get() {
        media.add_inline_html(html, base);
    }
    let title = raw.title.get().and_then(plain::title);
    let summary = raw.summary.get().and_then(plain::text);
    let content = || raw.content_html.get().and_then(plain::text_of_html);
    let text = summary.or_else(content).or_else(|| raw.content_text.get().and_then(plain::text));
    let external = absolute(&raw.external_url);
    let url = absolute(&raw.url).or_else(|| external.clone());
    Item {
        id: identity(raw.id.get(), url.as_deref(), title.as_deref(), text.as_deref()),
        published: raw.date_published.get().and_then(times::parse),
        updated: raw.date_modified.get().and_then(times::parse),
        verb: None,
        // What is linked to is what the item is about: a bookmark.
        kind: external.as_ref().map(|_| "bookmark".to_owned()),
        object: external.map(|url| ItemObject {
            url: Some(url),
            title: title.clone(),
            ..ItemObject::default()
        }),
        author: author(&raw.authors, &raw.author).or_else(|| author_of_feed.map(str::to_owned)),
        picture: media.picture(),
        medium: media.medium(),
        comments: None,
        in_reply_to: None,
        title,
        text,
        url,
    }
}

fn author(authors: &Many<RawAuthor>, author: &Object<RawAuthor>) -> Option<String> {
    authors.0.iter().chain(&author.0).find_map(|author| plain::title(author.name.get()?))
}
