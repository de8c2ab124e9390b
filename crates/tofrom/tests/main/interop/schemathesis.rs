//! schemathesis calls every operation of `/openapi.json`: see `tests/clients/schemathesis_run.py`. It writes, so it has
//! its own demo. It prints the number of generated cases.

use super::super::support::external_site::ExternalSite;
use super::oauth_clients::{client_of, lines};
use serde_json::json;

#[test]
fn every_operation_answers_as_described() {
    let site = ExternalSite::open();
    let demo = site.demo();
    let parameters = json!({
        "base": demo.client.base,
        "ca": demo.ready["ca_cert"],
        // An operator may call every operation.
        "key": demo.key("ops"),
        "consumer": demo.ready["consumer"],
        "feed": site.feed(),
        // Nothing listens there.
        "receiver": "https://127.0.0.2:1/hook",
    });
    let mut printed = lines(&mut client_of(&demo, "schemathesis_run.py"), &parameters);
    let cases: Vec<String> = printed.extract_if(.., |line| line.contains(" cases, ")).collect();
    eprintln!("{cases:?}");
    let operations = web::openapi::operations();
    let count: usize = operations.iter().map(|operation| operation.methods().len()).sum();
    assert_eq!(printed, ["valid 3.1.0".to_owned(), format!("{count} operations")].into());
}
