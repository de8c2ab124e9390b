//! Which characters the bytes stand for: a byte order mark says it, else the `Content-Type`, else the document itself,
//! else it is UTF-8. Wrong bytes become U+FFFD: one bad letter is no reason to lose a feed.

use crate::Unreadable;
use crate::limits::MAX_BYTES;
use crate::unreadable::shortened;
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// How much of a document is searched for what it says of its own character set, in bytes.
const PROLOGUE: usize = 1_024;

/// The text of a document.
pub(crate) fn decoded<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Result<Cow<'a, str>, Unreadable> {
    if bytes.len() > MAX_BYTES {
        return Err(Unreadable::TooMuch("it has more than 5 MiB"));
    }
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None => told(bytes, content_type)?,
    };
    let (text, _) = encoding.decode_with_bom_removal(bytes);
    // No text has it, and pictures, archives and programs all do.
    if text.contains('\0') { Err(Unreadable::NotAFeed) } else { Ok(text) }
}

/// What the header, or else the document, says. Words that nobody knows do not matter where it is UTF-8 anyway.
fn told(bytes: &[u8], content_type: Option<&str>) -> Result<&'static Encoding, Unreadable> {
    let (prologue, _) = bytes.split_at_checked(PROLOGUE).unwrap_or((bytes, &[]));
    // Two bytes for each character: then the document's own words can't be read before it is decoded.
    match prologue {
        [b'<', 0, ..] => return Ok(UTF_16LE),
        [0, b'<', ..] => return Ok(UTF_16BE),
        _ => {}
    }
    let prologue = String::from_utf8_lossy(prologue).to_ascii_lowercase();
    let header = content_type.map(str::to_ascii_lowercase);
    let labels = [header.as_deref().and_then(charset), declared(&prologue), charset(&prologue)];
    let known = labels.iter().flatten().find_map(|label| Encoding::for_label(label.as_bytes()));
    match (known, labels.iter().flatten().next()) {
        // Where these words could be read, the document is not in UTF-16, whatever they say.
        (Some(encoding), _) if encoding == UTF_16LE || encoding == UTF_16BE => Ok(UTF_8),
        (Some(encoding), _) if encoding != REPLACEMENT => Ok(encoding),
        (_, Some(label)) if std::str::from_utf8(bytes).is_err() => Err(Unreadable::Charset(shortened(label))),
        _ => Ok(UTF_8),
    }
}

/// The word after `charset=`, as in a `Content-Type` or an HTML `meta`.
fn charset(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("charset")?;
    word(rest)
}

/// The `encoding` of an XML declaration.
fn declared(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<?xml")?;
    let (declaration, _) = rest.split_once("?>")?;
    let (_, rest) = declaration.split_once("encoding")?;
    word(rest)
}

/// What stands after an equals sign, in quotes or not.
fn word(text: &str) -> Option<&str> {
    let value = text.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let label = value.split(['"', '\'', ';', ' ', '>', '/', '?', '\n', '\r', '\t']).next()?;
    (!label.is_empty()).then_some(label)
}
