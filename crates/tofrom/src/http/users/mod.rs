//! Accounts, edges and sources over HTTP.
//!
//! `account` creates, shows, changes and removes accounts, with the fields of `profile`. `edge` follows and unfollows,
//! `listing` lists followees and followers with a `cursor`. `representation` renders accounts. `sources` handles sources.

pub(super) mod account;
mod cursor;
pub(super) mod edge;
pub(super) mod listing;
pub(super) mod profile;
mod representation;
pub(super) mod sources;
mod texts;
