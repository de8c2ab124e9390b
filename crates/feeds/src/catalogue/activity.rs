//! Converts an item of a feed into an activity.

use super::Service;
use crate::feed::{Feed, FeedItem, Format, Medium, Picture};
use crate::limits::MAX_TITLE;
use crate::plain;
use model::{Millis, ServiceName, Verb};
use url::Url;

/// The length of an excerpt that replaces a missing title, in characters.
const EXCERPT: usize = 100;

/// Everything that an activity needs. Its object always has a title or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The item's identifier, stable across reads of the feed.
    pub id: String,
    /// A sentence for display.
    pub title: String,
    /// The verb: an infinitive.
    pub verb: String,
    /// The object's type: a short name.
    pub kind: String,
    /// The object's title.
    pub object_title: Option<String>,
    /// The object's text.
    pub object_text: Option<String>,
    /// The object's address.
    pub object_url: Option<String>,
    /// A picture of the object.
    pub picture: Option<Picture>,
    /// The publication time, if the item has one.
    pub published: Option<Millis>,
    /// The number of comments, if the item has one.
    pub comments: Option<u32>,
}

/// Converts an item by the rules of its service, or by general rules if `service` is `None`. `actor_name` is
/// the subject of the sentence in `title`.
pub fn activity(service: Option<&Service>, feed: &Feed, item: &FeedItem, actor_name: &str) -> Activity {
    let (verb, kind) = facets(service, item);
    let object = item.object.as_ref();
    let object_title = object.map_or_else(|| item.title.clone(), |object| object.title.clone());
    let object_url = object.and_then(|object| object.url.clone()).or_else(|| item.url.clone());
    let object_text = object.and_then(|object| object.text.clone()).or_else(|| item.text.clone());
    let about = object_title.clone().or_else(|| plain::shortened(object_text.as_deref()?, EXCERPT));
    // Titles of activity feeds, and of some services, are complete sentences. On a page the title is only the
    // object's title.
    let is_activity = item.verb.is_some() && feed.format != Format::Html;
    let title = match &item.title {
        Some(title) if is_activity || service.is_some_and(|service| service.sentences) => title.clone(),
        _ => sentence(actor_name, &verb, &kind, about.as_deref().or(item.title.as_deref())),
    };
    let is_nameless = object_title.is_none() && object_url.is_none();
    Activity {
        id: item.id.clone(),
        object_title: if is_nameless { about.or_else(|| Some(title.clone())) } else { object_title },
        object_url: if is_nameless { feed.site.clone() } else { object_url },
        object_text,
        picture: object.and_then(|object| object.picture.clone()).or_else(|| item.picture.clone()),
        published: item.published.or(item.updated),
        comments: item.comments,
        title,
        verb,
        kind,
    }
}

/// Verb and type: declared by the item, otherwise by the service's rules, otherwise guessed from the item's
/// content.
fn facets(service: Option<&Service>, item: &FeedItem) -> (String, String) {
    let declared_kind =
        item.object.as_ref().and_then(|object| object.kind.clone()).or_else(|| item.kind.clone());
    let (verb, kind) = match service.map(|service| service.facets_of(item)) {
        Some((verb, kind)) => (verb.to_owned(), declared_kind.unwrap_or_else(|| kind.to_owned())),
        None => {
            let kind = declared_kind.unwrap_or_else(|| guessed_kind(item).to_owned());
            let verb = if kind == "bookmark" { "share" } else { "post" };
            (verb.to_owned(), kind)
        }
    };
    (item.verb.clone().unwrap_or(verb), kind)
}

fn guessed_kind(item: &FeedItem) -> &'static str {
    match item.medium {
        // An article may have a picture.
        Some(Medium::Photo) if item.title.is_none() || item.text.is_none() => "photo",
        Some(Medium::Video) => "video",
        Some(Medium::Audio) => "audio",
        _ if item.in_reply_to.is_some() => "comment",
        _ if item.title.is_none() => "note",
        _ => "article",
    }
}

/// `Alice posted a photo: Low tide`.
fn sentence(actor_name: &str, verb: &str, kind: &str, about: Option<&str>) -> String {
    let done = Verb::parse(verb).map_or_else(|| verb.to_owned(), |verb| verb.past_tense().replace('-', " "));
    let thing = kind.replace('-', " ");
    let article = match thing.chars().next() {
        _ if thing == "audio" => "",
        Some('a' | 'e' | 'i' | 'o' | 'u') => "an ",
        _ => "a ",
    };
    let end = about.map_or_else(String::new, |about| format!(": {about}"));
    let sentence = format!("{actor_name} {done} {article}{thing}{end}");
    plain::shortened(&sentence, MAX_TITLE).unwrap_or(sentence)
}

/// The service of a feed's activities: from the catalogue, otherwise the provider that the feed names,
/// otherwise the host of its address.
pub fn source(service: Option<&Service>, feed: &Feed, address: &Url) -> Option<model::Service> {
    if let Some(service) = service {
        let name = ServiceName::parse(&service.name)?;
        return Some(model::Service {
            name,
            icon: Some(service.icon.clone()),
            website: Some(service.site.clone()),
        });
    }
    let declared =
        feed.provider.as_ref().and_then(|provider| Some((service_name(&provider.name)?, provider)));
    if let Some((name, provider)) = declared {
        let (icon, website) = (provider.icon.clone(), provider.site.clone());
        return Some(model::Service { name, icon, website });
    }
    let host = address.host_str()?;
    let name = service_name(host.strip_prefix("www.").unwrap_or(host))?;
    Some(model::Service { name, icon: feed.icon.clone(), website: feed.site.clone() })
}

/// Replaces characters that a service name may not contain.
fn service_name(written: &str) -> Option<ServiceName> {
    let name = written.replace(['/', ','], " ");
    ServiceName::parse(&plain::shortened(&name, 64)?)
}
