//! Ingest of activities, from requests, imports and sources alike.
//!
//! Bytes are parsed into a [`RawActivity`]: the fields as written, not validated. [`json`] parses the format of exports;
//! the other formats belong to the server. [`Ingest::submit`] does the rest:
//!
//! - `accept` reads the existing claim and activity, and writes to the store;
//! - `submission` adds the fields that a later version keeps;
//! - [`normalise`] validates: a [`Draft`] is complete, within all limits and valid in every representation;
//! - `versions` makes the first or next version of it.

mod accept;
mod fields;
pub mod json;
mod normalise;
mod raw;
mod submission;
#[cfg(test)]
pub(crate) mod testing;
mod versions;

pub use accept::{Ingest, Outcome};
pub use fields::{MAX_COUNT, MAX_DESCRIPTION, MAX_TITLE, MAX_URL};
pub use normalise::{Draft, OmittedFields, counts_after, normalise};
pub use normalise::{MAX_SOURCE_ID, MAX_TO};
pub use raw::{RawActivity, RawObject, RawService, RawThumbnail, RawValue};
pub use submission::{Submission, UnknownRecipients};
pub use versions::{Randomness, first_versions};

/// The maximum size of an activity in bytes as written.
pub const MAX_BODY: usize = 64 * 1024;

/// Why an activity is rejected: the field, by its name in the API (`Bookmark.Url`), and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {detail}")]
pub struct Refused {
    /// The field.
    pub field: String,
    /// What is wrong with it and what was expected.
    pub detail: String,
}

impl Refused {
    fn new(field: impl Into<String>, detail: impl Into<String>) -> Refused {
        Refused { field: field.into(), detail: detail.into() }
    }
}

/// How many characters of a body an error message repeats.
const MAX_MESSAGE: usize = 300;

/// Why a body cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The activity is larger than [`MAX_BODY`].
    #[error("an activity is at most 64 KiB")]
    TooLarge,
    /// The feed is too large or has too many entries.
    #[error("a feed is at most 8 MiB and 1,000 entries")]
    TooMany,
    /// The body is malformed: the reason and the position.
    #[error("{0}")]
    Malformed(String),
}

impl Unreadable {
    /// A message of limited length without control characters.
    pub fn malformed(text: impl AsRef<str>) -> Unreadable {
        let text = text.as_ref();
        let shown = text.chars().take(MAX_MESSAGE).map(|c| if c.is_control() { ' ' } else { c });
        let mut message: String = shown.collect();
        if message.len() < text.len() {
            message.push('…');
        }
        Unreadable::Malformed(message)
    }
}
