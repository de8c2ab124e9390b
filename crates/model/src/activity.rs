//! An activity: someone did something with an object on a service.
//!
//! It has two halves. The [`State`] is small, decides where the activity belongs and in which order, and is read
//! whenever the activity is shown. The [`Body`] is the content; it is stored once and may be cached by identifier and
//! version.

use crate::{AccountName, ActivityId, Facet, Millis, ServiceName, Uid, Version};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who may see an activity besides its actor and its recipients. The widest comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Visibility {
    /// Every reader of a collection that contains it.
    #[default]
    Public,
    /// The actor's followers.
    Followers,
    /// No one else.
    Direct,
}

impl Visibility {
    /// The wider one, or the only one.
    pub fn wider(a: Option<Visibility>, b: Option<Visibility>) -> Option<Visibility> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Followers => "followers",
            Visibility::Direct => "direct",
        }
    }

    /// Parses the name, in any case.
    pub fn parse(text: &str) -> Option<Visibility> {
        [Visibility::Public, Visibility::Followers, Visibility::Direct]
            .into_iter()
            .find(|visibility| text.eq_ignore_ascii_case(visibility.as_str()))
    }
}

/// The audience of earlier versions of an activity, which must get a retraction if they lose access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorAudience {
    /// The visibility.
    pub visibility: Visibility,
    /// The recipients.
    pub addressed: Vec<Uid>,
}

impl PriorAudience {
    /// The union of two audiences.
    pub fn union(a: Option<PriorAudience>, b: Option<PriorAudience>) -> Option<PriorAudience> {
        match (a, b) {
            (Some(a), Some(b)) => {
                let mut addressed = [a.addressed, b.addressed].concat();
                addressed.sort_unstable();
                addressed.dedup();
                Some(PriorAudience { visibility: a.visibility.min(b.visibility), addressed })
            }
            (a, b) => a.or(b),
        }
    }
}

impl From<&State> for PriorAudience {
    fn from(state: &State) -> PriorAudience {
        PriorAudience { visibility: state.visibility, addressed: state.addressed.clone() }
    }
}

/// The part of an activity that decides where it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The identifier.
    pub id: ActivityId,
    /// The version of this state and of the body that goes with it.
    pub version: Version,
    /// The actor.
    pub actor: Uid,
    /// Service, type and verb. The first version sets it.
    pub facet: Arc<Facet>,
    /// When tofrom received it. The first version sets it.
    pub received: Millis,
    /// When it was published. The first version sets it.
    pub published: Millis,
    /// When it was last changed; the time of receipt if never.
    pub updated: Millis,
    /// Whether it was deleted: it is in no collection.
    pub deleted: bool,
    /// The visibility.
    pub visibility: Visibility,
    /// The recipients.
    pub addressed: Vec<Uid>,
    /// Whether followers in pull mode find it by merging the actor's entries: fan-out does not push it to them.
    pub pulled: bool,
}

/// The content of an activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The identifier on the service. With actor and service it is the external key.
    pub source_id: String,
    /// The title, a sentence.
    pub title: String,
    /// A longer text about the activity, if it differs from the description of the object. Only Atom shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The service.
    pub service: Service,
    /// Comments and likes.
    pub comments: Comments,
    /// The object.
    pub object: Object,
    /// The name of the connection that imported it; `None` if it was submitted. It is never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
    /// The names in `To` as submitted: sorted, without duplicates, including names without an account. They are part
    /// of the fingerprint; the resolved accounts are not. Only the actor's export shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<AccountName>,
}

impl Body {
    /// The size of its texts in bytes, which counts for the quota of the actor.
    pub fn size(&self) -> u64 {
        let Body { source_id, title, summary, service, object, to, .. } = self;
        let Object { title: object_title, description, thumbnail, url, alternate } = object;
        let thumbnail = thumbnail.as_ref().map(|thumbnail| &thumbnail.url);
        let optional = [summary, &service.icon, &service.website, object_title, description, url, alternate];
        let optional = optional.into_iter().flatten().chain(thumbnail).map(String::len).sum::<usize>();
        let names = to.iter().map(|name| name.as_str().len()).sum::<usize>();
        (source_id.len() + title.len() + service.name.as_str().len() + optional + names) as u64
    }
}

/// The service on which an activity took place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// The name.
    pub name: ServiceName,
    /// The URL of the icon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// The URL of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
}

/// Comments and likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comments {
    /// Only whether comments are possible.
    Available(bool),
    /// The numbers of both.
    Counted {
        /// Comments.
        comments: u64,
        /// Likes.
        likes: u64,
    },
}

/// The object of an activity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A small image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnail: Option<Thumbnail>,
    /// The URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The URL of a page about it, if it differs from `url`. Only Atom shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternate: Option<String>,
}

/// A small image of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thumbnail {
    /// The URL.
    pub url: String,
    /// Height in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Width in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
}

/// An activity: state and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The state.
    pub state: State,
    /// The body.
    pub body: Body,
}
