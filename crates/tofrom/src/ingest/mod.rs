//! Ingest of activities, from requests, imports and sources alike.
//!
//! Three steps, each testable alone. Only the first depends on the format of the activity:
//!
//! - parsing ([`read_activity`]) turns bytes into a [`RawActivity`]: the fields as written, not validated. JSON and Atom
//!   have a parser each; XML text and Fast Infoset become the same tree of elements, which a third parser reads;
//! - [`normalise`] validates it: a [`Draft`] is complete, within all limits and valid in every representation;
//! - [`Ingest::accept`] assigns an identifier and a version and writes it to the store.

mod accept;
mod atom;
mod element;
mod fields;
mod fingerprint;
mod ids;
pub mod json;
mod normalise;
mod pulled_accounts;
mod raw;
mod read;
#[cfg(test)]
pub(crate) mod testing;
mod xml;

pub use accept::{Ingest, Outcome, first_versions};
pub(crate) use fields::{MAX_COUNT, MAX_DESCRIPTION, MAX_TITLE, MAX_URL};
pub use ids::Randomness;
pub use normalise::{Draft, OmittedFields, normalise};
pub(crate) use normalise::{MAX_SOURCE_ID, MAX_TO};
pub use raw::{RawActivity, RawObject, RawService, RawThumbnail, RawValue};
pub(crate) use read::read_element;
pub use read::{
    MAX_ENTRIES, MAX_FEED, Unreadable, counts_after, format_of_media_type, read_activity, read_feed,
};

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
