//! How activities come in, whoever brings them: a line of an import today, a request or a source's feed tomorrow.
//!
//! Three steps, so that each can be tested alone and only the first depends on how the activity was written:
//!
//! - reading ([`read_activity`]) turns bytes into a [`RawActivity`]: what was said, field by field, unjudged. JSON and
//!   Atom have a reader each; XML text and Fast Infoset become the same tree of elements, which one reader understands;
//! - [`normalise`] judges it: a [`Draft`] is complete, within all limits and free of what can't be shown;
//! - [`Ingest::accept`] gives it an identifier and a version and hands it to the store.

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
pub use normalise::{Draft, Unsaid, normalise};
pub(crate) use normalise::{MAX_SOURCE_ID, MAX_TO};
pub use raw::{RawActivity, RawObject, RawService, RawThumbnail, Said};
pub(crate) use read::read_element;
pub use read::{MAX_ENTRIES, MAX_FEED, Unreadable, counts_after, form_of, read_activity, read_feed};

/// The largest activity that is read, in bytes as written.
pub const MAX_BODY: usize = 64 * 1024;

/// Why an activity is not taken: the field, by its name in the contract (`Bookmark.Url`), and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {detail}")]
pub struct Refused {
    /// The field.
    pub field: String,
    /// What is wrong with it and what would be right, for whoever wrote it.
    pub detail: String,
}

impl Refused {
    fn new(field: impl Into<String>, detail: impl Into<String>) -> Refused {
        Refused { field: field.into(), detail: detail.into() }
    }
}
