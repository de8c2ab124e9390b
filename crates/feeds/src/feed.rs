//! The feed that all formats are read into.
//!
//! Every text is plain and bounded, and every address is absolute and `http` or `https`, so all of it is safe
//! to display.

use model::Millis;
use std::time::Duration;

/// A feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The format of the document.
    pub format: Format,
    /// Its title.
    pub title: Option<String>,
    /// The page that it is the feed of.
    pub site: Option<String>,
    /// A small picture for display.
    pub icon: Option<String>,
    /// WebSub hubs that notify subscribers.
    pub hubs: Vec<String>,
    /// Its canonical address (`rel=self`), which is its topic at a hub.
    pub own_address: Option<String>,
    /// The update interval that the feed declares.
    pub every: Option<Duration>,
    /// The service that the feed names as its provider.
    pub provider: Option<Provider>,
    /// Its items in document order, without duplicate identifiers.
    pub items: Vec<FeedItem>,
}

/// The format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Atom 1.0 and its drafts.
    Atom,
    /// RSS 2.0 and 0.9x.
    Rss,
    /// RSS 1.0.
    Rdf,
    /// JSON Feed.
    Json,
    /// A page with microformats: h-feed, h-entry.
    Html,
}

/// The service that a feed names as its provider (`service:provider`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its icon's address.
    pub icon: Option<String>,
    /// Its site's address.
    pub site: Option<String>,
}

/// An item (entry) of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    /// Its identifier, stable across reads of the feed. At most [`MAX_ID`](crate::MAX_ID) bytes without control
    /// characters, never empty.
    pub id: String,
    /// Its title, on one line.
    pub title: Option<String>,
    /// Its text, with a line for each paragraph.
    pub text: Option<String>,
    /// Its page.
    pub url: Option<String>,
    /// The publication time.
    pub published: Option<Millis>,
    /// The time of the last change.
    pub updated: Option<Millis>,
    /// The declared verb, if there is one: an infinitive.
    pub verb: Option<String>,
    /// The declared object type, if there is one: a short name.
    pub kind: Option<String>,
    /// The object, if it differs from the item.
    pub object: Option<ItemObject>,
    /// The author's name.
    pub author: Option<String>,
    /// A picture of it.
    pub picture: Option<Picture>,
    /// The enclosed medium: a photo, a video, a recording.
    pub medium: Option<Medium>,
    /// The number of comments.
    pub comments: Option<u32>,
    /// The identifier or address of the item that this one replies to.
    pub in_reply_to: Option<String>,
}

/// The object of an activity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemObject {
    /// Its identifier at its service.
    pub id: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its text.
    pub text: Option<String>,
    /// Its page.
    pub url: Option<String>,
    /// Its type: a short name.
    pub kind: Option<String>,
    /// A picture of it.
    pub picture: Option<Picture>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Its address.
    pub url: String,
    /// Pixels.
    pub width: Option<u32>,
    /// Pixels.
    pub height: Option<u32>,
}

/// The kind of an enclosed medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Medium {
    /// A picture.
    Photo,
    /// Moving pictures.
    Video,
    /// Sound.
    Audio,
}
