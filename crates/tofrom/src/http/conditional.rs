//! Entity tags of pages, computed before anything is rendered.

use super::negotiate::Coding;
use crate::feed::Page;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::IF_NONE_MATCH;
use model::{Account, Format};

/// The entity tag of a page. It is weak: two responses with the same tag may differ in their links.
pub(super) fn entity_tag(owner: &Account, page: &Page, format: Format, coding: Coding) -> String {
    // One text for one call: an incremental digest costs several times as much.
    let mut shown = Vec::with_capacity(16 + page.items.len() * 32);
    shown.extend(owner.version.0.to_be_bytes());
    shown.push(u8::from(page.next.is_some()));
    for item in &page.items {
        shown.extend(item.state.id.as_bytes());
        shown.extend(item.state.version.0.to_be_bytes());
        shown.extend(item.actor.version.0.to_be_bytes());
    }
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &shown);
    let short = digest.as_ref().first_chunk::<12>().copied().unwrap_or_default();
    format!("W/\"{}.{}.{}\"", URL_SAFE_NO_PAD.encode(short), format.as_str(), coding.as_str())
}

/// Whether `If-None-Match` contains the tag (RFC 9110, 13.1.2; weak comparison).
pub(super) fn is_not_modified(headers: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    let ours = opaque(tag);
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(tags).any(|theirs| theirs == "*" || opaque(theirs) == ours)
}

/// The tags of a list. Commas inside quotes do not separate.
fn tags(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let parts = line.split(move |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(str::trim).filter(|tag| !tag.is_empty())
}
