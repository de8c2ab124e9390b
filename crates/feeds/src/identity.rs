//! What an item is known by, so that each activity comes once: however often its feed is read, whatever else of it
//! changes, and if the feed moves from `http` to `https`.
//!
//! The rule: its identifier, else its address, else a hash of its title and text. An address of the web counts without
//! its scheme's `s`, its default port and the case of its letters; so does the case of a URN and of a UUID. Any other
//! identifier is compared letter by letter. A fragment counts: pages of changes have their items there.

use crate::feed::Item;
use crate::limits::{MAX_ID, MAX_ITEMS};
use aws_lc_rs::digest::{Context, SHA256};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;
use url::Url;

/// The identifier of an item that says this of itself.
pub(crate) fn identity(
    told: Option<&str>,
    url: Option<&str>,
    title: Option<&str>,
    text: Option<&str>,
) -> String {
    let id = told.and_then(canonical).or_else(|| url.and_then(canonical));
    id.unwrap_or_else(|| hash(&[title.unwrap_or_default(), text.unwrap_or_default()]))
}

fn canonical(written: &str) -> Option<String> {
    let words: Vec<&str> = written.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let id = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let id = match Url::parse(&id) {
        Ok(mut url) if matches!(url.scheme(), "http" | "https") => {
            // Between these two the scheme may always be changed.
            let _ = url.set_scheme("https");
            if url.port() == Some(80) {
                let _ = url.set_port(None);
            }
            url.as_str().to_ascii_lowercase()
        }
        Ok(url) if url.scheme() == "urn" => id.to_ascii_lowercase(),
        _ if is_uuid(&id) => id.to_ascii_lowercase(),
        _ => id,
    };
    match id.len() {
        0 => None,
        1..=MAX_ID => Some(id),
        _ => Some(hash(&[&id])),
    }
}

fn is_uuid(text: &str) -> bool {
    let mut groups = text.split('-');
    [8, 4, 4, 4, 12].iter().all(|length| {
        groups
            .next()
            .is_some_and(|group| group.len() == *length && group.bytes().all(|b| b.is_ascii_hexdigit()))
    }) && groups.next().is_none()
}

fn hash(parts: &[&str]) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part.as_bytes());
        // No text has this byte, so `ab`, `c` is not `a`, `bc`.
        context.update(&[0xff]);
    }
    let mut text = String::from("sha256:");
    for byte in context.finish().as_ref() {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Each identifier once, in the order of the feed: of several the one that changed last, else the first. Of more than
/// [`MAX_ITEMS`] the latest.
pub(crate) fn each_once(items: Vec<Item>) -> Vec<Item> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<Item> = Vec::new();
    for item in items {
        match places.entry(item.id.clone()) {
            Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push(item);
            }
            Entry::Occupied(place) => {
                if let Some(before) = kept.get_mut(*place.get())
                    && item.updated > before.updated
                {
                    *before = item;
                }
            }
        }
    }
    latest(kept)
}

fn latest(items: Vec<Item>) -> Vec<Item> {
    if items.len() <= MAX_ITEMS {
        return items;
    }
    let mut dated: Vec<_> = items.into_iter().enumerate().collect();
    // The sort is stable: among those without a time the first ones stay.
    dated.sort_by_key(|(_, item)| std::cmp::Reverse(item.published.max(item.updated)));
    dated.truncate(MAX_ITEMS);
    dated.sort_by_key(|(place, _)| *place);
    dated.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(told: &str) -> String {
        identity(Some(told), None, None, None)
    }

    #[test]
    fn spellings_of_one_identifier() {
        for (one, other) in [
            ("http://Example.org:80/Post?id=1", "https://example.org/post?id=1"),
            ("https://example.org:443/a", " HTTPS://EXAMPLE.ORG/A\n"),
            ("https://example.org", "http://example.org/"),
            ("https://example.org/caf%C3%A9", "https://example.org/café"),
            (
                "URN:UUID:6FA459EA-EE8A-3CA4-894E-DB77E160355E",
                "urn:uuid:6fa459ea-ee8a-3ca4-894e-db77e160355e",
            ),
            ("6FA459EA-EE8A-3CA4-894E-DB77E160355E", "6fa459ea-ee8a-3ca4-894e-db77e160355e"),
            ("post  1\t", "post 1"),
        ] {
            assert_eq!(of(one), of(other));
        }
    }

    #[test]
    fn identifiers_that_differ() {
        for (one, other) in [
            ("tag:example.org,2009:A", "tag:example.org,2009:a"),
            ("yt:video:dQw4w9WgXcQ", "yt:video:dqw4w9wgxcq"),
            ("https://example.org/changes#v1", "https://example.org/changes#v2"),
            ("https://example.org/a", "https://example.org/a/"),
            ("https://example.org:8443/a", "https://example.org/a"),
            ("Post-1", "post-1"),
        ] {
            assert_ne!(of(one), of(other));
        }
    }

    #[test]
    fn what_stands_in_for_one() {
        assert_eq!(identity(Some(" \n"), Some("http://example.org/A"), None, None), "https://example.org/a");
        let hashed = identity(None, None, Some("ab"), Some("c"));
        assert!(hashed.starts_with("sha256:") && hashed.len() == 71);
        assert_ne!(hashed, identity(None, None, Some("a"), Some("bc")));
        assert_eq!(of(&"x".repeat(512)).len(), 512);
        assert_eq!(of(&"x".repeat(513)).len(), 71);
        assert_ne!(of(&"x".repeat(513)), of(&"x".repeat(514)));
    }
}
