//! The stored state of a source, and its move to another address.

use super::Sources;
use super::poll::PAGE;
use aws_lc_rs::digest::{SHA256, digest};
use fetcher::plan::Pace;
use model::{Millis, SourceId, Version};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use store::{Result, SHARDS, StoreError};
use url::Url;

/// How often in a row a permanent redirect must be seen before it is followed: many are there for a day by mistake.
const MIN_SIGHTINGS: u32 = 3;

/// A source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its identifier, derived from the address.
    pub id: SourceId,
    /// The version of its state; `None` if it is not stored yet.
    pub version: Option<Version>,
    /// When it is polled next; `None` if polling has stopped.
    pub due: Option<Millis>,
    /// The state that polls update.
    pub known: SourceState,
}

/// The state of a source between two polls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceState {
    /// The address of the feed.
    pub address: Address,
    /// The title of the feed.
    pub title: Option<String>,
    /// The web page of the feed.
    pub site: Option<String>,
    /// When it was last polled.
    pub checked: Option<Millis>,
    /// When a poll last found new items, and how many.
    pub news: Option<(Millis, u32)>,
    /// The error of the last poll, if it failed.
    pub error: Option<SourceError>,
    /// The source has ended: it is not polled again.
    pub ended: bool,
    /// The validators of the last fetched content.
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
    /// The items as of the last poll.
    pub(super) seen: Seen,
    pub(super) pace: Option<Pace>,
    /// A connection still needs the existing items, so the next fetch must be unconditional.
    pub(super) awaited: bool,
    /// The new address after a permanent redirect, and how often it was seen in a row.
    pub(super) moving: Option<(Address, u32)>,
    /// The subscription at its hub.
    pub(super) subscription: Option<SourceId>,
}

/// A failure of the last polls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceError {
    /// The message, as a sentence.
    pub what: String,
    /// The time of the first failure.
    pub since: Millis,
    /// The number of failures in a row.
    pub times: u32,
}

/// The items of a feed at some time: hashes of their identifiers and contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen(HashMap<u64, u64>);

impl Source {
    /// A new source.
    pub(super) fn new(mut address: Url) -> Source {
        address.set_fragment(None);
        let known = SourceState {
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

    /// The record to store, with the next version.
    pub(super) fn to_stored(&self, now: Millis) -> Result<store::Source> {
        let state =
            serde_json::to_vec(&self.known).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let version = Version::next(now, self.version);
        Ok(store::Source { id: self.id, version, shard: shard_of(self.host()), due: self.due, state })
    }

    /// Schedules a poll by that time that imports existing items for new connections.
    pub(super) fn poll_by(&mut self, by: Millis) {
        self.known.awaited = true;
        self.due = Some(self.due.map_or(by, |due| due.min(by)));
    }

    /// Schedules a poll now that imports existing items for connections that need them.
    pub(super) fn poll_now(&mut self, now: Millis) {
        self.known.awaited = true;
        self.due = Some(now);
    }

    pub(super) fn host(&self) -> &str {
        self.known.address.host_str().unwrap_or_default()
    }
}

impl Sources {
    /// Moves all connections to the new address of a feed after enough sightings. The old source stays due until all are
    /// moved, so that a crash in between is repaired.
    pub(super) async fn move_on(&self, mut source: Source) -> Result<()> {
        let Some((to, sightings)) = source.known.moving.clone() else { return Ok(()) };
        let target = id_of(&to);
        if sightings < MIN_SIGHTINGS || target == source.id {
            return Ok(());
        }
        let now = self.clock.now();
        let update = self.update_source(target, |stored| {
            let version = stored.as_ref().and_then(|stored| stored.version);
            let mut moved = stored.filter(|stored| stored.due.is_some()).unwrap_or_else(|| {
                let known = SourceState {
                    address: to.clone(),
                    moving: None,
                    subscription: None,
                    ..source.known.clone()
                };
                Source { id: target, version, due: None, known }
            });
            moved.known.awaited = true;
            moved.due = Some(now);
            Some(moved)
        });
        update.await?;
        loop {
            let page = self.store.connections_to(source.id, None, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for store::Connection { owner, name, .. } in page {
                let update = self.change_connection(owner, &name, |connection| {
                    if connection.source == source.id {
                        connection.source = target;
                        // An account that was already connected to the new source may have missed items that it will not bring again.
                        connection.settings.awaits = true;
                    }
                });
                update.await?;
            }
        }
        source.due = None;
        self.save(&mut source).await
    }
}

/// Counts how often in a row the server reported this new address.
pub(super) fn record_move(source: &mut Source, moved: Option<Url>) {
    source.known.moving = moved.map(Address::from).map(|to| match source.known.moving.take() {
        Some((before, times)) if before == to => (to, times.saturating_add(1)),
        _ => (to, 1),
    });
}

/// All sources of a host are in one shard, so that only the holder of its lease polls the host.
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
    /// Whether the item `id` had this content.
    pub(super) fn has_content(&self, id: u64, content: u64) -> bool {
        self.0.get(&id) == Some(&content)
    }

    /// Whether the item `id` was seen.
    pub(super) fn contains(&self, id: u64) -> bool {
        self.0.contains_key(&id)
    }
}

impl FromIterator<(u64, u64)> for Seen {
    fn from_iter<T: IntoIterator<Item = (u64, u64)>>(pairs: T) -> Seen {
        Seen(pairs.into_iter().collect())
    }
}

// Serialised as one string: a list of a thousand pairs of large numbers would be three times as long.
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

/// A URL that is serialised as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Address(Url);

impl From<Url> for Address {
    fn from(url: Url) -> Address {
        Address(url)
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.0.into()
    }
}

impl TryFrom<String> for Address {
    type Error = url::ParseError;

    fn try_from(text: String) -> std::result::Result<Address, url::ParseError> {
        Url::parse(&text).map(Address)
    }
}

impl Deref for Address {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
