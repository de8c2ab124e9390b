//! The rules for single fields: lengths, addresses, numbers, and what may stand in a text.

use super::{Refused, Said};
use infoset::first_illegal;
use url::Url;

/// Characters of a title.
pub(crate) const MAX_TITLE: usize = 1_000;
/// Bytes of a description.
pub(crate) const MAX_DESCRIPTION: usize = 16 * 1024;
/// Bytes of an address.
pub(crate) const MAX_URL: usize = 2_048;
/// The largest number of comments or likes.
pub(crate) const MAX_COUNT: u32 = i32::MAX as u32;

/// What was said, if anything, and if it can be shown in every representation.
pub(super) fn text<'a>(field: &str, said: &'a Said) -> Result<Option<&'a str>, Refused> {
    match said {
        Said::Nothing => Ok(None),
        Said::Other => Err(Refused::new(field, "expected a text")),
        Said::Text(text) => match first_illegal(text) {
            Some(wrong) => Err(Refused::new(
                field,
                format!("the character U+{:04X} can't be shown in XML: leave it out", u32::from(wrong)),
            )),
            None => Ok(Some(text)),
        },
    }
}

/// A text for people. One of blanks only says nothing.
pub(super) fn prose(field: &str, said: &Said) -> Result<Option<String>, Refused> {
    Ok(text(field, said)?.filter(|text| !text.trim().is_empty()).map(str::to_owned))
}

/// A title: prose of at most [`MAX_TITLE`] characters.
pub(super) fn title(field: &str, said: &Said) -> Result<Option<String>, Refused> {
    let title = prose(field, said)?;
    match title.as_ref().map(|title| title.chars().count()) {
        Some(length) if length > MAX_TITLE => {
            Err(Refused::new(field, format!("at most {MAX_TITLE} characters; this has {length}")))
        }
        _ => Ok(title),
    }
}

/// A description: prose of at most [`MAX_DESCRIPTION`] bytes.
pub(super) fn description(field: &str, said: &Said) -> Result<Option<String>, Refused> {
    let description = prose(field, said)?;
    match description.as_ref().map(String::len) {
        Some(length) if length > MAX_DESCRIPTION => {
            Err(Refused::new(field, format!("at most {MAX_DESCRIPTION} bytes; this has {length}")))
        }
        _ => Ok(description),
    }
}

/// An address that a page may link to: `http` or `https` and nothing that a browser would run.
pub(super) fn url(field: &str, said: &Said) -> Result<Option<String>, Refused> {
    let Some(text) = text(field, said)? else { return Ok(None) };
    if text.len() > MAX_URL {
        return Err(Refused::new(field, format!("an address has at most {MAX_URL} bytes")));
    }
    // The parser forgives blanks around an address and line ends within; what is kept is what was written, though.
    // And what no IRI has must be escaped by whoever writes it, or Atom would not be valid.
    let never = |c: char| c.is_whitespace() || c.is_control() || "\"<>\\^`{|}".contains(c);
    let seamless = !text.chars().any(never);
    let web = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if seamless && web {
        Ok(Some(text.to_owned()))
    } else {
        Err(Refused::new(
            field,
            "expected an address like https://example.org/page, with %20 for a space and so on",
        ))
    }
}

/// A number of comments or likes: at most [`MAX_COUNT`].
pub(super) fn count(field: &str, said: &Said) -> Result<Option<u64>, Refused> {
    let refused = || Refused::new(field, format!("expected a whole number from 0 to {MAX_COUNT}"));
    let count: Option<u32> = number(field, said).map_err(|_| refused())?;
    match count {
        Some(count) if count > MAX_COUNT => Err(refused()),
        count => Ok(count.map(u64::from)),
    }
}

/// A size: digits only.
pub(super) fn number<N: std::str::FromStr>(field: &str, said: &Said) -> Result<Option<N>, Refused> {
    let Some(text) = text(field, said)? else { return Ok(None) };
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(Some(number)),
        _ => Err(Refused::new(field, "expected a whole number, 0 or more")),
    }
}

/// `true` or `false`.
pub(super) fn flag(field: &str, said: &Said) -> Result<Option<bool>, Refused> {
    match text(field, said)? {
        None => Ok(None),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        Some(_) => Err(Refused::new(field, "expected true or false")),
    }
}
