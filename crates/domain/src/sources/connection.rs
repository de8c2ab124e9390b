//! The stored state of an account's connection to a source.

use super::Address;
use model::{Millis, SourceId, Uid, Version};
use serde::{Deserialize, Serialize};
use store::{Result, StoreError};
use url::Url;

/// The maximum length of a connection's name.
const MAX_NAME: usize = 64;

/// A connection: items of a source become activities of an account.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The account.
    pub owner: Uid,
    /// Its name, unique within the account.
    pub name: String,
    /// The version of its state; `None` if it is not stored yet.
    pub version: Option<Version>,
    /// The source.
    pub source: SourceId,
    /// Whether it was removed.
    pub removed: bool,
    /// Its settings.
    pub settings: ConnectionSettings,
}

/// The settings of a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionSettings {
    /// The service of its activities. It stays when the feed moves, so that no item is imported twice.
    pub service: String,
    /// The service's icon.
    pub icon: Option<String>,
    /// The service's site.
    pub site: Option<String>,
    /// The text that it was created from.
    pub typed: String,
    /// The web page of the feed.
    pub page: Option<Address>,
    /// When it was created.
    pub made: Millis,
    /// Whether importing is paused.
    pub paused: bool,
    /// When the page was last seen to link to the account.
    pub verified: Option<Millis>,
    /// Whether it still needs the items that were in the feed before it was created.
    pub(super) awaits: bool,
}

impl ConnectionSettings {
    /// Settings of a new connection for activities on this service.
    pub(super) fn new(
        service: model::Service,
        typed: String,
        page: Option<Url>,
        now: Millis,
    ) -> ConnectionSettings {
        ConnectionSettings {
            service: service.name.as_str().to_owned(),
            icon: service.icon,
            site: service.website,
            typed,
            page: page.map(Address::from),
            made: now,
            paused: false,
            verified: None,
            awaits: true,
        }
    }
}

impl Connection {
    pub(super) fn read(stored: store::Connection) -> Result<Connection> {
        let settings = serde_json::from_slice(&stored.state)
            .map_err(|error| StoreError::Corrupt(format!("connection {}: {error}", stored.name)))?;
        Ok(Connection {
            owner: stored.owner,
            name: stored.name,
            version: Some(stored.version),
            source: stored.source,
            removed: stored.removed,
            settings,
        })
    }

    /// The record to store, with the next version.
    pub(super) fn to_stored(&self, now: Millis) -> Result<store::Connection> {
        let state =
            serde_json::to_vec(&self.settings).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(store::Connection {
            owner: self.owner,
            name: self.name.clone(),
            version: Version::next(now, self.version),
            source: self.source,
            removed: self.removed,
            state,
        })
    }
}

/// Whether this is a valid name: 1 to 64 of `a-z 0-9 . _ -`, starting with a letter or digit.
pub(crate) fn is_name(name: &str) -> bool {
    let ordinary = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|b| ordinary(b) || b"._-".contains(&b))
        && name.bytes().next().is_some_and(ordinary)
}

/// A recognisable name for the feed at this address.
pub(super) fn name_for(address: &Url) -> String {
    let host = address.host_str().unwrap_or_default().trim_start_matches("www.");
    let noise = ["feed", "feeds", "rss", "atom", "index", "xml"];
    let path = address.path_segments().into_iter().flatten();
    let words = std::iter::once(host).chain(path).flat_map(|part| {
        part.trim_end_matches(".xml")
            .trim_end_matches(".atom")
            .trim_end_matches(".rss")
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
    });
    let words: Vec<String> = words
        .map(str::to_ascii_lowercase)
        .filter(|word| !word.is_empty() && !noise.contains(&word.as_str()))
        .collect();
    let mut name = words.join("-");
    name.retain(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    name.truncate(MAX_NAME - 4);
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { "feed".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_name_is_made_of_host_and_path() {
        for (address, name) in [
            ("https://www.example.org/feed.xml", "example.org"),
            ("https://example.org/Blog/atom", "example.org-blog"),
            ("https://example.org/%F0%9F%90%99/rss", "example.org-f0-9f-90-99"),
        ] {
            let made = name_for(&Url::parse(address).unwrap());
            assert!(is_name(&made), "{made}");
            assert_eq!(made, name);
        }
    }
}
