//! Settings as written in the file and the environment.

use super::{ConfigError, DEFAULT_FILE};
use crate::telemetry::{FILTER_VARIABLE, FORMAT_VARIABLE};
use config::{FileFormat, Map, Value};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use strsim::levenshtein;

/// All settings. `None` means that a setting has no value.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawConfig {
    /// The public address: `https://host[:port][/prefix]`. Has no default.
    pub base_url: Option<String>,
    /// Address and port of the HTTPS listener.
    pub listen: Option<String>,
    /// Address and port of the admin listener.
    pub admin_listen: Option<String>,
    /// The data folder.
    pub data_dir: Option<PathBuf>,
    /// The certificate of `listen`.
    pub tls: RawTls,
    /// The plain listener behind a proxy.
    pub proxy: RawProxy,
    /// The engine: `sqlite` or `cql`.
    pub store: Option<String>,
    /// The CQL database of a cluster.
    pub cql: RawCql,
    /// The delivery log of a cluster.
    pub nats: RawNats,
    /// Whether plaintext to engines on other machines is allowed.
    pub insecure_cluster_links: Option<bool>,
    /// Whether the operator vouches that the engines of a cluster sync to disk before they acknowledge.
    pub vouch_for_durability: Option<bool>,
    /// The keys that seal secrets. The first one seals new secrets.
    pub secret_keys: Option<Vec<String>>,
    /// Whether every request must send a consumer key.
    pub require_consumer_key: Option<bool>,
    /// Who may sign up: `invite` (people with an invitation) or `open` (all).
    pub registration: Option<String>,
    /// Whether operator pages require a second factor.
    pub operators_need_second_factor: Option<bool>,
    /// Where records of the audit log also go: `stdout`.
    pub audit_log: Option<String>,
    /// How long activities are kept: `90d`, or `forever`.
    pub retention: Option<String>,
    /// Lifetime of OAuth access tokens: `90d`, or `forever`.
    pub token_lifetime: Option<String>,
    /// Origins whose scripts may call the API.
    pub cors_origins: Option<Vec<String>>,
    /// Maximum of the `start` parameter.
    pub max_start: Option<u32>,
    /// Maximum number of items on a page.
    pub max_count: Option<u32>,
    /// Maximum number of open connections.
    pub max_connections: Option<u32>,
    /// How long the listeners keep accepting after the stop signal: `5s`.
    pub shutdown_delay: Option<String>,
    /// Limits for each client.
    pub limits: RawLimits,
    /// Settings of the feed importer.
    pub sources: RawSources,
    /// Settings of hooks.
    pub hooks: RawHooks,
    /// Settings of fan-out.
    pub fanout: RawFanout,
    /// Settings of the media proxy.
    pub media: RawMedia,
    /// Settings of traces.
    pub tracing: RawTracing,
}

/// `tracing.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawTracing {
    /// The address of the collector: `http://127.0.0.1:4318`.
    pub otlp_endpoint: Option<String>,
    /// The share of requests whose traces are recorded: `0.01`.
    pub sample_ratio: Option<String>,
}

/// `media.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawMedia {
    /// Whether pages show pictures of other sites, through this server.
    pub proxy: Option<bool>,
    /// The folder of the cache.
    pub folder: Option<PathBuf>,
    /// The maximum size of the cache: `1GiB`.
    pub max_bytes: Option<String>,
}

/// `fanout.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawFanout {
    /// Activities of accounts with more followers than this are pulled: `10000`, or `off`.
    pub pull_above: Option<String>,
    /// Time without a read after which an account becomes dormant: `30d`, or `off`.
    pub idle_after: Option<String>,
}

/// `sources.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawSources {
    /// Private networks that sources may be fetched from: `10.1.0.0/16`.
    pub networks: Option<Vec<String>>,
    /// Ports that sources may be fetched from besides 80 and 443.
    pub ports: Option<Vec<String>>,
}

/// `hooks.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawHooks {
    /// Private networks that hooks may send to, on any port: `10.1.0.0/16`.
    pub networks: Option<Vec<String>>,
}

