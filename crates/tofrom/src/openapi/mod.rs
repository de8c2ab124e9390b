//! The description of the API. The document at `/openapi.json` and the page at `/docs` are both made from
//! [`operations`].
//!
//! Nothing is derived from the handlers: they parse requests themselves, so their types carry no information. Tests
//! compare the description with the routes, the parameter parser, the kinds of problems and a running server.
//!
//! `catalogue` lists the operations with the types of `operation`, `parameter` and `schema`. `bodies` describes request
//! and response bodies, `problems` the errors, `security` the credentials. `document` assembles the OpenAPI document.

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
pub use operation::{Group, Operation, RequestBody, ResponseSpec};
pub use parameter::{Parameter, ParameterLocation};
pub use schema::Schema;
