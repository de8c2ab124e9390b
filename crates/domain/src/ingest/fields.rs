//! Rules for single fields: lengths, addresses, numbers, and characters.

use super::{RawValue, Refused};
use model::first_illegal;
use url::Url;

/// The maximum length of a title in characters.
pub const MAX_TITLE: usize = 1_000;
/// The maximum size of a description in bytes.
pub const MAX_DESCRIPTION: usize = 16 * 1024;
/// The maximum size of an address in bytes.
pub const MAX_URL: usize = 2_048;
/// The maximum number of comments or likes.
pub const MAX_COUNT: u32 = i32::MAX as u32;

/// The text of a field, if present. Rejects characters that some representation cannot contain.
pub(super) fn text<'a>(field: &str, value: &'a RawValue) -> Result<Option<&'a str>, Refused> {
    match value {
        RawValue::Absent => Ok(None),
        RawValue::Other => Err(Refused::new(field, "expected a string")),
        RawValue::Text(text) => match first_illegal(text) {
            Some(character) => Err(Refused::new(
                field,
                format!("the character U+{:04X} is not allowed in XML: remove it", u32::from(character)),
            )),
            None => Ok(Some(text)),
        },
    }
}

/// A text for display. Blank text counts as absent.
pub(super) fn prose(field: &str, value: &RawValue) -> Result<Option<String>, Refused> {
    Ok(text(field, value)?.filter(|text| !text.trim().is_empty()).map(str::to_owned))
}

/// A title: prose of at most [`MAX_TITLE`] characters.
pub(super) fn title(field: &str, value: &RawValue) -> Result<Option<String>, Refused> {
    let title = prose(field, value)?;
    match title.as_ref().map(|title| title.chars().count()) {
        Some(length) if length > MAX_TITLE => {
            Err(Refused::new(field, format!("expected at most {MAX_TITLE} characters, got {length}")))
        }
        _ => Ok(title),
    }
}

/// A description: prose of at most [`MAX_DESCRIPTION`] bytes.
pub(super) fn description(field: &str, value: &RawValue) -> Result<Option<String>, Refused> {
    let description = prose(field, value)?;
    match description.as_ref().map(String::len) {
        Some(length) if length > MAX_DESCRIPTION => {
            Err(Refused::new(field, format!("expected at most {MAX_DESCRIPTION} bytes, got {length}")))
        }
        _ => Ok(description),
    }
}

/// An address that a page may link to: `http` or `https`, and nothing that a browser would run.
pub(super) fn url(field: &str, value: &RawValue) -> Result<Option<String>, Refused> {
    let Some(text) = text(field, value)? else { return Ok(None) };
    if text.len() > MAX_URL {
        return Err(Refused::new(field, format!("expected at most {MAX_URL} bytes")));
    }
    // The parser tolerates surrounding blanks and line breaks, but the text is stored as written. Characters that are
    // not allowed in an IRI must be escaped by the sender, or Atom would not be valid.
    let never = |c: char| c.is_whitespace() || c.is_control() || "\"<>\\^`{|}".contains(c);
    let seamless = !text.chars().any(never);
    let web = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if seamless && web {
        Ok(Some(text.to_owned()))
    } else {
        Err(Refused::new(field, "expected an address such as https://example.org/page, percent-encoded"))
    }
}

/// A number of comments or likes: at most [`MAX_COUNT`].
pub(super) fn count(field: &str, value: &RawValue) -> Result<Option<u64>, Refused> {
    let refused = || Refused::new(field, format!("expected a whole number from 0 to {MAX_COUNT}"));
    let count: Option<u32> = number(field, value).map_err(|_| refused())?;
    match count {
        Some(count) if count > MAX_COUNT => Err(refused()),
        count => Ok(count.map(u64::from)),
    }
}

/// A number of digits only.
pub(super) fn number<N: std::str::FromStr>(field: &str, value: &RawValue) -> Result<Option<N>, Refused> {
    let Some(text) = text(field, value)? else { return Ok(None) };
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(Some(number)),
        _ => Err(Refused::new(field, "expected a whole number, 0 or more")),
    }
}

/// `true` or `false`.
pub(super) fn flag(field: &str, value: &RawValue) -> Result<Option<bool>, Refused> {
    match text(field, value)? {
        None => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        Some(_) => Err(Refused::new(field, "expected true or false")),
    }
}