/// `tls.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawTls {
    /// The certificate and its chain, in PEM.
    pub certificate: Option<PathBuf>,
    /// Its private key, in PEM.
    pub private_key: Option<PathBuf>,
    /// A certificate from an authority instead.
    pub acme: RawAcme,
}

/// `tls.acme.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawAcme {
    /// The e-mail address for messages of the authority. Turns ACME on.
    pub contact: Option<String>,
    /// The address of the authority's directory.
    pub directory: Option<String>,
    /// The authorities of the directory's own certificate, in PEM.
    pub ca: Option<PathBuf>,
}

/// `proxy.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawProxy {
    /// Address and port.
    pub listen: Option<String>,
    /// Addresses and networks that may connect.
    pub trusted: Option<Vec<String>>,
}

/// `limits.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawLimits {
    /// Maximum number of open connections per client address.
    pub connections_per_address: Option<u32>,
    /// Addresses and networks without that limit.
    pub exempt_networks: Option<Vec<String>>,
    /// Requests per account: `50/s burst 500`, or `off`.
    pub requests: Option<String>,
    /// Requests per operator account: `50/s burst 500`, or `off`.
    pub operator_requests: Option<String>,
    /// Requests that may be queued before others are refused: `64`, or `off`.
    pub queued_requests: Option<String>,
    /// Maximum number of rows that a read looks at.
    pub rows_per_read: Option<u32>,
    /// Maximum number of activities per account.
    pub activities: Option<u64>,
    /// Maximum size of an account's activities: `1GiB`.
    pub activity_size: Option<String>,
    /// Maximum number of accounts that an account follows.
    pub following: Option<u64>,
    /// Maximum number of accounts that an account blocks, and that it mutes.
    pub blocked: Option<u64>,
    /// Maximum number of keys per account.
    pub keys: Option<u64>,
    /// Maximum number of sessions per account.
    pub sessions: Option<u64>,
    /// Maximum number of applications per account.
    pub applications: Option<u64>,
    /// Maximum number of sources per account.
    pub sources: Option<u64>,
}

/// `cql.tls.…` and `nats.tls.…`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawClientTls {
    /// The authorities of the servers' certificates, in PEM.
    pub ca: Option<PathBuf>,
    /// The certificate of this process and its chain, in PEM.
    pub certificate: Option<PathBuf>,
    /// Its private key, in PEM.
    pub private_key: Option<PathBuf>,
}

/// `cql.…`, without `Debug`: it may contain a password.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawCql {
    /// Contact points, `host:port`.
    pub nodes: Option<Vec<String>>,
    /// The datacenter whose nodes are queried.
    pub datacenter: Option<String>,
    /// The name of the keyspace.
    pub keyspace: Option<String>,
    /// The user of this process.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// A file with the password.
    pub password_file: Option<PathBuf>,
    /// The files for TLS.
    pub tls: RawClientTls,
    /// The replication factor of new keyspaces.
    pub replication: Option<u32>,
    /// When a slow statement is also sent to a second node: `99p`, `500ms` or `none`.
    pub speculative_retry: Option<String>,
}

/// `nats.…`, without `Debug`: it may contain a password.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RawNats {
    /// The servers, `nats://host:port`.
    pub servers: Option<Vec<String>>,
    /// Their monitoring endpoints, `http://host:port` or `https://host:port`.
    pub monitor: Option<Vec<String>>,
    /// The name of the stream.
    pub stream: Option<String>,
    /// How long a worker may make no progress before its tasks go to other workers: `5s`.
    pub ack_wait: Option<String>,
    /// A credentials file, or a file with the seed of an NKey.
    pub credentials: Option<PathBuf>,
    /// The user of this process.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
    /// A file with the password.
    pub password_file: Option<PathBuf>,
    /// The files for TLS.
    pub tls: RawClientTls,
    /// The number of replicas of a new stream: 1, 3 or 5.
    pub replicas: Option<u32>,
    /// The maximum size of a new stream: `1GiB`.
    pub max_bytes: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Single,
    /// A whole number.
    Number,
    List,
    /// A relative path in a file is relative to the file's folder.
    Path,
}

