//! The description of the API. The document at `/openapi.json` and the page at `/docs` are both made from
//! [`operations`].
//!
//! Nothing is derived from the handlers: a request is parsed from four formats and a response is a stream of events, so
//! no type has the fields. Tests compare the description with the routes, the parameter parser, the kinds of problems
//! and a running server, and generate clients from it.
//!
//! `catalogue` lists the operations with the types of `operation`, `parameter` and `schema`. `bodies` describes request
//! and response bodies, `examples` has one of each, `samples` has requests in several languages, `problems` describes the errors. `document` assembles the OpenAPI
//! document.

mod bodies;
mod catalogue;
mod document;
mod examples;
mod operation;
mod parameter;
mod problems;
mod samples;
mod schema;
#[cfg(test)]
mod tests;

pub use catalogue::operations;
pub use document::document;
pub use examples::Examples;
pub use operation::{Group, Operation, RequestBody, ResponseSpec};
pub use parameter::{Parameter, ParameterLocation};
pub use samples::Sample;
pub use schema::Schema;
