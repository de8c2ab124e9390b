//! Every operation, in the order in which the page shows them.

mod about;
mod accounts;
mod activities;
mod callers;
mod collections;
mod sources;

use super::Operation;
use model::Format;

/// The formats of accounts, sources and callers: Atom has no representation of them.
const WITHOUT_ATOM: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

/// All operations.
pub fn operations() -> Vec<Operation> {
    let mut all = collections::operations();
    all.extend(activities::operations());
    all.extend(accounts::operations());
    all.extend(sources::operations());
    all.extend(callers::operations());
    all.extend(about::operations());
    all
}
