#![doc = include_str!("../README.md")]

mod address;
mod atom;
pub mod catalogue;
mod charset;
mod discover;
mod element;
mod error;
mod feed;
mod html;
mod identity;
mod json;
mod json_raw;
mod limits;
mod links;
mod media;
mod microformats;
mod namespace;
pub mod opml;
mod period;
mod plain;
mod read;
mod references;
mod rss;
mod times;
mod tree;
mod words;
mod xml;

pub use discover::{DiscoveredFeed, discover, rel_me};
pub use error::FeedError;
pub use feed::{Feed, FeedItem, Format, ItemObject, Medium, Picture, Provider};
pub use limits::{MAX_BYTES, MAX_ID, MAX_ITEMS, MAX_TEXT, MAX_TITLE, MAX_URL};
pub use links::{Link, links};
pub use plain::text_of_html;
pub use read::read;
