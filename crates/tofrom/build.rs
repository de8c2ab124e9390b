//! Names the commit and its date for `tofrom --version`.
//!
//! A build outside of a repository takes them from `TOFROM_COMMIT` and `TOFROM_COMMIT_DATE`. A debug build keeps those of
//! its first build, so that a commit does not compile everything anew.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for (name, format) in [("TOFROM_COMMIT", "%h"), ("TOFROM_COMMIT_DATE", "%cs")] {
        println!("cargo:rerun-if-env-changed={name}");
        let given = std::env::var(name).ok().filter(|given| !given.is_empty());
        let value = given
            .or_else(|| git(&["log", "-1", "--abbrev=12", &format!("--format={format}")]))
            .unwrap_or_else(|| "unknown".to_owned());
        println!("cargo:rustc-env={name}={value}");
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        for file in ["HEAD", "logs/HEAD"] {
            if let Some(path) = git(&["rev-parse", "--git-path", file]) {
                println!("cargo:rerun-if-changed={path}");
            }
        }
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
