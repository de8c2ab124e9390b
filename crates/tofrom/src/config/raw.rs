//! Settings as they were written down, gathered from all places.

use super::{ConfigError, DEFAULT_FILE};
use crate::telemetry::{FILTER_VARIABLE, FORMAT_VARIABLE};
use config::{FileFormat, Map, Value};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Everything that can be set, unless nobody did.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawConfig {
    /// The public address: `https://host[:port][/prefix]`. Has no default.
    pub base_url: Option<String>,
    /// Where HTTPS listens.
    pub listen: Option<String>,
    /// Where the admin listener is.
    pub admin_listen: Option<String>,
    /// The folder for data.
    pub data_dir: Option<PathBuf>,
    /// The certificate of `listen`.
    pub tls: RawTls,
    /// The plain listener behind a proxy.
    pub proxy: RawProxy,
    /// The engine: `sqlite` or `cql`.
    pub store: Option<String>,
    /// The database of a cluster.
    pub cql: RawCql,
    /// The log of a cluster.
    pub nats: RawNats,
    /// Whether the operator vouches that the engines of a cluster sync before they acknowledge.
    pub vouch_for_durability: Option<bool>,
    /// What seals secrets; the first one seals new ones.
    pub secret_keys: Option<Vec<String>>,
    /// Whether every request must name its application.
    pub require_consumer_key: Option<bool>,
    /// Who may make an account on the pages: whoever has an `invitation`, or everybody (`open`).
    pub registration: Option<String>,
    /// How long activities are kept: `90d`, or `forever`.
    pub retention: Option<String>,
    /// How long OAuth access tokens live: `90d`, or `forever`.
    pub token_lifetime: Option<String>,
    /// Origins whose scripts may use the service.
    pub cors_origins: Option<Vec<String>>,
    /// How far `start` reaches.
    pub max_start: Option<u32>,
    /// How many items a page may have.
    pub max_count: Option<u32>,
    /// How many connections may be open.
    pub max_connections: Option<u32>,
    /// How long the listeners go on when the service is told to stop: `5s`.
    pub shutdown_delay: Option<String>,
    /// What one client may have.
    pub limits: RawLimits,
    /// What is fetched elsewhere.
    pub sources: RawSources,
    /// By which way activities come to followers.
    pub fanout: RawFanout,
}

/// `fanout.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawFanout {
    /// What accounts do that more than so many follow is pulled: `10000`, or `off`.
    pub pull_above: Option<String>,
    /// After how long without a read nothing is pushed to an account: `30d`, or `off`.
    pub idle_after: Option<String>,
}

/// `sources.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawSources {
    /// Networks of one's own that sources may be fetched from: `10.1.0.0/16`.
    pub networks: Option<Vec<String>>,
    /// Ports that sources may be fetched from besides 80 and 443.
    pub ports: Option<Vec<String>>,
}

/// `tls.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawTls {
    /// The certificate and its chain, in PEM.
    pub certificate: Option<PathBuf>,
    /// Its private key, in PEM.
    pub private_key: Option<PathBuf>,
}

/// `proxy.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawProxy {
    /// Where it listens.
    pub listen: Option<String>,
    /// Addresses and networks that may connect.
    pub trusted: Option<Vec<String>>,
}

/// `limits.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawLimits {
    /// Open connections of one address.
    pub connections_per_address: Option<u32>,
    /// Addresses and networks that have no such limit.
    pub exempt_networks: Option<Vec<String>>,
}

/// `cql.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawCql {
    /// Nodes to begin with, `host:port`.
    pub nodes: Option<Vec<String>>,
    /// The datacenter whose nodes are asked.
    pub datacenter: Option<String>,
    /// The name of the keyspace.
    pub keyspace: Option<String>,
}

/// `nats.…`, without `Debug`: an address may have a password in it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawNats {
    /// The servers, `nats://host:port`.
    pub servers: Option<Vec<String>>,
    /// Their monitors, `http://host:port`.
    pub monitor: Option<Vec<String>>,
    /// The name of the stream.
    pub stream: Option<String>,
    /// How long a worker may show no progress before others get its tasks: `5s`.
    pub ack_wait: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Single,
    List,
    /// In a file, a relative one counts from the file.
    Path,
}

/// Every setting's name. A test holds it to the fields of [`RawConfig`].
const SETTINGS: [(&str, Shape); 33] = [
    ("base_url", Shape::Single),
    ("listen", Shape::Single),
    ("admin_listen", Shape::Single),
    ("data_dir", Shape::Path),
    ("tls.certificate", Shape::Path),
    ("tls.private_key", Shape::Path),
    ("proxy.listen", Shape::Single),
    ("proxy.trusted", Shape::List),
    ("store", Shape::Single),
    ("cql.nodes", Shape::List),
    ("cql.datacenter", Shape::Single),
    ("cql.keyspace", Shape::Single),
    ("nats.servers", Shape::List),
    ("nats.monitor", Shape::List),
    ("nats.stream", Shape::Single),
    ("nats.ack_wait", Shape::Single),
    ("vouch_for_durability", Shape::Single),
    ("secret_keys", Shape::List),
    ("require_consumer_key", Shape::Single),
    ("registration", Shape::Single),
    ("retention", Shape::Single),
    ("token_lifetime", Shape::Single),
    ("cors_origins", Shape::List),
    ("max_start", Shape::Single),
    ("max_count", Shape::Single),
    ("max_connections", Shape::Single),
    ("shutdown_delay", Shape::Single),
    ("limits.connections_per_address", Shape::Single),
    ("limits.exempt_networks", Shape::List),
    ("sources.networks", Shape::List),
    ("sources.ports", Shape::List),
    ("fanout.pull_above", Shape::Single),
    ("fanout.idle_after", Shape::Single),
];

