//! What is known of a source.

use super::Address;
use aws_lc_rs::digest::{SHA256, digest};
use fetcher::plan::Pace;
use model::{Millis, SourceId, Version};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use store::{Result, SHARDS, StoreError};
use url::Url;

/// A source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Tells it from others.
    pub id: SourceId,
    /// The version of its state; `None` where nothing is stored yet.
    pub version: Option<Version>,
    /// When it is outcome at next; `None`: not any more.
    pub due: Option<Millis>,
    /// The rest.
    pub known: Known,
}

/// What is remembered of a source between two looks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Known {
    /// Where it is fetched.
    pub address: Address,
    /// What it calls itself.
    pub title: Option<String>,
    /// The page that it is the feed of.
    pub site: Option<String>,
    /// When it was last outcome at.
    pub checked: Option<Millis>,
    /// When there was last something new, and how much.
    pub news: Option<(Millis, u32)>,
    /// What went wrong at the last look, and since when it does.
    pub error: Option<SourceError>,
    /// It is over: nothing more comes from there.
    pub ended: bool,
    /// What its server calls what was fetched last.
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
    /// What was in it at the last look.
    pub(super) seen: Seen,
    pub(super) pace: Option<Pace>,
    /// Somebody was connected who has not got what is there already: it must be fetched though it did not change.
    pub(super) awaited: bool,
    /// Where its server says that it has moved to for good, and how often it said so.
    pub(super) moving: Option<(Address, u32)>,
    /// What is agreed with the hub that tells of its news.
    pub(super) subscription: Option<SourceId>,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceError {
    /// In a sentence for people.
    pub what: String,
    /// Since when.
    pub since: Millis,
    /// How many times in a row.
    pub times: u32,
}

/// The items of a feed at some time: hashes of their identifiers, each with one of the content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen(HashMap<u64, u64>);

impl Source {
    /// A source of which nothing is known but its address.
    pub(super) fn new(mut address: Url) -> Source {
        address.set_fragment(None);
        let known = Known {
            title: None,
            site: None,
            checked: None,
            news: None,
            error: None,
            ended: false,
            etag: None,
            modified: None,
            seen: Seen::default(),
            pace: None,
            awaited: true,
            moving: None,
            subscription: None,
            address: address.into(),
        };
        Source { id: id_of(&known.address), version: None, due: None, known }
    }

    pub(super) fn read(stored: store::Source) -> Result<Source> {
        let known = serde_json::from_slice(&stored.state)
            .map_err(|error| StoreError::Corrupt(format!("source {}: {error}", stored.id)))?;
        Ok(Source { id: stored.id, version: Some(stored.version), due: stored.due, known })
    }

    /// As it is stored, in the version that follows.
    pub(super) fn written(&self, now: Millis) -> Result<store::Source> {
        let state =
            serde_json::to_vec(&self.known).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let version = Version::next(now, self.version);
        Ok(store::Source { id: self.id, version, shard: shard_of(self.host()), due: self.due, state })
    }

    /// Has it outcome at by then, and imported to somebody who has not got what is there.
    pub(super) fn is_awaited_by(&mut self, by: Millis) {
        self.known.awaited = true;
        self.due = Some(self.due.map_or(by, |due| due.min(by)));
    }

    /// Has it outcome at as soon as possible, and imported to every connection that has not got all of it.
    pub(super) fn is_due_at_once(&mut self, now: Millis) {
        self.known.awaited = true;
        self.due = Some(now);
    }

    pub(super) fn host(&self) -> &str {
        self.known.address.host_str().unwrap_or_default()
    }
}

/// All sources of a host are in one shard, so that who has its lease is alone with the host.
fn shard_of(host: &str) -> u16 {
    let hash = digest(&SHA256, host.as_bytes());
    let [high, low] = hash.as_ref().first_chunk().copied().unwrap_or_default();
    u16::from_be_bytes([high, low]) % SHARDS
}

pub(super) fn id_of(address: &Url) -> SourceId {
    let hash = digest(&SHA256, address.as_str().as_bytes());
    SourceId(hash.as_ref().first_chunk().copied().unwrap_or_default())
}

pub(super) fn hash_of(text: &str) -> u64 {
    let hash = digest(&SHA256, text.as_bytes());
    u64::from_be_bytes(hash.as_ref().first_chunk().copied().unwrap_or_default())
}

impl Seen {
    /// What is known by `id` now says `content`; whether it did before.
    pub(super) fn has(&self, id: u64, content: u64) -> bool {
        self.0.get(&id) == Some(&content)
    }

    /// Whether anything was known by that name.
    pub(super) fn knows(&self, id: u64) -> bool {
        self.0.contains_key(&id)
    }
}

impl FromIterator<(u64, u64)> for Seen {
    fn from_iter<T: IntoIterator<Item = (u64, u64)>>(pairs: T) -> Seen {
        Seen(pairs.into_iter().collect())
    }
}

// As one text: a list of a thousand pairs of large numbers would be three times as long.
impl Serialize for Seen {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        use base64::Engine;
        let mut pairs: Vec<_> = self.0.iter().collect();
        pairs.sort_unstable();
        let bytes: Vec<u8> = pairs
            .iter()
            .flat_map(|(id, content)| [id.to_be_bytes(), content.to_be_bytes()].concat())
            .collect();
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD_NO_PAD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Seen {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Seen, D::Error> {
        use base64::Engine;
        let text = String::deserialize(deserializer)?;
        let bytes = base64::engine::general_purpose::STANDARD_NO_PAD
            .decode(text)
            .map_err(serde::de::Error::custom)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        let (pairs, _) = numbers.as_chunks::<2>();
        Ok(pairs
            .iter()
            .map(|[id, content]| (u64::from_be_bytes(*id), u64::from_be_bytes(*content)))
            .collect())
    }
}
