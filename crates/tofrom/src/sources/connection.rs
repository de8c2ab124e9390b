//! What is known of an account's connection to a source.

use super::Address;
use model::{Millis, SourceId, Uid, Version};
use serde::{Deserialize, Serialize};
use store::{Result, StoreError};
use url::Url;

/// How many connections an account may have.
pub const MAX_CONNECTIONS: usize = 200;
/// Characters of a connection's name.
const MAX_NAME: usize = 64;

/// An account's settings that what a source tells becomes its activities.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Whose.
    pub owner: Uid,
    /// What the account calls it.
    pub name: String,
    /// The version of its state; `None` where nothing is stored yet.
    pub version: Option<Version>,
    /// To which source.
    pub source: SourceId,
    /// It is no more.
    pub removed: bool,
    /// The rest.
    pub settings: ConnectionSettings,
}

/// What was wished for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionSettings {
    /// The service that activities from there are done on. It stays when the feed moves, so that nothing comes twice.
    pub service: String,
    /// The service's icon.
    pub icon: Option<String>,
    /// The service's site.
    pub site: Option<String>,
    /// What the person typed.
    pub typed: String,
    /// The page that it is about.
    pub page: Option<Address>,
    /// When it was made.
    pub made: Millis,
    /// Nothing is imported for now.
    pub paused: bool,
    /// When the page was last seen to say that it is the account's.
    pub verified: Option<Millis>,
    /// It has not got what was in the feed before it was made.
    pub(super) awaits: bool,
}

impl ConnectionSettings {
    /// A settings that is made now, for activities that are done on that service.
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

    /// As it is stored, in the version that follows.
    pub(super) fn written(&self, now: Millis) -> Result<store::Connection> {
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

/// Whether that can be a connection's name: 1 to 64 of `a-z 0-9 . _ -`, beginning with a letter or digit.
pub(crate) fn is_name(name: &str) -> bool {
    let ordinary = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|b| ordinary(b) || b"._-".contains(&b))
        && name.bytes().next().is_some_and(ordinary)
}

/// A name for the feed at that address, of what people recognise in it.
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
    fn a_name_is_made_of_what_people_recognise() {
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
