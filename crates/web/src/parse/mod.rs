//! Parses a request body in one of the four formats.
//!
//! The formats agree: an activity may be read in one and sent back in another. A body with a repeated field is rejected,
//! because it is unclear which value counts. Unknown fields are ignored: they may get a meaning later.

mod atom;
mod element;
mod xml;

use domain::ingest::{MAX_BODY, RawActivity, Unreadable, json};
use infoset::{Element, Limits, TreeBuilder, decode};
use model::Format;

/// The maximum size of a feed in bytes as written.
pub const MAX_FEED: usize = 8 << 20;
/// The maximum number of entries of a feed.
pub const MAX_ENTRIES: usize = 1_000;

/// The parser limits of one activity. Its elements are three levels deep; the rest is for extensions.
pub(crate) const LIMITS: Limits = Limits {
    bytes: MAX_BODY,
    depth: 32,
    attributes: 64,
    table_entries: 4_096,
    string: MAX_BODY,
    output: 8 * MAX_BODY,
};

/// The format that a `Content-Type` names, `None` if it is not supported.
///
/// Parameters are ignored, except for the character set: all formats are UTF-8.
pub fn format_of_media_type(media_type: &str) -> Result<Option<Format>, Unreadable> {
    let mut parts = media_type.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let named = |name: &str| essence.eq_ignore_ascii_case(name);
    let form = Format::ALL.into_iter().find(|form| named(form.media_type()));
    let Some(form) = form.or_else(|| named("text/xml").then_some(Format::Xml)) else { return Ok(None) };
    let charset = parts
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches('"'));
    match charset {
        Some(other) if !is_utf8(other) => {
            Err(Unreadable::malformed(format!("expected UTF-8, not the character set {other}")))
        }
        _ => Ok(Some(form)),
    }
}

/// Whether an encoding name means UTF-8.
pub(crate) fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8")
}

/// Parses a single activity: an object in JSON, the root element `Activity` in XML and Fast Infoset, an `entry` in Atom.
pub fn read_activity(bytes: &[u8], form: Format) -> Result<RawActivity, Unreadable> {
    match form {
        Format::Json => json::read(bytes),
        Format::Xml | Format::FastInfoset => element::activity(&read_element(bytes, form)?),
        Format::Atom => atom::entry(&read_element(bytes, form)?),
        Format::ActivityStreams => Err(Unreadable::malformed("ActivityStreams 2.0 cannot be written")),
    }
}

/// Parses an XML or Fast Infoset document into elements.
pub(crate) fn read_element(bytes: &[u8], form: Format) -> Result<Element, Unreadable> {
    if bytes.len() > MAX_BODY {
        return Err(Unreadable::TooLarge);
    }
    let mut tree = TreeBuilder::new();
    if form == Format::FastInfoset {
        decode(bytes, &LIMITS, &mut tree).map_err(|wrong| Unreadable::malformed(wrong.to_string()))?;
    } else {
        xml::read(bytes, &LIMITS, &mut tree)?;
    }
    tree.finish().ok_or_else(|| Unreadable::malformed("expected a root element"))
}

/// Parses an Atom feed into its entries, each with its activity or its error, in order. An invalid entry does not affect
/// the others, but a feed that is not well-formed is rejected as a whole.
pub fn read_feed(bytes: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    if bytes.len() > MAX_FEED {
        return Err(Unreadable::TooMany);
    }
    atom::feed(bytes)
}

/// The error for an unexpected root element.
pub(crate) fn other_root(root: &Element, expected: &str) -> Unreadable {
    Unreadable::malformed(format!("expected {expected} at the root, not {}", root.name.local))
}

#[cfg(test)]
mod tests;