const PREFIX: &str = "TOFROM_";
/// Variables of ours that are no settings: they count before there are any.
const NO_SETTINGS: [&str; 2] = [FILTER_VARIABLE, FORMAT_VARIABLE];
/// What variables begin with that the project's own scripts and tests take.
const OF_THE_PROJECT: [&str; 4] = ["COMMIT", "ENGINES_", "SCHEMA_COMMAND", "TEST_"];

impl RawConfig {
    /// Gathers the settings: from `file`, or from `tofrom.toml` if there is one here, then from the environment.
    pub fn gather(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<RawConfig, ConfigError> {
        let mut all = Vec::new();
        match file {
            Some(file) => all.extend(from_file(file)?),
            None if Path::new(DEFAULT_FILE).exists() => all.extend(from_file(Path::new(DEFAULT_FILE))?),
            None => {}
        }
        all.extend(from_environment(environment)?);
        let wrong = |error: config::ConfigError| ConfigError::value("settings", error.to_string());
        let mut builder = config::Config::builder();
        for (name, value) in all {
            builder = builder.set_override(name, value).map_err(wrong)?;
        }
        builder.build().map_err(wrong)?.try_deserialize().map_err(wrong)
    }
}

type Setting = (&'static str, Value);

fn from_file(path: &Path) -> Result<Vec<Setting>, ConfigError> {
    let unreadable = |why: String| ConfigError::File { path: path.to_owned(), why };
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let file = config::File::from_str(&text, FileFormat::Toml);
    let parsed = config::Config::builder()
        .add_source(file)
        .build()
        .and_then(config::Config::try_deserialize::<Map<String, Value>>)
        .map_err(|error| unreadable(error.to_string()))?;
    let place = path.display().to_string();
    let mut found = Vec::new();
    for (name, value) in flatten(parsed) {
        let (name, shape) = known(&name, &place)?;
        let value = match (shape, value.clone().into_string()) {
            (Shape::Path, Ok(relative)) => {
                let from = path.parent().unwrap_or(Path::new(""));
                Value::from(from.join(relative).to_string_lossy().into_owned())
            }
            _ => value,
        };
        found.push((name, value));
    }
    Ok(found)
}

/// `tls = { certificate = … }` and `tls.certificate = …` are one setting.
fn flatten(table: Map<String, Value>) -> Vec<(String, Value)> {
    let mut flat = Vec::new();
    for (name, value) in table {
        match value.clone().into_table() {
            Ok(inner) if !inner.is_empty() => {
                flat.extend(
                    flatten(inner).into_iter().map(|(below, value)| (format!("{name}.{below}"), value)),
                );
            }
            _ => flat.push((name, value)),
        }
    }
    flat
}

fn from_environment(variables: impl Iterator<Item = (String, String)>) -> Result<Vec<Setting>, ConfigError> {
    let mut found = Vec::new();
    for (variable, text) in variables {
        let Some(name) = variable.strip_prefix(PREFIX) else { continue };
        // An empty variable is how one is taken back in many places.
        let of_the_project = OF_THE_PROJECT.iter().any(|prefix| name.starts_with(prefix));
        if NO_SETTINGS.contains(&variable.as_str()) || of_the_project || text.is_empty() {
            continue;
        }
        let (name, shape) = known(&name.to_ascii_lowercase().replace("__", "."), &variable)?;
        let value = match shape {
            Shape::List => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Value::from(items.map(str::to_owned).collect::<Vec<_>>())
            }
            Shape::Single | Shape::Path => Value::from(text),
        };
        found.push((name, value));
    }
    Ok(found)
}

fn known(name: &str, place: &str) -> Result<(&'static str, Shape), ConfigError> {
    if let Some(setting) = SETTINGS.iter().find(|(known, _)| *known == name) {
        return Ok(*setting);
    }
    let nearest = SETTINGS.iter().map(|(known, _)| (distance(name, known), *known)).min();
    let hint = match nearest {
        // Half of it may be wrong, but not all.
        Some((distance, known)) if distance <= name.len().max(known.len()) / 2 => format!("; is it {known}?"),
        _ => {
            let all: Vec<_> = SETTINGS.iter().map(|(known, _)| *known).collect();
            format!("; there are {}", all.join(", "))
        }
    };
    Err(ConfigError::Unknown { place: place.to_owned(), name: name.to_owned(), hint })
}

/// How many letters one would have to add, take away or change (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, in_a) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (above, in_b) in row.iter_mut().skip(1).zip(b.chars()) {
            let here = (diagonal + usize::from(in_a != in_b)).min(left + 1).min(*above + 1);
            diagonal = std::mem::replace(above, here);
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn every_setting_is_a_field_and_can_be_set_in_the_environment() {
        for (name, shape) in SETTINGS {
            let variable = format!("{PREFIX}{}", name.to_ascii_uppercase().replace('.', "__"));
            let text = match name {
                "require_consumer_key" | "vouch_for_durability" => "true",
                "max_start" | "max_count" | "max_connections" | "limits.connections_per_address" => "7",
                _ if shape == Shape::List => "a, b",
                _ => "a",
            };
            let nowhere = std::env::temp_dir().join(format!("tofrom-empty-{}.toml", std::process::id()));
            std::fs::write(&nowhere, "").unwrap();
            let gathered = RawConfig::gather(Some(&nowhere), [(variable, text.to_owned())].into_iter());
            std::fs::remove_file(nowhere).unwrap();
            assert!(gathered.unwrap() != RawConfig::default(), "{name} is no field");
        }
    }
}
