//! Writing, accounts and following, through the real HTTPS listener, on a demo that only these tests change.

mod accounts;
mod batch;
mod fixture;
mod following;
mod item;
pub(crate) mod oracle;
mod privacy;
mod races;
mod refusals;
mod rights;
mod tokens;
