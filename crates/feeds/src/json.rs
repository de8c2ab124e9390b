//! JSON Feed 1.0 and 1.1.

use crate::FeedError;
use crate::error::shortened;
use crate::feed::{Feed, FeedItem, Format, ItemObject};
use crate::identity::{deduplicated, identity};
use crate::json_raw::{List, Object, RawAuthor, RawFeed, RawItem, Text};
use crate::limits::MAX_LINKS;
use crate::media::{Media, picture_at};
use crate::{address, plain, times};
use url::Url;

/// Reads a JSON Feed. Its `version` member must name JSON Feed.
pub(crate) fn feed(text: &str, address: &Url) -> Result<Feed, FeedError> {
    let raw: RawFeed =
        serde_json::from_str(text).map_err(|error| FeedError::Broken(shortened(&error.to_string())))?;
    if !raw.version.get().is_some_and(|version| version.contains("jsonfeed.org/version/")) {
        return Err(FeedError::NotAFeed);
    }
    let absolute = |text: &Text| text.get().and_then(|link| address::absolute(link, address));
    let author = author(&raw.authors, &raw.author);
    let items = raw.items.0.iter().map(|raw| item(raw, address, author.as_deref()));
    Ok(Feed {
        format: Format::Json,
        title: raw.title.get().and_then(plain::title),
        site: absolute(&raw.home_page_url),
        icon: absolute(&raw.icon).or_else(|| absolute(&raw.favicon)),
        hubs: raw.hubs.0.iter().filter_map(|hub| absolute(&hub.url)).take(MAX_LINKS).collect(),
        own_address: absolute(&raw.feed_url),
        every: None,
        provider: None,
        items: deduplicated(items.collect()),
    })
}

fn item(raw: &RawItem, base: &Url, author_of_feed: Option<&str>) -> FeedItem {
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
    FeedItem {
        id: identity(raw.id.get(), url.as_deref(), title.as_deref(), text.as_deref()),
        published: raw.date_published.get().and_then(times::parse),
        updated: raw.date_modified.get().and_then(times::parse),
        verb: None,
        // An item with an external address is a bookmark of it.
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

fn author(authors: &List<RawAuthor>, author: &Object<RawAuthor>) -> Option<String> {
    authors.0.iter().chain(&author.0).find_map(|author| plain::title(author.name.get()?))
}
