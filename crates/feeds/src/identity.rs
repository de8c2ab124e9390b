//! Stable identifiers of items, so that each item becomes one activity: across repeated reads, edits of the
//! item, and a move of the feed from `http` to `https`.
//!
//! The identifier is the declared one, otherwise the item's address, otherwise a hash of its title and text.
//! Web addresses are compared without scheme, default port and letter case; URNs and UUIDs without letter case;
//! other identifiers exactly. Fragments count because changelog pages address their items with them.

use crate::feed::FeedItem;
use crate::limits::{MAX_ID, MAX_ITEMS};
use aws_lc_rs::digest::{Context, SHA256};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use url::Url;

/// The identifier of an item with these properties.
pub(crate) fn identity(
    declared_id: Option<&str>,
    url: Option<&str>,
    title: Option<&str>,
    text: Option<&str>,
) -> String {
    let id = declared_id.and_then(canonical).or_else(|| url.and_then(canonical));
    id.unwrap_or_else(|| hash(&[title.unwrap_or_default(), text.unwrap_or_default()]))
}

fn canonical(written: &str) -> Option<String> {
    let words: Vec<&str> = written.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let id = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let id = match Url::parse(&id) {
        Ok(mut url) if matches!(url.scheme(), "http" | "https") => {
            // Changing the scheme between http and https always succeeds.
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
        // The separator never occurs in UTF-8, so (`ab`, `c`) and (`a`, `bc`) differ.
        context.update(&[0xff]);
    }
    format!("sha256:{}", hex::encode(context.finish()))
}

/// Removes duplicate identifiers and keeps the order. Of duplicates, the most recently updated item is kept,
/// otherwise the first. Of more than [`MAX_ITEMS`] items, the latest are kept.
pub(crate) fn deduplicated(items: Vec<FeedItem>) -> Vec<FeedItem> {
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut unique: Vec<FeedItem> = Vec::new();
    for item in items {
        match positions.entry(item.id.clone()) {
            Entry::Vacant(position) => {
                position.insert(unique.len());
                unique.push(item);
            }
            Entry::Occupied(position) => {
                if let Some(before) = unique.get_mut(*position.get())
                    && item.updated > before.updated
                {
                    *before = item;
                }
            }
        }
    }
    latest(unique)
}

fn latest(items: Vec<FeedItem>) -> Vec<FeedItem> {
    if items.len() <= MAX_ITEMS {
        return items;
    }
    let mut dated: Vec<_> = items.into_iter().enumerate().collect();
    // The sort is stable: among items without a time, the first ones are kept.
    dated.sort_by_key(|(_, item)| std::cmp::Reverse(item.published.max(item.updated)));
    dated.truncate(MAX_ITEMS);
    dated.sort_by_key(|(position, _)| *position);
    dated.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(declared_id: &str) -> String {
        identity(Some(declared_id), None, None, None)
    }

    #[test]
    fn equivalent_spellings_are_equal() {
        for (left, right) in [
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
            assert_eq!(of(left), of(right));
        }
    }

    #[test]
    fn other_identifiers_are_compared_exactly() {
        for (left, right) in [
            ("tag:example.org,2009:A", "tag:example.org,2009:a"),
            ("yt:video:dQw4w9WgXcQ", "yt:video:dqw4w9wgxcq"),
            ("https://example.org/changes#v1", "https://example.org/changes#v2"),
            ("https://example.org/a", "https://example.org/a/"),
            ("https://example.org:8443/a", "https://example.org/a"),
            ("Post-1", "post-1"),
        ] {
            assert_ne!(of(left), of(right));
        }
    }

    #[test]
    fn without_an_identifier_the_address_or_a_hash_is_used() {
        assert_eq!(identity(Some(" \n"), Some("http://example.org/A"), None, None), "https://example.org/a");
        let hashed = identity(None, None, Some("ab"), Some("c"));
        assert!(hashed.starts_with("sha256:") && hashed.len() == 71);
        assert_ne!(hashed, identity(None, None, Some("a"), Some("bc")));
        assert_eq!(of(&"x".repeat(512)).len(), 512);
        assert_eq!(of(&"x".repeat(513)).len(), 71);
        assert_ne!(of(&"x".repeat(513)), of(&"x".repeat(514)));
    }
}
