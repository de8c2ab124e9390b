//! Runs the commands of docs/api.md.
//!
//! Every block marked `sh` is a separate script that must succeed within two minutes. It may use `$BASE` (the base
//! address), `$CA` (the certificate authority's file), `$KEY` and `$PASSWORD` (alice's), `$CONSUMER` (a consumer key)
//! and `$OPERATOR` (an operator's key). A line `# prints: TEXT` names a part of its output. Some of them write, so they
//! have their own demo.

use super::super::support::demo::Demo;
use super::super::support::folder::Folder;
use std::process::Command;

const MANUAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
const PRINTS: &str = "# prints: ";

/// The blocks marked `sh`, each with the number of its first line.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut language: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), language) {
            (Some(info), None) => {
                language = Some(info.trim());
                if language == Some("sh") {
                    blocks.push((at + 2, String::new()));
                }
            }
            (Some(_), Some(_)) => language = None,
            (None, Some("sh")) => blocks.last_mut().unwrap().1.push_str(&format!("{line}\n")),
            (None, _) => {}
        }
    }
    assert_eq!(language, None, "unterminated block");
    blocks
}

#[test]
fn the_commands_of_the_manual_work() {
    let text = std::fs::read_to_string(MANUAL).unwrap_or_else(|error| panic!("{MANUAL}: {error}"));
    let blocks = blocks(&text);
    assert!(!blocks.is_empty(), "{MANUAL} has no block marked sh");
    let data = Folder::new();
    let demo = Demo::start(data.path(), &[]);
    let as_text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let mut failures = String::new();
    for (line, script) in &blocks {
        let folder = Folder::new();
        let run = Command::new("timeout")
            .args(["120", "sh", "-euc", script])
            .current_dir(folder.path())
            .env("no_proxy", "*")
            .env("BASE", &demo.client.base)
            .env("CA", as_text(&demo.ready["ca_cert"]))
            .env("KEY", demo.key("alice"))
            .env("PASSWORD", demo.password("alice"))
            .env("CONSUMER", as_text(&demo.ready["consumer"]["key"]))
            .env("OPERATOR", demo.key("ops"))
            .output()
            .unwrap();
        let (printed, complained) =
            (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let mut expected = script.lines().filter_map(|line| line.trim_start().strip_prefix(PRINTS));
        let lacking = expected.find(|text| !printed.contains(text.trim()));
        if !run.status.success() || lacking.is_some() {
            failures.push_str(&format!(
                "\nline {line}: {}, lacking {lacking:?}\n{script}printed: {printed}\n{complained}",
                run.status
            ));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn blocks_are_found() {
    let text = "a\n```sh\ncurl $BASE\n# prints: x\n```\n```json\n{}\n```\n```sh\ntrue\n```\n";
    assert_eq!(blocks(text), [(3, "curl $BASE\n# prints: x\n".to_owned()), (10, "true\n".to_owned())]);
}
