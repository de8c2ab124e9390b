//! Limits of accounts: requests and storage.

use super::program::{succeed, tofrom};
use super::serving::{Settings, serve_with};
use super::support::client::{Answer, Client};
use super::support::folder::Folder;
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Accept", "application/json");

fn account(folder: &Folder, name: &str, more: &[&str]) -> String {
    succeed(folder, &[&["account", "add", name, "--no-password"], more].concat(), "");
    key(folder, name)
}

fn key(folder: &Folder, name: &str) -> String {
    let made = succeed(folder, &["key", "add", name, "--scope", "write", "--json"], "");
    serde_json::from_str::<Value>(&made).unwrap()["key"].as_str().unwrap().to_owned()
}

fn whoami(client: &Client, key: &str) -> Answer {
    client.get("/social/200909/whoami", &[("ServicePSK", key), JSON])
}

#[test]
fn an_account_has_its_limit_of_requests() {
    let folder = Folder::new();
    let (busy, calm) = (account(&folder, "busy", &[]), account(&folder, "calm", &[]));
    let ops = account(&folder, "ops", &["--operator"]);
    let quiet = Settings { log: "error", ..Settings::default() };
    let serving = serve_with(&folder, "limits.requests = \"1/s burst 5\"", quiet);
    let client = serving.client(&folder);
    let first = whoami(&client, &busy);
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(first.header("ratelimit-policy"), Some("\"account\";q=5;w=5"));
    assert_eq!(first.header("ratelimit"), Some("\"account\";r=4;t=1"));
    let refused = (0..20).map(|_| whoami(&client, &busy)).find(|answer| answer.status != 200).unwrap();
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.json()["type"].as_str().unwrap().ends_with("/too-often"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(refused.header("ratelimit").unwrap().starts_with("\"account\";r=0;"));
    assert_eq!(whoami(&client, &calm).status, 200, "another account");
    for _ in 0..10 {
        let answer = whoami(&client, &ops);
        assert_eq!((answer.status, answer.header("ratelimit")), (200, None), "an operator");
    }
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(whoami(&client, &busy).status, 200);
    serving.stop();
}

#[test]
fn quotas_are_problems_that_name_what_there_is_too_much_of() {
    let folder = Folder::new();
    let ann = account(&folder, "ann", &["--public"]);
    for name in ["bob", "cora", "dan"] {
        account(&folder, name, &["--public"]);
    }
    let quotas = "limits.requests = \"off\"\nlimits.activities = 2\nlimits.following = 2\nlimits.blocked = 1\nlimits.keys = 2";
    let quiet = Settings { log: "error", ..Settings::default() };
    let serving = serve_with(&folder, quotas, quiet);
    let client = serving.client(&folder);
    let send = |method: &str, path: &str, body: &Value| {
        let headers = [("ServicePSK", ann.as_str()), JSON, ("Content-Type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        client.send(method, &format!("/social{path}"), &headers, body.as_bytes())
    };
    let reached = |answer: &Answer| {
        assert_eq!(answer.status, 403, "{}", answer.text());
        assert!(answer.json()["type"].as_str().unwrap().ends_with("/quota"), "{}", answer.text());
        answer.json()["quota"].as_str().unwrap().to_owned()
    };
    let note = |title: &str| json!({ "Category": "NotePosted", "Title": title, "Note": { "Title": title } });
    let put =
        |id: &str, title: &str| send("PUT", &format!("/200909/activity/ann/from/Notes/{id}"), &note(title));
    assert_eq!((put("1", "a").status, put("2", "b").status), (201, 201));
    assert_eq!(reached(&put("3", "c")), "activities");
    assert_eq!(put("1", "a longer one").status, 200, "a new version");
    assert_eq!(send("DELETE", "/200909/activity/ann/from/Notes/2", &Value::Null).status, 204);
    assert_eq!(put("3", "c").status, 201, "a deleted one makes room");
    // The command counts with the server.
    let line = json!({ "SourceId": "4", "SourceService": { "Name": "Notes" }, "Category": "NotePosted",
                       "Title": "d", "Note": { "Title": "d" } });
    let settings = folder.path().join("tofrom.toml");
    let arguments = ["import", "ann", "-", "--json", "--config", settings.to_str().unwrap()];
    let imported = tofrom(&folder, &arguments, &line.to_string());
    assert!(String::from_utf8_lossy(&imported.stdout).contains("\"status\":403"), "{imported:?}");

    let follow = |name: &str| send("PUT", &format!("/200909/user/ann/following/{name}"), &Value::Null);
    assert_eq!((follow("bob").status, follow("cora").status, follow("bob").status), (204, 204, 204));
    assert_eq!(reached(&follow("dan")), "following");
    let block = |name: &str| send("PUT", &format!("/200909/user/ann/blocked/{name}"), &Value::Null);
    assert_eq!((block("x").status, block("x").status), (204, 204));
    assert_eq!(reached(&block("y")), "blocked");
    let key = || send("POST", "/200909/user/ann/keys", &json!({ "Name": "k" }));
    assert_eq!((key().status, reached(&key())), (201, "keys".to_owned()));
    serving.stop();
}
