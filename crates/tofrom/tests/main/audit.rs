//! The audit log, from outside.

use super::oauth::service::{BASE, Service, password_of};
use super::program::tofrom;
use super::support::folder::Folder;
use super::support::steal_adjusted_clock::becomes;
use serde_json::Value;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(15);

fn records(service: &Service) -> Vec<Value> {
    let text = service.run(&["audit"], "");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn events(service: &Service) -> Vec<String> {
    records(service).iter().rev().map(|record| record["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn events_are_recorded_with_who_and_whom_and_without_secrets() {
    let service = Service::start(Folder::new(), "", "info");
    service.add_account("alice", &[]);
    service.add_account("ops", &["--operator"]);
    let mut browser = service.browser();
    let form = browser.visit(&format!("{BASE}/sign-in")).form("username").unwrap();
    assert_eq!(browser.submit(&form, &[("username", "alice"), ("password", "a wrong word")]).status(), 403);
    browser.submit(&form, &[("username", "not-a-name-but-a-word"), ("password", "x")]);
    let password = password_of("alice");
    assert_eq!(browser.submit(&form, &[("username", "alice"), ("password", &password)]).status(), 200);
    let key: Value = serde_json::from_str(&service.run(&["key", "add", "alice", "--json"], "")).unwrap();
    let ops: Value =
        serde_json::from_str(&service.run(&["key", "add", "ops", "--scope", "write", "--json"], "")).unwrap();
    let headers = [("ServicePSK", ops["key"].as_str().unwrap())];
    let target = "/social/200909/user/alice";
    assert_eq!(
        service.client.send("PUT", target, &[headers[0], ("Content-Type", "application/json")], b"{}").status,
        200
    );
    service.run(&["account", "set", "alice", "--disabled"], "");
    assert_eq!(service.client.send("DELETE", target, &headers, b"").status, 204);
    let expected = [
        "account-added",
        "account-added",
        "account-changed",
        "account-disabled",
        "account-removed",
        "key-added",
        "key-added",
        "sign-in",
        "sign-in-refused",
    ];
    becomes(SOON, expected.map(str::to_owned).to_vec(), || {
        let mut events = events(&service);
        events.sort();
        events
    });
    let all = records(&service);
    let of = |event: &str| all.iter().find(|record| record["event"] == event).unwrap();
    assert_eq!(
        (&of("account-removed")["actor"], &of("account-removed")["target"]),
        (&"ops".into(), &"alice".into())
    );
    assert_eq!(of("account-disabled")["actor"], "(command line)");
    assert_eq!(of("sign-in")["network"], "127.0.0.0/24");
    assert!(of("sign-in")["request"].as_str().unwrap().len() > 10);
    assert_eq!(
        (&of("sign-in-refused")["outcome"], &of("sign-in-refused")["target"]),
        (&"refused".into(), &"alice".into())
    );
    let text = all.iter().map(Value::to_string).collect::<String>();
    for secret in
        ["a wrong word", "not-a-name-but-a-word", &password, key["key"].as_str().unwrap(), "127.0.0.1"]
    {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn alterations_of_the_file_are_found() {
    let service = Service::start(Folder::new(), "audit_log = \"stdout\"", "info");
    for name in ["alice", "bob"] {
        service.add_account(name, &[]);
    }
    service.run(&["key", "add", "alice"], "");
    assert!(service.run(&["audit", "--verify"], "").contains("3 records of 3 process runs verified"));
    let (folder, _) = service.stop();
    let file = rusqlite::Connection::open(folder.path().join("tofrom.db")).unwrap();
    let altered = "UPDATE audit SET details = replace(details, 'alice', 'eve')";
    assert!(file.execute_batch(altered).unwrap_err().to_string().contains("append-only"));
    file.execute_batch(&format!("DROP TRIGGER audit_is_append_only; {altered}")).unwrap();
    let verified = tofrom(&folder, &["audit", "--verify"], "");
    assert_eq!(verified.status.code(), Some(1));
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(said.contains("was altered") && said.contains("2 findings"), "{said}");
    file.execute_batch("DELETE FROM audit").unwrap();
    let said = tofrom(&folder, &["audit", "--verify"], "");
    assert!(String::from_utf8_lossy(&said.stderr).contains("is missing"), "deleted");
}

#[test]
fn operators_see_all_and_people_their_own() {
    let service = Service::start(Folder::new(), "", "info");
    for (name, more) in [("alice", &[][..]), ("bob", &[]), ("ops", &["--operator"])] {
        service.add_account(name, more);
    }
    let page = |name: &str, path: &str| {
        let mut browser = service.browser();
        let form = browser.visit(&format!("{BASE}/sign-in")).form("username").unwrap();
        browser.submit(&form, &[("username", name), ("password", &password_of(name))]);
        let page = browser.visit(&format!("{BASE}{path}"));
        (page.status(), page.text())
    };
    let (status, own) = page("alice", "/settings/security");
    assert_eq!(status, 200);
    assert!(
        own.contains("account-added alice") && own.contains("sign-in alice") && !own.contains("bob"),
        "{own}"
    );
    assert_eq!(page("alice", "/operator/audit").0, 404);
    let (status, all) = page("ops", "/operator/audit");
    assert!(
        status == 200 && all.contains("account-added alice") && all.contains("account-added bob"),
        "{all}"
    );
}
