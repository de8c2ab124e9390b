//! What is read: one kind of feed, whatever format it came in.
//!
//! Every text is plain and bounded, every address absolute and `http` or `https`: what stands here can be shown.

use model::Millis;
use std::time::Duration;

/// A feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The format that it came in.
    pub format: Format,
    /// What it calls itself.
    pub title: Option<String>,
    /// The page that it is the feed of.
    pub site: Option<String>,
    /// A small picture that stands for it.
    pub icon: Option<String>,
    /// Hubs that tell subscribers of news (WebSub).
    pub hubs: Vec<String>,
    /// The address by which it calls itself (`rel=self`): what a hub knows it by.
    pub own_address: Option<String>,
    /// How often it asks to be read.
    pub every: Option<Duration>,
    /// The service that it says it comes from.
    pub provider: Option<Provider>,
    /// Its items, in its order; each identifier once.
    pub items: Vec<Item>,
}

/// The format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Atom 1.0, or the drafts before it.
    Atom,
    /// RSS 2.0 and what it grew out of.
    Rss,
    /// RSS 1.0.
    Rdf,
    /// JSON Feed.
    Json,
    /// A page with microformats: h-feed, h-entry.
    Html,
}

/// The service that a feed says it comes from (`service:provider`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its icon's address.
    pub icon: Option<String>,
    /// Its site's address.
    pub site: Option<String>,
}

/// An item: an entry of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is known by: the same whenever the feed is read again. At most [`MAX_ID`](crate::MAX_ID) bytes without
    /// control characters, never empty.
    pub id: String,
    /// Its title, on one line.
    pub title: Option<String>,
    /// Its text, with a line for each paragraph.
    pub text: Option<String>,
    /// Its page.
    pub url: Option<String>,
    /// When it was published.
    pub published: Option<Millis>,
    /// When it last changed.
    pub updated: Option<Millis>,
    /// What was done, if it says so: an infinitive.
    pub verb: Option<String>,
    /// The type of what it was done with, if it says so: a short name.
    pub kind: Option<String>,
    /// What it was done with, where that is not the item itself.
    pub object: Option<ItemObject>,
    /// Who did it.
    pub author: Option<String>,
    /// A picture of it.
    pub picture: Option<Picture>,
    /// What is enclosed: a photo, a video, a recording.
    pub medium: Option<Medium>,
    /// How many comments it has.
    pub comments: Option<u32>,
    /// What it answers: an identifier or an address.
    pub in_reply_to: Option<String>,
}

/// What something was done with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemObject {
    /// The identifier that it has at home.
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

/// What is enclosed in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Medium {
    /// A picture.
    Photo,
    /// Moving pictures.
    Video,
    /// Sound.
    Audio,
}
