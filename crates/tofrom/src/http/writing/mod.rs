//! Writing over HTTP: single activities, batches, and removals by recipients.
//!
//! `address` parses paths, `rights` checks permissions, `incoming` determines the format of the body, and `submit` passes
//! it to `ingest` together with the existing activity (`existing`). `item`, `batch` and `removal` are the handlers.

pub(super) mod address;
pub(super) mod batch;
mod existing;
pub(super) mod incoming;
pub(super) mod item;
pub(super) mod parameters;
pub(super) mod removal;
pub(super) mod rights;
mod submit;
