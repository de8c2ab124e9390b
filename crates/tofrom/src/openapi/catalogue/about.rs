//! Documentation.

use super::super::Schema;
use super::super::operation::{Group, Operation, ResponseSpec};
use http::Method;

pub(super) fn operations() -> Vec<Operation> {
    let page = Schema::text().about("An HTML page.");
    let document = Schema::object().about("An OpenAPI document.").requires(&["openapi", "info", "paths"]);
    vec![
        Operation::new(Method::GET, "readDocument", "/openapi.json", Group::About)
            .does("Get the OpenAPI document", "This documentation as an OpenAPI 3.1 document.")
            .responds(ResponseSpec::new(200, "The document.").media("application/json", document))
            .example(r#"curl "$BASE/openapi.json""#),
        Operation::new(Method::GET, "readProblem", "/docs/problems/{kind}", Group::About)
            .does("Get the documentation of a problem", "The `type` of a problem links to this page.")
            .responds(ResponseSpec::new(200, "The page.").media("text/html; charset=utf-8", page))
            .fails(&["not-found"])
            .example(r#"curl "$BASE/docs/problems/parameter""#),
    ]
}