/// The names of all settings. A test compares them with the fields of [`RawConfig`].
const SETTINGS: [(&str, Shape); 74] = [
    ("base_url", Shape::Single),
    ("listen", Shape::Single),
    ("admin_listen", Shape::Single),
    ("data_dir", Shape::Path),
    ("tls.certificate", Shape::Path),
    ("tls.private_key", Shape::Path),
    ("tls.acme.contact", Shape::Single),
    ("tls.acme.directory", Shape::Single),
    ("tls.acme.ca", Shape::Path),
    ("proxy.listen", Shape::Single),
    ("proxy.trusted", Shape::List),
    ("store", Shape::Single),
    ("cql.nodes", Shape::List),
    ("cql.datacenter", Shape::Single),
    ("cql.keyspace", Shape::Single),
    ("cql.user", Shape::Single),
    ("cql.password", Shape::Single),
    ("cql.password_file", Shape::Path),
    ("cql.tls.ca", Shape::Path),
    ("cql.tls.certificate", Shape::Path),
    ("cql.tls.private_key", Shape::Path),
    ("cql.replication", Shape::Number),
    ("cql.speculative_retry", Shape::Single),
    ("nats.servers", Shape::List),
    ("nats.monitor", Shape::List),
    ("nats.stream", Shape::Single),
    ("nats.ack_wait", Shape::Single),
    ("nats.credentials", Shape::Path),
    ("nats.user", Shape::Single),
    ("nats.password", Shape::Single),
    ("nats.password_file", Shape::Path),
    ("nats.tls.ca", Shape::Path),
    ("nats.tls.certificate", Shape::Path),
    ("nats.tls.private_key", Shape::Path),
    ("nats.replicas", Shape::Number),
    ("nats.max_bytes", Shape::Single),
    ("insecure_cluster_links", Shape::Single),
    ("vouch_for_durability", Shape::Single),
    ("secret_keys", Shape::List),
    ("require_consumer_key", Shape::Single),
    ("operators_need_second_factor", Shape::Single),
    ("audit_log", Shape::Single),
    ("registration", Shape::Single),
    ("retention", Shape::Single),
    ("token_lifetime", Shape::Single),
    ("cors_origins", Shape::List),
    ("max_start", Shape::Number),
    ("max_count", Shape::Number),
    ("max_connections", Shape::Number),
    ("shutdown_delay", Shape::Single),
    ("limits.connections_per_address", Shape::Number),
    ("limits.exempt_networks", Shape::List),
    ("limits.requests", Shape::Single),
    ("limits.operator_requests", Shape::Single),
    ("limits.queued_requests", Shape::Single),
    ("limits.rows_per_read", Shape::Number),
    ("limits.activities", Shape::Number),
    ("limits.activity_size", Shape::Single),
    ("limits.following", Shape::Number),
    ("limits.blocked", Shape::Number),
    ("limits.keys", Shape::Number),
    ("limits.sessions", Shape::Number),
    ("limits.applications", Shape::Number),
    ("limits.sources", Shape::Number),
    ("sources.networks", Shape::List),
    ("sources.ports", Shape::List),
    ("hooks.networks", Shape::List),
    ("fanout.pull_above", Shape::Single),
    ("fanout.idle_after", Shape::Single),
    ("media.proxy", Shape::Single),
    ("media.folder", Shape::Path),
    ("media.max_bytes", Shape::Single),
    ("tracing.otlp_endpoint", Shape::Single),
    ("tracing.sample_ratio", Shape::Single),
];

const PREFIX: &str = "TOFROM_";
/// Variables of the log, which are read before the settings.
const LOG_VARIABLES: [&str; 2] = [FILTER_VARIABLE, FORMAT_VARIABLE];
/// Prefixes of the variables for the project's scripts and tests.
const PROJECT_PREFIXES: [&str; 4] = ["COMMIT", "ENGINES_", "SCHEMA_COMMAND", "TEST_"];

