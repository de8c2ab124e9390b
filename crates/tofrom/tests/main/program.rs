//! The program as its users see it: commands, output, exit codes.

use super::support::demo::BINARY;
use super::support::folder::Folder;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs a command on a data folder with that standard input.
pub(crate) fn tofrom(folder: &Folder, arguments: &[&str], input: &str) -> Output {
    tofrom_in(folder, &[arguments, &["--data", folder.path().to_str().unwrap()]].concat(), input)
}

/// Runs a command in a folder, with the settings there.
pub(crate) fn tofrom_in(folder: &Folder, arguments: &[&str], input: &str) -> Output {
    tofrom_with(folder, arguments, &[], input)
}

/// The same with these settings in the environment.
pub(crate) fn tofrom_with(
    folder: &Folder,
    arguments: &[&str],
    settings: &[(&str, &str)],
    input: &str,
) -> Output {
    let mut child = Command::new(BINARY)
        .args(arguments)
        .env_remove("TOFROM_BASE_URL")
        .envs(settings.iter().copied())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

pub(crate) fn succeed(folder: &Folder, arguments: &[&str], input: &str) -> String {
    succeeded(tofrom(folder, arguments, input), arguments)
}

/// The output of a command that succeeded.
pub(crate) fn succeeded(output: Output, arguments: &[&str]) -> String {
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {message}");
    String::from_utf8(output.stdout).unwrap()
}

fn fail(folder: &Folder, arguments: &[&str], input: &str, code: i32) -> String {
    let output = tofrom(folder, arguments, input);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    assert!(output.stdout.is_empty(), "errors go to standard error");
    String::from_utf8(output.stderr).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

/// Links are complete, and the store knows their tickets.
#[test]
fn invitations_and_resets() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let message = fail(&folder, &["account", "invite"], "", 1);
    assert!(message.contains("base_url"), "{message}");
    let settings = format!("base_url = \"https://feeds.example/social\"\ndata_dir = {:?}\n", folder.path());
    std::fs::write(folder.path().join("tofrom.toml"), settings).unwrap();
    for (arguments, place) in [
        (&["account", "invite"][..], "https://feeds.example/social/join/tfl_"),
        (&["account", "reset", "alice"][..], "https://feeds.example/social/reset/tfl_"),
    ] {
        let link = succeeded(tofrom_in(&folder, arguments, ""), arguments);
        let ticket = link.trim_end().strip_prefix(place).unwrap_or_else(|| panic!("{link}"));
        assert_eq!(ticket.len(), 43);
        let arguments = [arguments, &["--json"]].concat();
        let message = json(&succeeded(tofrom_in(&folder, &arguments, ""), &arguments));
        assert!(message["link"].as_str().unwrap().starts_with(place) && message["expires"].is_string());
    }
    let message = fail(&folder, &["account", "reset", "nobody"], "", 1);
    assert!(message.contains("nobody"), "{message}");
    succeed(&folder, &["account", "set", "alice", "--disabled"], "");
    assert!(fail(&folder, &["account", "reset", "alice"], "", 1).contains("--enabled"));
}

#[test]
fn accounts() {
    let folder = Folder::new();
    succeed(
        &folder,
        &["account", "add", "Alice", "--given-name", "Alice", "--password-stdin"],
        "secret-enough\n",
    );
    succeed(&folder, &["account", "add", "ops", "--operator", "--no-password"], "");
    let listed = json(&succeed(&folder, &["account", "list", "--json"], ""));
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["alice", "ops"]);
    assert!(!listed.to_string().contains("argon2"), "listings contain no hash");
    succeed(&folder, &["account", "set", "alice", "--public"], "");
    for (flag, disabled) in [("--disabled", true), ("--enabled", false)] {
        let message = json(&succeed(&folder, &["account", "set", "alice", flag, "--json"], ""));
        assert_eq!(message["disabled"], disabled);
    }
    assert!(fail(&folder, &["account", "add", "alice", "--no-password"], "", 1).contains("alice"));
    assert!(fail(&folder, &["account", "set", "nobody", "--public"], "", 1).contains("nobody"));
    fail(&folder, &["account", "add", "-x"], "", 2);
    fail(&folder, &["account", "add", "a b", "--no-password"], "", 2);
    succeed(&folder, &["account", "remove", "alice"], "");
    let message = fail(&folder, &["account", "add", "alice", "--no-password"], "", 1);
    assert!(!message.is_empty(), "a name cannot be reused");
}

