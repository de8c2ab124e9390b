//! Every operation, in the order in which the page shows them.

mod about;
mod accounts;
mod activities;
mod callers;
mod collections;
mod sources;

use super::Operation;
use model::Format;

/// What people and callers are told in: Atom has no form for them.
const WITHOUT_ATOM: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

/// All that a program can ask for.
pub fn operations() -> Vec<Operation> {
    let mut all = collections::operations();
    all.extend(activities::operations());
    all.extend(accounts::operations());
    all.extend(sources::operations());
    all.extend(callers::operations());
    all.extend(about::operations());
    all
}