impl RawConfig {
    /// Reads the settings from `file`, or from `tofrom.toml` if the working folder has one, then from the environment.
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
        let wrong = |error: config::ConfigError| ConfigError::Type(error.to_string());
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
    let origin = path.display().to_string();
    let mut found = Vec::new();
    for (name, value) in flatten(parsed) {
        let (name, shape) = setting(&name, &origin)?;
        let value = match (shape, value.clone().into_string()) {
            (Shape::Path, Ok(relative)) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                Value::from(folder.join(relative).to_string_lossy().into_owned())
            }
            _ => value,
        };
        found.push((name, checked(name, shape, value)?));
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
        // An empty variable counts as unset: many tools can only unset a variable that way.
        let is_for_project = PROJECT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if LOG_VARIABLES.contains(&variable.as_str()) || is_for_project || text.is_empty() {
            continue;
        }
        let (name, shape) = setting(&name.to_ascii_lowercase().replace("__", "."), &variable)?;
        let value = match shape {
            Shape::List => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Value::from(items.map(str::to_owned).collect::<Vec<_>>())
            }
            Shape::Single | Shape::Number | Shape::Path => Value::from(text),
        };
        found.push((name, checked(name, shape, value)?));
    }
    Ok(found)
}

/// The value, unless it is a word in place of a number: `off` would be read as 0.
fn checked(name: &str, shape: Shape, value: Value) -> Result<Value, ConfigError> {
    match (shape, value.clone().into_string()) {
        (Shape::Number, Ok(text)) if text.parse::<u64>().is_err() => {
            Err(ConfigError::Type(format!("{name}: expected a whole number, came {text:?}")))
        }
        _ => Ok(value),
    }
}

/// Finds a setting by its name.
fn setting(name: &str, origin: &str) -> Result<(&'static str, Shape), ConfigError> {
    if let Some(setting) = SETTINGS.iter().find(|(known, _)| *known == name) {
        return Ok(*setting);
    }
    let nearest = SETTINGS.iter().map(|(known, _)| (levenshtein(name, known), *known)).min();
    let hint = match nearest {
        // A suggestion helps only if at least half of the name is right.
        Some((distance, known)) if distance <= name.len().max(known.len()) / 2 => {
            format!("did you mean {known}?")
        }
        _ => {
            let all: Vec<_> = SETTINGS.iter().map(|(known, _)| *known).collect();
            format!("expected one of {}", all.join(", "))
        }
    };
    Err(ConfigError::Unknown { origin: origin.to_owned(), name: name.to_owned(), hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_a_field_and_can_be_set_in_the_environment() {
        for (name, shape) in SETTINGS {
            let variable = format!("{PREFIX}{}", name.to_ascii_uppercase().replace('.', "__"));
            let text = match name {
                "require_consumer_key"
                | "operators_need_second_factor"
                | "vouch_for_durability"
                | "insecure_cluster_links"
                | "media.proxy" => "true",
                _ if shape == Shape::Number => "7",
                _ if shape == Shape::List => "a, b",
                _ => "a",
            };
            assert!(gathered(&variable, text).unwrap() != RawConfig::default(), "{name} is not a field");
            let error = gathered(&variable, "off").err().map(|error| error.to_string());
            let expected = format!("{name}: expected a whole number, came \"off\"");
            assert_eq!(
                error.is_some_and(|error| error.ends_with(&expected)),
                shape == Shape::Number,
                "{name}"
            );
        }
    }

    /// The settings with this variable and an empty file.
    fn gathered(variable: &str, text: &str) -> Result<RawConfig, ConfigError> {
        let empty = std::env::temp_dir().join(format!("tofrom-empty-{}.toml", std::process::id()));
        std::fs::write(&empty, "").unwrap();
        let gathered = RawConfig::gather(Some(&empty), [(variable.to_owned(), text.to_owned())].into_iter());
        std::fs::remove_file(empty).unwrap();
        gathered
    }
}
