//! An activity: somebody did something with an object on a service.
//!
//! It has two halves. The [`State`] is small, decides where the activity belongs and in which order, and is read
//! whenever the activity is about to be shown. The [`Body`] is what is shown; it is stored once and may be cached by
//! identifier and version.

use crate::{AccountName, ActivityId, Facet, Millis, ServiceName, Uid, Version};
use serde::{Deserialize, Serialize};

/// Who may see an activity, beside the actor and those whom it addresses; the wider comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Visibility {
    /// Everybody who may read a collection that it is in.
    #[default]
    Public,
    /// The actor's followers.
    Followers,
    /// Nobody else.
    Direct,
}

impl Visibility {
    /// The wider of two, where there are two.
    pub fn wider(one: Option<Visibility>, other: Option<Visibility>) -> Option<Visibility> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Followers => "followers",
            Visibility::Direct => "direct",
        }
    }

    /// Reads the word, in any case.
    pub fn parse(text: &str) -> Option<Visibility> {
        [Visibility::Public, Visibility::Followers, Visibility::Direct]
            .into_iter()
            .find(|one| text.eq_ignore_ascii_case(one.as_str()))
    }
}

/// What a version of an activity was, for those who lose sight of it by the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorAudience {
    /// Who could see it.
    pub visibility: Visibility,
    /// Whom it addressed.
    pub addressed: Vec<Uid>,
}

impl PriorAudience {
    /// What both were: whoever could see one of them.
    pub fn together(one: Option<PriorAudience>, other: Option<PriorAudience>) -> Option<PriorAudience> {
        match (one, other) {
            (Some(one), Some(other)) => {
                let mut addressed = [one.addressed, other.addressed].concat();
                addressed.sort_unstable();
                addressed.dedup();
                Some(PriorAudience { visibility: one.visibility.min(other.visibility), addressed })
            }
            (one, other) => one.or(other),
        }
    }
}

impl From<&State> for PriorAudience {
    fn from(state: &State) -> PriorAudience {
        PriorAudience { visibility: state.visibility, addressed: state.addressed.clone() }
    }
}

/// What decides where an activity is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its identifier.
    pub id: ActivityId,
    /// The version of this state and of the body that goes with it.
    pub version: Version,
    /// Who did it.
    pub actor: Uid,
    /// Service, type and verb; fixed by the first version.
    pub facet: Facet,
    /// When the service received it; fixed by the first version.
    pub received: Millis,
    /// When it was published; fixed by the first version.
    pub published: Millis,
    /// When it last changed (received, if never).
    pub updated: Millis,
    /// Taken back: in no collection any more.
    pub deleted: bool,
    /// Who may see it.
    pub visibility: Visibility,
    /// The accounts that it addresses.
    pub addressed: Vec<Uid>,
    /// It is not pushed to followers who are prepared for that: they find it among what the actor did.
    pub pulled: bool,
}

/// What is shown of an activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The identifier that the service itself gives it; with actor and service it names the activity from outside.
    pub source_id: String,
    /// A sentence for people.
    pub title: String,
    /// A longer text about the activity, where that is another one than the object's description. Only Atom shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The service, as it is shown.
    pub service: Service,
    /// What is known of comments and likes.
    pub comments: Comments,
    /// What the activity was done with.
    pub object: Object,
    /// Which of the account's connections brought it, by its name; nothing where somebody wrote it. Nobody is shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<String>,
    /// The names in `To` as they were sent: sorted, without repeats, whether an account has them or not. Equal content
    /// is judged by them, never by the accounts that they resolve to. Only the actor's export shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<AccountName>,
}

/// A source service as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// Its name.
    pub name: ServiceName,
    /// Its icon's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// Its site's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
}

/// What is known of comments and likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comments {
    /// Only whether one can comment.
    Available(bool),
    /// How many there are.
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
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A longer text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A small picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnail: Option<Thumbnail>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The address of a page about it, where that is another one than its address. Only Atom shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternate: Option<String>,
}

/// A small picture of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thumbnail {
    /// Its address.
    pub url: String,
    /// Pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
    /// Pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
}

/// Both halves together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Where it belongs.
    pub state: State,
    /// What is shown.
    pub body: Body,
}
