//! What explains the rest.

use super::super::Schema;
use super::super::operation::{Answer, Group, Operation};
use http::Method;

pub(super) fn operations() -> Vec<Operation> {
    let page = Schema::text().about("A page for people.");
    let document = Schema::object().about("An OpenAPI document.").requires(&["openapi", "info", "paths"]);
    vec![
        Operation::new(Method::GET, "readDocument", "/openapi.json", Group::About)
            .does("Read this description", "All of this as an OpenAPI 3.1 document, for programs.")
            .answers(Answer::new(200, "The document.").media("application/json", document))
            .example(r#"curl "$BASE/openapi.json""#),
        Operation::new(Method::GET, "readProblem", "/docs/problems/{kind}", Group::About)
            .does("Read about a kind of problem", "Where the `type` of a problem leads.")
            .answers(Answer::new(200, "The page.").media("text/html; charset=utf-8", page))
            .fails(&["not-found"])
            .example(r#"curl "$BASE/docs/problems/parameter""#),
    ]
}