#[test]
fn keys_and_applications() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let arguments =
        ["key", "add", "alice", "--name", "reader", "--scope", "read", "--expires", "90d", "--json"];
    let made = json(&succeed(&folder, &arguments, ""));
    let key = made["key"].as_str().unwrap();
    assert!(key.starts_with("tfk_") && key.len() == 47, "{key}");
    let listed = succeed(&folder, &["key", "list", "alice", "--json"], "");
    assert!(
        listed.contains(made["id"].as_str().unwrap()) && !listed.contains(key),
        "secrets are printed once"
    );
    succeed(&folder, &["key", "revoke", "alice", made["id"].as_str().unwrap()], "");
    fail(&folder, &["key", "revoke", "alice", "0000000000000000"], "", 1);
    fail(&folder, &["key", "add", "nobody"], "", 1);
    fail(&folder, &["key", "add", "alice", "--scope", "everything"], "", 2);

    let made = json(&succeed(
        &folder,
        &["app", "add", "Reader", "--callback", "https://reader.example/cb", "--json"],
        "",
    ));
    let (key, secret) = (made["key"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let listed = succeed(&folder, &["app", "list", "--json"], "");
    assert!(listed.contains(key) && !listed.contains(secret));
    succeed(&folder, &["app", "remove", key], "");
    fail(&folder, &["app", "add", "Reader", "--callback", "javascript:alert(1)"], "", 2);
    let stored = std::fs::read(folder.path().join("tofrom.db")).unwrap();
    let plain = |secret: &str| stored.windows(secret.len()).any(|part| part == secret.as_bytes());
    assert!(
        !plain(secret) && !plain(made["key"].as_str().unwrap().strip_prefix("nothing").unwrap_or(secret))
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    for command in [
        &["serve"][..],
        &["demo"],
        &["account", "add"],
        &["account", "set"],
        &["account", "invite"],
        &["account", "reset"],
        &["account", "list"],
        &["account", "remove"],
        &["key", "add"],
        &["key", "list"],
        &["key", "revoke"],
        &["app", "add"],
        &["app", "list"],
        &["app", "remove"],
        &["token", "list"],
        &["token", "revoke"],
        &["reseal"],
        &["schema", "plan"],
        &["schema", "apply"],
        &["follow", "add"],
        &["follow", "list"],
        &["deadletter", "list"],
        &["deadletter", "replay"],
        &["import"],
        &["export"],
        &["backup"],
        &["check"],
        &["completions"],
    ] {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let help = succeed(&folder, &arguments, "");
        assert!(help.contains("Example"), "{command:?}: {help}");
    }
    assert!(succeed(&folder, &["completions", "bash"], "").contains("tofrom"));
    assert!(fail(&folder, &["sevre"], "", 2).contains("serve"), "similar commands are suggested");
}

fn line(number: usize, more: &str) -> String {
    format!(
        r#"{{"SourceId":"{number}","SourceService":{{"Name":"Delicious"}},"Category":"BookmarkShared","Title":"Number {number}","Bookmark":{{"Url":"https://example.org/{number}"}}{more}}}"#
    )
}

#[test]
fn import_and_export() {
    let folder = Folder::new();
    for name in ["alice", "bob", "again"] {
        succeed(&folder, &["account", "add", name, "--no-password"], "");
    }
    let to_bob =
        r#","To":["bob"],"Visibility":"direct","PublishedDate":"2020-01-01T00:00:00.123Z","CommentCount":2"#;
    let lines = [line(1, ""), line(2, to_bob), line(1, "")].join("\n");
    let message = succeed(&folder, &["import", "alice", "-", "--json"], &lines);
    let statuses: Vec<i64> = message.lines().map(|line| json(line)["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses, [201, 201, 200], "repeated content changes nothing");
    let bad =
        tofrom(&folder, &["import", "alice", "-", "--json"], &format!("{{}}\nnonsense\n{}\n", line(3, "")));
    assert_eq!(bad.status.code(), Some(1));
    let message = String::from_utf8(bad.stdout).unwrap();
    let statuses: Vec<i64> = message.lines().map(|line| json(line)["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses.last(), Some(&201), "a bad line does not block the others: {message}");
    assert!(statuses[..2].iter().all(|status| (400..500).contains(status)), "{message}");

    let exported = succeed(&folder, &["export", "alice"], "");
    let ids: Vec<Value> = exported.lines().map(|line| json(line)["SourceId"].clone()).collect();
    assert_eq!(ids, ["1", "2", "3"], "oldest first");
    assert!(
        exported.contains("2020-01-01T00:00:00.123") && exported.contains(r#""To":["bob"]"#),
        "{exported}"
    );
    succeed(&folder, &["import", "again", "-"], &exported);
    assert_eq!(succeed(&folder, &["export", "again"], ""), exported, "an export can be imported");
}

#[test]
fn a_backup_can_be_restored() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    succeed(&folder, &["import", "alice", "-"], &line(1, ""));
    let copy = Folder::new();
    let to = copy.path().join("tofrom.db");
    succeed(&folder, &["backup", to.to_str().unwrap()], "");
    assert_eq!(succeed(&copy, &["export", "alice"], ""), succeed(&folder, &["export", "alice"], ""));
    fail(&folder, &["backup", to.to_str().unwrap()], "", 1);
}

#[test]
fn check_reports_invalid_settings() {
    let folder = Folder::new();
    let settings = folder.path().join("tofrom.toml");
    std::fs::write(&settings, "base_url = \"https://feeds.example\"\n[tls]\ncertificate = \"none.pem\"\nprivate_key = \"none.key\"\n").unwrap();
    let output = tofrom(&folder, &["check", "--config", settings.to_str().unwrap()], "");
    let message =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("none.pem"), "{message}");
    std::fs::write(&settings, "base_url = \"https://feeds.example\"\nbase_uri = 1\n").unwrap();
    let message = fail(&folder, &["serve", "--config", settings.to_str().unwrap()], "", 1);
    assert!(
        message.contains("base_uri") && message.contains("base_url"),
        "unknown settings are errors: {message}"
    );
}

/// None of these commands connects to a cluster.
#[test]
fn commands_and_settings_fit_the_store() {
    let folder = Folder::new();
    let message = fail(&folder, &["serve", "--role", "worker"], "", 2);
    assert!(message.contains("one process does everything"), "{message}");
    fail(&folder, &["serve", "--role", "everything"], "", 2);
    assert!(tofrom(&folder, &["schema", "apply"], "").status.success());
    assert_eq!(json(&succeed(&folder, &["schema", "plan", "--json"], "")), serde_json::json!([]));

    let settings = folder.path().join("cluster.toml");
    let cluster = "store = \"cql\"\n[cql]\nnodes = [\"127.0.0.1:1\"]\n[nats]\nservers = [\"127.0.0.1:2\"]\n";
    std::fs::write(&settings, cluster).unwrap();
    let settings = settings.to_str().unwrap();
    // `tofrom` passes a folder, which implies sqlite.
    let without_folder = |arguments: &[&str], code: i32| {
        let output = Command::new(BINARY).args(arguments).args(["--config", settings]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        message
    };
    let message = fail(&folder, &["demo", "--config", settings], "", 2);
    assert!(message.contains("not both"), "{message}");
    let message = without_folder(&["backup", "copy.db"], 1);
    assert!(message.contains("backup supports single-machine stores only"), "{message}");
    let message = without_folder(&["serve", "--role", "worker"], 1);
    assert!(message.contains("secret_keys is not set"), "{message}");
    let remote = cluster.replace("127.0.0.1:1", "db.example:9042");
    std::fs::write(settings, format!("secret_keys = [\"{}\"]\n{remote}", "07".repeat(32))).unwrap();
    let message = without_folder(&["serve", "--role", "worker"], 1);
    assert!(message.contains("cql.nodes has db.example:9042, which is not on this machine"), "{message}");
    let check = Command::new(BINARY).args(["check", "--config", settings]).output().unwrap();
    assert_eq!(check.status.code(), Some(1));
    let report = String::from_utf8(check.stdout).unwrap();
    assert!(report.contains("which is not on this machine, without TLS"), "{report}");
    assert!(report.contains("insecure_cluster_links = true"), "{report}");
    std::fs::write(settings, "base_url = \"https://feeds.example\"\n").unwrap();
    let message = without_folder(&["demo"], 1);
    assert!(message.contains("use --data DIR"), "{message}");
}

#[test]
fn tokens() {
    use model::{AccessToken, AccountName, Millis, Progress, Scopes, Temporary};
    use store::{Accounts, Grants};
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let app = json(&succeed(&folder, &["app", "add", "Photo wall", "--callback", "oob", "--json"], ""));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store =
        store::sqlite::SqliteStore::open(&folder.path().join("tofrom.db"), Default::default()).unwrap();
    let grant = |key: &'static str, expires: Option<Millis>| {
        let consumer = app["key"].as_str().unwrap().to_owned();
        let store = &store;
        async move {
            let alice =
                store.account_by_name(&AccountName::parse("alice").unwrap()).await.unwrap().unwrap().uid;
            let temporary = Temporary {
                key: format!("for-{key}"),
                sealed_secret: vec![],
                consumer: consumer.clone(),
                callback: None,
                scopes: Scopes::Read,
                expires: Millis::MAX,
                progress: Progress::Requested,
            };
            store.add_temporary(&temporary).await.unwrap();
            store
                .decide(&temporary.key, &Progress::Allowed { by: alice, epoch: 0, verifier: [0; 32] })
                .await
                .unwrap();
            let token = AccessToken {
                key: key.to_owned(),
                sealed_secret: vec![],
                consumer,
                owner: alice,
                epoch: 0,
                scopes: Scopes::ReadWrite,
                created: Millis(1_790_000_000_000),
                expires,
                revoked: None,
                used: None,
            };
            assert!(store.exchange(&temporary.key, &token).await.unwrap());
        }
    };
    for (key, expires) in
        [("tfa_one", None), ("tfa_three", None), ("tfa_two", Some(Millis(1_790_000_000_001)))]
    {
        runtime.block_on(grant(key, expires));
    }
    let states = || -> Vec<String> {
        let listed = json(&succeed(&folder, &["token", "list", "alice", "--json"], ""));
        let state = |token: &Value| {
            format!("{} {}", token["token"].as_str().unwrap(), token["state"].as_str().unwrap())
        };
        listed.as_array().unwrap().iter().map(state).collect()
    };
    assert_eq!(states(), ["tfa_one live", "tfa_three live", "tfa_two expired"]);
    assert!(succeed(&folder, &["token", "list", "alice"], "").contains("Photo wall"));
    succeed(&folder, &["token", "revoke", "alice", "tfa_one"], "");
    assert_eq!(states(), ["tfa_one revoked", "tfa_three live", "tfa_two expired"]);
    assert!(fail(&folder, &["token", "revoke", "alice", "tfa_none"], "", 1).contains("token list alice"));
    fail(&folder, &["token", "revoke", "alice"], "", 2);
    succeed(&folder, &["token", "revoke", "alice", "--all"], "");
    assert!(states().iter().all(|state| state.ends_with("revoked")), "{:?}", states());
}

/// A new key is put first, everything is resealed with it, and the old one can be removed.
#[test]
fn rotating_the_secret_key() {
    let folder = Folder::new();
    for name in ["one", "two"] {
        succeed(&folder, &["app", "add", name, "--callback", "oob"], "");
    }
    let file = folder.path().join("secret.key");
    let old = std::fs::read_to_string(&file).unwrap();
    let new = "11".repeat(32);
    std::fs::write(&file, format!("{new}\n{old}")).unwrap();
    let resealed = || json(&succeed(&folder, &["reseal", "--json"], ""))["resealed"].clone();
    assert_eq!(resealed(), 2);
    assert_eq!(resealed(), 0, "nothing is left to reseal");
    std::fs::write(&file, &new).unwrap();
    assert_eq!(resealed(), 0);
    std::fs::write(&file, old).unwrap();
    assert!(fail(&folder, &["reseal"], "", 1).contains("secret_keys"), "the old key is no longer needed");
}

#[test]
fn import_accepts_an_atom_feed() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "alice", "--no-password"], "");
    let entry = |id: &str, title: &str| {
        format!(
            "<entry><id>{id}</id>{title}<published>2020-01-01T00:00:00Z</published>\
             <activity:verb>http://activitystrea.ms/schema/1.0/share</activity:verb><activity:object>\
             <activity:object-type>http://activitystrea.ms/schema/1.0/bookmark</activity:object-type>\
             <title>A page</title></activity:object><service:provider><name>Delicious</name></service:provider></entry>"
        )
    };
    let feed = format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:activity=\"http://activitystrea.ms/spec/1.0/\" \
         xmlns:service=\"http://activitystrea.ms/service-provider\">{}{}</feed>",
        entry("one", "<title>Alice shared a page</title>"),
        entry("two", "")
    );
    let output = tofrom(&folder, &["import", "alice", "-", "--json"], &feed);
    let message = String::from_utf8(output.stdout).unwrap();
    let statuses: Vec<i64> = message.lines().map(|line| json(line)["status"].as_i64().unwrap()).collect();
    assert_eq!((statuses, output.status.code()), (vec![201, 422], Some(1)), "{message}");
    assert!(succeed(&folder, &["export", "alice"], "").contains("Alice shared a page"));
}

#[test]
fn read_only_commands_create_no_folder() {
    let folder = Folder::new();
    let missing = folder.path().join("missing");
    for words in [
        &["account", "list"][..],
        &["key", "list", "bob"],
        &["app", "list"],
        &["follow", "list", "bob"],
        &["token", "list", "bob"],
        &["source", "list", "bob"],
        &["deadletter", "list"],
        &["export", "bob"],
        &["backup", "copy.db"],
        &["account", "set", "bob", "--public"],
        &["key", "add", "bob"],
    ] {
        let arguments = [words, &["--data", missing.to_str().unwrap()]].concat();
        let output = tofrom_in(&folder, &arguments, "");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {message}");
        assert!(message.contains("there is no store in"), "{words:?}: {message}");
        assert!(!missing.exists(), "{words:?} created the folder");
    }
}

#[test]
fn the_version_names_a_commit_and_its_date() {
    let folder = Folder::new();
    let text = succeeded(tofrom_in(&folder, &["--version"], ""), &["--version"]);
    let words: Vec<&str> = text.trim().split(' ').collect();
    let [name, version, commit, date] = words[..] else { panic!("{text}") };
    assert_eq!((name, version), ("tofrom", env!("CARGO_PKG_VERSION")));
    let commit = commit.trim_start_matches('(');
    assert!(commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
    assert_eq!(date.trim_end_matches(')').len(), "2026-11-17".len(), "{text}");
}
