//! The crates depend on each other as `docs/architecture.md` says, and the modules of a crate form no circle.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const MANUAL: &str = include_str!("../../../../docs/architecture.md");

/// Crates by folder name, each with the folder names of our crates and the names of others that it depends on. Without
/// dependencies of tests.
struct Dependencies {
    ours: BTreeMap<String, BTreeSet<String>>,
    others: BTreeMap<String, BTreeSet<String>>,
}

fn dependencies() -> Dependencies {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version=1", "--no-deps", "--offline"]).current_dir(ROOT);
    let output = command.output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = Dependencies { ours: BTreeMap::new(), others: BTreeMap::new() };
    for package in metadata["packages"].as_array().unwrap() {
        let folder = folder_of(Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap());
        let (mut ours, mut others) = (BTreeSet::new(), BTreeSet::new());
        for dependency in
            package["dependencies"].as_array().unwrap().iter().filter(|found| found["kind"].is_null())
        {
            match dependency["path"].as_str() {
                Some(path) => ours.insert(folder_of(Path::new(path))),
                None => others.insert(dependency["name"].as_str().unwrap().to_owned()),
            };
        }
        found.ours.insert(folder.clone(), ours);
        found.others.insert(folder, others);
    }
    found
}

fn folder_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The table of crates in the manual: the last column names the dependencies.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let lines = MANUAL.lines().filter_map(|line| line.strip_prefix("| `crates/"));
    let row = |line: &str| {
        let (name, rest) = line.split_once('`').unwrap();
        let last = rest.trim_end_matches('|').rsplit('|').next().unwrap();
        let names = last.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (name.to_owned(), names)
    };
    lines.map(row).collect()
}

#[test]
fn crates_depend_on_each_other_as_documented() {
    assert_eq!(dependencies().ours, documented());
}

#[test]
fn only_the_right_crates_know_a_driver_a_server_or_the_command_line() {
    let others = dependencies().others;
    let users = |library: &str| -> Vec<&str> {
        others.iter().filter(|(_, all)| all.contains(library)).map(|(name, _)| name.as_str()).collect()
    };
    for driver in ["rusqlite", "scylla", "async-nats"] {
        assert_eq!(users(driver), ["store"], "{driver}");
    }
    assert_eq!(users("askama"), ["web"]);
    assert_eq!(users("clap"), ["tofrom"]);
    for telemetry in ["opentelemetry", "opentelemetry_sdk", "opentelemetry-otlp", "tracing-opentelemetry"] {
        assert_eq!(users(telemetry), ["tofrom"], "{telemetry}");
    }
    for server in ["axum", "hyper", "http", "tower"] {
        assert!(!others["domain"].contains(server), "{server}");
    }
    assert!(!others["auth"].contains("axum"));
}

#[test]
fn modules_of_a_crate_form_no_circle() {
    for folder in fs::read_dir(Path::new(ROOT).join("crates")).unwrap() {
        let source = folder.unwrap().path().join("src");
        let imports = imports_of(&source);
        let mut remaining: BTreeSet<&String> = imports.keys().collect();
        // A module whose imports are all resolved is in no circle.
        loop {
            let in_circle = |name: &&String| imports[*name].iter().any(|other| remaining.contains(other));
            let left: BTreeSet<&String> = remaining.iter().copied().filter(in_circle).collect();
            if left.len() == remaining.len() {
                break;
            }
            remaining = left;
        }
        let circle: Vec<_> = remaining
            .iter()
            .map(|name| {
                (*name, imports[*name].iter().filter(|other| remaining.contains(other)).collect::<Vec<_>>())
            })
            .collect();
        assert!(circle.is_empty(), "{}: {circle:#?}", source.display());
    }
}

/// The top-level modules of a crate, each with those that it imports.
fn imports_of(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let root = fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
    let modules: BTreeSet<String> = fs::read_dir(source)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !["lib", "main"].contains(&name.as_str()))
        .collect();
    // Names that the root re-exports stand for their module.
    let mut names: BTreeMap<String, String> =
        modules.iter().map(|name| (name.clone(), name.clone())).collect();
    for line in statements(&root).filter(|line| line.contains("use ")) {
        let path = line.rsplit("use ").next().unwrap().trim_start_matches("crate::");
        if let Some((module, items)) = path.split_once("::").filter(|(module, _)| modules.contains(*module)) {
            names.extend(words(items).map(|word| (word.to_owned(), module.to_owned())));
        }
    }
    let mut imports: BTreeMap<String, BTreeSet<String>> =
        modules.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
    for file in rust_files(source) {
        let relative = file.strip_prefix(source).unwrap();
        let first = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        let is_test = relative.to_str().unwrap().contains("test");
        let Some(imported) = imports.get_mut(&first).filter(|_| !is_test) else { continue };
        let depth = relative.iter().count() - usize::from(relative.ends_with("mod.rs"));
        let from_root = ["crate::".to_owned(), "super::".repeat(depth)];
        let text = fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for statement in statements(text) {
            for prefix in &from_root {
                for rest in statement.split(prefix.as_str()).skip(1) {
                    let group = rest.strip_prefix('{');
                    let used: Vec<&str> = match group {
                        Some(group) => top_level(group),
                        None => words(rest).take(1).collect(),
                    };
                    imported.extend(
                        used.iter().filter_map(|word| names.get(*word)).filter(|to| **to != first).cloned(),
                    );
                }
            }
        }
    }
    imports
}

/// The first word of each item of a group of imports, up to its closing brace.
fn top_level(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, sign) in group.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.extend(words(&group[start..at]).next());
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.extend(words(&group[start..at]).next());
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|word| !word.is_empty())
}

/// The statements of a file, without comments.
fn statements(text: &str) -> impl Iterator<Item = String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join(" ");
    code.split(';').map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] }).collect()
}
