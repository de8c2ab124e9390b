//! `tofrom check`: what is wrong, and what would mend it.
//!
//! It changes nothing: what is not there yet is not made, but for the stream of a cluster's log.

mod certificate;
mod cluster;
mod machine;
mod storage;

use super::Global;
use super::output::{json_line, line};
use crate::clock::Clock;
use crate::config::{Config, RawConfig};
use anyhow::bail;
use serde_json::{Value, json};

/// Looks for what is wrong: settings, certificate, store, log, clock
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tofrom check --config /etc/tofrom/tofrom.toml\n  tofrom check --data ./data --json\n\n\
                        Exits with 1 if anything is wrong, so that it can stand in a timer or a script."
)]
pub(super) struct Args {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Well,
    /// Works now, and will not for long or not for many.
    Doubtful,
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    about: &'static str,
    verdict: Verdict,
    what: String,
    mend: Option<String>,
}

impl Finding {
    fn well(about: &'static str, what: impl Into<String>) -> Finding {
        Finding { about, verdict: Verdict::Well, what: what.into(), mend: None }
    }

    fn doubtful(about: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { about, verdict: Verdict::Doubtful, what: what.into(), mend: Some(mend.into()) }
    }

    fn wrong(about: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { about, verdict: Verdict::Wrong, what: what.into(), mend: Some(mend.into()) }
    }

    fn as_json(&self) -> Value {
        let verdict = match self.verdict {
            Verdict::Well => "ok",
            Verdict::Doubtful => "warning",
            Verdict::Wrong => "wrong",
        };
        json!({ "check": self.about, "verdict": verdict, "what": self.what, "mend": self.mend })
    }

    fn as_text(&self) -> String {
        let mark = match self.verdict {
            Verdict::Well => "ok     ",
            Verdict::Doubtful => "WARNING",
            Verdict::Wrong => "WRONG  ",
        };
        let mend = self.mend.as_ref().map(|mend| format!("\n{:23}{mend}", "")).unwrap_or_default();
        format!("{mark} {:14} {}{mend}", self.about, self.what)
    }
}

pub(super) async fn run(_args: Args, global: &Global) -> anyhow::Result<()> {
    let findings = look(global).await;
    if global.json {
        json_line(Value::Array(findings.iter().map(Finding::as_json).collect()))?;
    } else {
        for finding in &findings {
            line(finding.as_text())?;
        }
    }
    match findings.iter().filter(|finding| finding.verdict == Verdict::Wrong).count() {
        0 => Ok(()),
        1 => bail!("one thing is wrong"),
        many => bail!("{many} things are wrong"),
    }
}

async fn look(global: &Global) -> Vec<Finding> {
    let clock = Clock::system();
    let mut findings = Vec::new();
    let raw = match global.settings() {
        Ok(raw) => raw,
        Err(error) => {
            findings.push(Finding::wrong("settings", error.to_string(), "mend the setting and check again"));
            return findings;
        }
    };
    let config = settings(&raw, global, &mut findings);
    if let Some(config) = &config {
        if let Some(https) = &config.https {
            findings.extend(certificate::look(https, &config.base_url, clock.now()));
        }
        findings.extend(machine::listeners(config).await);
        findings.extend(machine::open_files(config.max_connections));
    }
    match raw.storage() {
        Ok(storage) => {
            let file = storage.cluster.is_none().then(|| storage.store_file());
            findings.push(machine::clock(file.as_deref(), clock.now()));
            findings.extend(match &storage.cluster {
                None => storage::look(&storage, &clock).await,
                Some(cluster) => cluster::look(&storage, cluster, &clock).await,
            });
        }
        // Without a whole configuration nobody has said so yet.
        Err(error) if config.is_none() => {
            findings.push(Finding::wrong("settings", error.to_string(), "mend the setting and check again"));
        }
        Err(_) => {}
    }
    findings
}

/// The settings of a service, unless only a folder was named: that is enough for everything else.
fn settings(raw: &RawConfig, global: &Global, findings: &mut Vec<Finding>) -> Option<Config> {
    let only_data =
        RawConfig { data_dir: raw.data_dir.clone(), store: raw.store.clone(), ..RawConfig::default() };
    if global.data.is_some() && global.config.is_none() && *raw == only_data {
        findings.push(Finding::well("settings", "only a data folder is named; serve would need more"));
        return None;
    }
    match raw.resolve() {
        Ok(config) => {
            findings.push(Finding::well("settings", format!("the service is at {}", config.base_url)));
            Some(config)
        }
        Err(error) => {
            findings.push(Finding::wrong(
                "settings",
                error.to_string(),
                "tofrom serve --help lists the settings",
            ));
            None
        }
    }
}
