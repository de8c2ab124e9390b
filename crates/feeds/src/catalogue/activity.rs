//! What an item of a feed is, as an activity.

use super::Service;
use crate::feed::{Feed, Format, Item, Medium, Picture};
use crate::limits::MAX_TITLE;
use crate::plain;
use model::{Millis, ServiceName, Verb};
use url::Url;

/// How much of a text stands for a title, in characters.
const EXCERPT: usize = 100;

/// Everything that an activity needs. There is a title or an address of its object, always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The item's identifier: the same whenever the feed is read.
    pub id: String,
    /// A sentence for people.
    pub title: String,
    /// What was done: an infinitive.
    pub verb: String,
    /// The type of what it was done with: a short name.
    pub kind: String,
    /// The object's title.
    pub object_title: Option<String>,
    /// The object's text.
    pub object_text: Option<String>,
    /// The object's address.
    pub object_url: Option<String>,
    /// A picture of the object.
    pub picture: Option<Picture>,
    /// When it was published, if the item says so.
    pub published: Option<Millis>,
    /// How many comments there are, if the item says so.
    pub comments: Option<u32>,
}

/// What an item is, in the words of its service. `None` as service: any feed. `named` is whom the sentence speaks of.
pub fn activity(service: Option<&Service>, feed: &Feed, item: &Item, named: &str) -> Activity {
    let (verb, kind) = facets(service, item);
    let object = item.object.as_ref();
    let object_title = object.map_or_else(|| item.title.clone(), |object| object.title.clone());
    let object_url = object.and_then(|object| object.url.clone()).or_else(|| item.url.clone());
    let object_text = object.and_then(|object| object.text.clone()).or_else(|| item.text.clone());
    let about = object_title.clone().or_else(|| plain::shortened(object_text.as_deref()?, EXCERPT));
    // A feed of activities says in its titles who did what; so do some services. On a page a title is only a title.
    let is_activity = item.verb.is_some() && feed.format != Format::Html;
    let title = match &item.title {
        Some(title) if is_activity || service.is_some_and(|service| service.sentences) => title.clone(),
        _ => sentence(named, &verb, &kind, about.as_deref().or(item.title.as_deref())),
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

/// What the item says itself, else what its service's rules say of it, else what it looks like.
fn facets(service: Option<&Service>, item: &Item) -> (String, String) {
    let told = item.object.as_ref().and_then(|object| object.kind.clone()).or_else(|| item.kind.clone());
    let (verb, kind) = match service.map(|service| service.facets_of(item)) {
        Some((verb, kind)) => (verb.to_owned(), told.unwrap_or_else(|| kind.to_owned())),
        None => {
            let kind = told.unwrap_or_else(|| looks_like(item).to_owned());
            let verb = if kind == "bookmark" { "share" } else { "post" };
            (verb.to_owned(), kind)
        }
    };
    (item.verb.clone().unwrap_or(verb), kind)
}

fn looks_like(item: &Item) -> &'static str {
    match item.medium {
        // An article with a picture is an article.
        Some(Medium::Photo) if item.title.is_none() || item.text.is_none() => "photo",
        Some(Medium::Video) => "video",
        Some(Medium::Audio) => "audio",
        _ if item.in_reply_to.is_some() => "comment",
        _ if item.title.is_none() => "note",
        _ => "article",
    }
}

/// `Alice posted a photo: Low tide`.
fn sentence(named: &str, verb: &str, kind: &str, about: Option<&str>) -> String {
    let done = Verb::parse(verb).map_or_else(|| verb.to_owned(), |verb| verb.past_tense().replace('-', " "));
    let thing = kind.replace('-', " ");
    let article = match thing.chars().next() {
        _ if thing == "audio" => "",
        Some('a' | 'e' | 'i' | 'o' | 'u') => "an ",
        _ => "a ",
    };
    let end = about.map_or_else(String::new, |about| format!(": {about}"));
    let sentence = format!("{named} {done} {article}{thing}{end}");
    plain::shortened(&sentence, MAX_TITLE).unwrap_or(sentence)
}

/// The service that activities of a feed are of, as it is shown: of the catalogue, else what the feed says it comes
/// from, else the host of its address.
pub fn source(service: Option<&Service>, feed: &Feed, address: &Url) -> Option<model::Service> {
    if let Some(service) = service {
        let name = ServiceName::parse(&service.name)?;
        return Some(model::Service {
            name,
            icon: Some(service.icon.clone()),
            website: Some(service.site.clone()),
        });
    }
    let told = feed.provider.as_ref().and_then(|provider| Some((service_name(&provider.name)?, provider)));
    if let Some((name, provider)) = told {
        let (icon, website) = (provider.icon.clone(), provider.site.clone());
        return Some(model::Service { name, icon, website });
    }
    let host = address.host_str()?;
    let name = service_name(host.strip_prefix("www.").unwrap_or(host))?;
    Some(model::Service { name, icon: feed.icon.clone(), website: feed.site.clone() })
}

/// A name without what no service's name has.
fn service_name(written: &str) -> Option<ServiceName> {
    let name = written.replace(['/', ','], " ");
    ServiceName::parse(&plain::shortened(&name, 64)?)
}
