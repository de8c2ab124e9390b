//! `tofrom check`: finds problems and suggests fixes.
//!
//! It changes nothing and creates nothing, except the stream of a cluster's delivery log.

mod certificate;
mod machine;
mod storage;

use super::Global;
use super::output::{json_line, line};
use crate::config::{Config, RawConfig};
use anyhow::bail;
use model::Clock;
use serde_json::{Value, json};

/// Check settings, certificate, store, delivery log and clock for problems
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tofrom check --config /etc/tofrom/tofrom.toml\n  tofrom check --data ./data --json\n\n\
                        Exits with 1 if there is an error, for use in timers and scripts."
)]
pub(super) struct Args {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// Works now, but not for long or not under load.
    Warning,
    Error,
}

/// The result of one check.
#[derive(Debug)]
struct Finding {
    about: &'static str,
    verdict: Verdict,
    what: String,
    fix: Option<String>,
}

impl Finding {
    fn ok(about: &'static str, what: impl Into<String>) -> Finding {
        Finding { about, verdict: Verdict::Ok, what: what.into(), fix: None }
    }

    fn warning(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { about, verdict: Verdict::Warning, what: what.into(), fix: Some(fix.into()) }
    }

    fn error(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { about, verdict: Verdict::Error, what: what.into(), fix: Some(fix.into()) }
    }

    fn as_json(&self) -> Value {
        let verdict = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Error => "wrong",
        };
        json!({ "check": self.about, "verdict": verdict, "what": self.what, "mend": self.fix })
    }

    fn as_text(&self) -> String {
        let mark = match self.verdict {
            Verdict::Ok => "ok     ",
            Verdict::Warning => "WARNING",
            Verdict::Error => "ERROR  ",
        };
        let fix = self.fix.as_ref().map(|fix| format!("\n{:23}{fix}", "")).unwrap_or_default();
        format!("{mark} {:14} {}{fix}", self.about, self.what)
    }
}

pub(super) async fn run(_args: Args, global: &Global) -> anyhow::Result<()> {
    let findings = check_all(global).await;
    if global.json {
        json_line(Value::Array(findings.iter().map(Finding::as_json).collect()))?;
    } else {
        for finding in &findings {
            line(finding.as_text())?;
        }
    }
    match findings.iter().filter(|finding| finding.verdict == Verdict::Error).count() {
        0 => Ok(()),
        1 => bail!("1 check failed"),
        failed => bail!("{failed} checks failed"),
    }
}

async fn check_all(global: &Global) -> Vec<Finding> {
    let clock = Clock::system();
    let mut findings = Vec::new();
    let raw = match global.settings() {
        Ok(raw) => raw,
        Err(error) => {
            findings.push(Finding::error(
                "settings",
                error.to_string(),
                "correct the setting and check again",
            ));
            return findings;
        }
    };
    let config = settings(&raw, global, &mut findings);
    if let Some(config) = &config {
        if let Some(https) = &config.https {
            findings.extend(certificate::check(https, &config.base_url, clock.now()));
        }
        findings.extend(machine::listeners(config).await);
        findings.extend(machine::open_files(config.max_connections));
    }
    match raw.storage() {
        Ok(storage) => {
            let file = storage.cluster.is_none().then(|| storage.store_file());
            findings.push(machine::clock(file.as_deref(), clock.now()));
            findings.extend(match &storage.cluster {
                None => storage::check_folder(&storage, &clock).await,
                Some(cluster) => storage::check_cluster(&storage, cluster, &clock).await,
            });
        }
        // Only if the error was not reported with the full settings already.
        Err(error) if config.is_none() => {
            findings.push(Finding::error(
                "settings",
                error.to_string(),
                "correct the setting and check again",
            ));
        }
        Err(_) => {}
    }
    findings
}

/// The settings for serve, unless only a data folder is given: that is enough for the other checks.
fn settings(raw: &RawConfig, global: &Global, findings: &mut Vec<Finding>) -> Option<Config> {
    let only_data =
        RawConfig { data_dir: raw.data_dir.clone(), store: raw.store.clone(), ..RawConfig::default() };
    if global.data.is_some() && global.config.is_none() && *raw == only_data {
        findings.push(Finding::ok("settings", "only a data folder is given; serve needs more settings"));
        return None;
    }
    match raw.resolve() {
        Ok(config) => {
            findings.push(Finding::ok("settings", format!("base_url is {}", config.base_url)));
            Some(config)
        }
        Err(error) => {
            findings.push(Finding::error(
                "settings",
                error.to_string(),
                "run tofrom serve --help to see all settings",
            ));
            None
        }
    }
}
