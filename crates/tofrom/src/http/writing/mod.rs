//! Writing over HTTP: what an account did, one at a time or many at once, and what it does not want to be reached by.
//!
//! `address` takes the address apart, `rights` says who may, `incoming` reads the body, `submit` hands it to `ingest`
//! together with what stands at the address already (`existing`). `item`, `batch` and `removal` are the handlers.

pub(super) mod address;
pub(super) mod batch;
mod existing;
pub(super) mod incoming;
pub(super) mod item;
pub(super) mod parameters;
pub(super) mod removal;
pub(super) mod rights;
mod submit;
