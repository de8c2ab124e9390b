//! Writing, accounts and following, through the real HTTPS listener, on a demo that only these tests change.

mod accounts;
mod batch;
mod following;
mod item;
mod lent;
pub(crate) mod oracle;
mod races;
mod refusals;
mod rights;
mod stage;
