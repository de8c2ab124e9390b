//! Accounts and who follows whom, over HTTP.
//!
//! `account` makes, shows, changes and removes one, as `profile` says; `edge` makes and ends edges; `listing` shows
//! them in pages that go on at a `cursor`; `representation` writes people down. `sources` is what they do elsewhere.

pub(super) mod account;
mod cursor;
pub(super) mod edge;
pub(super) mod listing;
pub(super) mod profile;
mod representation;
pub(super) mod sources;
mod texts;
