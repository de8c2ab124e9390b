//! What the service offers to programs, said once: the document at `/openapi.json` and the page at `/docs` are both made
//! of these [`operations`].
//!
//! Nothing is derived from the handlers: they take requests apart themselves, so their types would tell nothing. Tests
//! hold what is said here to the map of addresses, to the parser of parameters, to the kinds of problems and to the
//! running service.
//!
//! `catalogue` lists the operations, in the words of `operation`, `parameter` and `schema`; `bodies` describes what is
//! sent and told, `problems` what can go wrong, `security` who may ask. `document` puts all of it together.

mod bodies;
mod catalogue;
mod document;
mod operation;
mod parameter;
mod problems;
mod schema;
mod security;
#[cfg(test)]
mod tests;

pub use catalogue::operations;
pub use document::document;
pub use operation::{Answer, Body, Group, Operation};
pub use parameter::{Parameter, Place};
pub use schema::Schema;
