//! Clients that others' generators make of `/openapi.json`, in Python and TypeScript, read a page and a problem with
//! types: see `tests/clients/generated_flow.py` and `generated_flow.js`.

use super::super::support::demo::Demo;
use super::oauth_clients::{client, lines};
use serde_json::json;

fn check(language: &str, file: &str) {
    let demo = Demo::shared();
    let parameters = json!({ "base": demo.client.base, "account": "alice", "key": demo.key("alice") });
    let expected = ["generated", "page", "problem"].map(|what| format!("{language} {what}"));
    assert_eq!(lines(&mut client(file), &parameters), expected.into());
}

#[test]
fn a_generated_client_in_python_has_types() {
    check("python", "generated_flow.py");
}

#[test]
fn a_generated_client_in_typescript_has_types() {
    check("typescript", "generated_flow.js");
}
