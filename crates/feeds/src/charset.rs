//! Decodes a document. The character set comes from the byte order mark, otherwise the `Content-Type`,
//! otherwise the document; the default is UTF-8. Invalid bytes become U+FFFD: one bad letter is no reason to
//! lose a feed.

use crate::FeedError;
use crate::error::shortened;
use crate::limits::MAX_BYTES;
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// How many bytes of a document are searched for a declared character set.
const PROLOGUE: usize = 1_024;

/// Decodes a document into text.
pub(crate) fn decoded<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Result<Cow<'a, str>, FeedError> {
    if bytes.len() > MAX_BYTES {
        return Err(FeedError::TooLarge("more than 5 MiB"));
    }
    let encoding = match Encoding::for_bom(bytes) {
        Some((encoding, _)) => encoding,
        None => declared_encoding(bytes, content_type)?,
    };
    let (text, _) = encoding.decode_with_bom_removal(bytes);
    // Text never contains NUL; pictures, archives and programs do.
    if text.contains('\0') { Err(FeedError::NotAFeed) } else { Ok(text) }
}

/// The encoding that the header or the document declares. An unknown label is ignored if the document is valid
/// UTF-8.
fn declared_encoding(bytes: &[u8], content_type: Option<&str>) -> Result<&'static Encoding, FeedError> {
    let (prologue, _) = bytes.split_at_checked(PROLOGUE).unwrap_or((bytes, &[]));
    // UTF-16: the declaration cannot be read before decoding.
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
        // A declaration that can be read as ASCII is not UTF-16, even if it says so.
        (Some(encoding), _) if encoding == UTF_16LE || encoding == UTF_16BE => Ok(UTF_8),
        (Some(encoding), _) if encoding != REPLACEMENT => Ok(encoding),
        (_, Some(label)) if std::str::from_utf8(bytes).is_err() => Err(FeedError::Charset(shortened(label))),
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

/// The value after an equals sign, with or without quotes.
fn word(text: &str) -> Option<&str> {
    let value = text.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let label = value.split(['"', '\'', ';', ' ', '>', '/', '?', '\n', '\r', '\t']).next()?;
    (!label.is_empty()).then_some(label)
}
