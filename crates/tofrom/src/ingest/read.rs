//! From a body to what it says, in whichever of the four representations it is written.
//!
//! The four agree: what one of them can say is read from each alike, so that an activity may be read in one and put
//! back in another. A body that says one thing twice is refused, because nobody can tell which of the two was meant.
//! Whatever else is in a body is looked over: a field that nobody knows today may mean something tomorrow.

use super::{MAX_BODY, RawActivity, atom, element, json, xml};
use infoset::{Element, Limits, TreeBuilder, decode};
use model::{Comments, Format};

/// The largest feed that is read, in bytes as written.
pub const MAX_FEED: usize = 8 << 20;
/// The most entries that are read of a feed.
pub const MAX_ENTRIES: usize = 1_000;

/// What one activity may cost to read. Its elements stand three deep; the rest is for what others add to it.
pub(super) const LIMITS: Limits = Limits {
    bytes: MAX_BODY,
    depth: 32,
    attributes: 64,
    table_entries: 4_096,
    string: MAX_BODY,
    output: 8 * MAX_BODY,
};

/// How much of what somebody wrote a message repeats.
const MAX_MESSAGE: usize = 300;

/// Why bytes are no activity at all, for whoever wrote them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// An activity of more than [`MAX_BODY`].
    #[error("an activity is at most 64 KiB")]
    TooLarge,
    /// A feed of more than [`MAX_FEED`] or [`MAX_ENTRIES`].
    #[error("a feed is at most 8 MiB and 1,000 entries")]
    TooMany,
    /// Not what it should be: what is wrong, and where.
    #[error("{0}")]
    Malformed(String),
}

impl Unreadable {
    /// A message that fits into an answer, whatever it repeats of the body.
    pub(super) fn malformed(what: impl AsRef<str>) -> Unreadable {
        let what = what.as_ref();
        let shown = what.chars().take(MAX_MESSAGE).map(|c| if c.is_control() { ' ' } else { c });
        let mut message: String = shown.collect();
        if message.len() < what.len() {
            message.push('…');
        }
        Unreadable::Malformed(message)
    }
}

/// The representation that a `Content-Type` names, `None` if it is none of the four.
///
/// Parameters do not matter, but for a character set: all four are written in UTF-8, and text that claims to be in
/// another would be read wrongly.
pub fn form_of(media_type: &str) -> Result<Option<Format>, Unreadable> {
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

/// Whether a name of an encoding means UTF-8.
pub(super) fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf-8") || name.eq_ignore_ascii_case("utf8")
}

/// Reads one activity that stands alone: an object in JSON, `Activity` at the root in XML and Fast Infoset, an `entry`
/// in Atom.
pub fn read_activity(bytes: &[u8], form: Format) -> Result<RawActivity, Unreadable> {
    match form {
        Format::Json => json::read(bytes),
        Format::Xml | Format::FastInfoset => element::activity(&read_element(bytes, form)?),
        Format::Atom => atom::entry(&read_element(bytes, form)?),
    }
}

/// Reads a document of elements, whatever it is about: XML text or Fast Infoset.
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
    tree.finish().ok_or_else(|| Unreadable::malformed("there is no element"))
}

/// Reads an Atom feed of many activities: what each entry says, or what is wrong with it, in their order. A bad entry
/// does not hold the others back, but a feed that is no XML holds none.
pub fn read_feed(bytes: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    if bytes.len() > MAX_FEED {
        return Err(Unreadable::TooMany);
    }
    atom::feed(bytes)
}

/// What is known of comments and likes after a body in this form `said` so, where it was `before`.
///
/// Atom has no place for likes, so they stay as they were, and so does all that an entry leaves out. Its `thr:total` is
/// 0 also where nothing is known; that tells nothing new of an activity whose comments were never counted.
pub fn counts_after(form: Format, said: Comments, before: Option<Comments>) -> Comments {
    match (form, said, before) {
        (Format::Atom, Comments::Available(_), Some(before)) => before,
        (Format::Atom, Comments::Counted { comments: 0, .. }, None) => Comments::Available(false),
        (Format::Atom, Comments::Counted { comments: 0, .. }, Some(Comments::Available(available))) => {
            Comments::Available(available)
        }
        (Format::Atom, Comments::Counted { comments, .. }, Some(Comments::Counted { likes, .. })) => {
            Comments::Counted { comments, likes }
        }
        _ => said,
    }
}

/// That `name` is no root of this form.
pub(super) fn other_root(root: &Element, expected: &str) -> Unreadable {
    Unreadable::malformed(format!("expected {expected} at the root, not {}", root.name.local))
}

#[cfg(test)]
mod tests;
