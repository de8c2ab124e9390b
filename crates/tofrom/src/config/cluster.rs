//! Settings of a cluster: the CQL database and the NATS servers of the delivery log.

use super::values::{SIZE_EXPECTED, parse_size};
use super::{ConfigError, RawConfig, age, parse_age};
use aws_lc_rs::digest::{SHA256, digest};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use store::cql::{Nodes, Speculation};
use store::jetstream::Servers;

/// Cassandra allows 48, and the second keyspace appends `_ident` to the name.
const MAX_KEYSPACE_LEN: usize = 42;
/// The highest replication factor: no cluster of one datacenter needs more.
const MAX_REPLICATION: u32 = 9;

/// How to encrypt each link.
const SECURE_CQL: &str = "Set cql.tls.ca";
const SECURE_NATS: &str = "Set nats.tls.ca, or use tls://";
const SECURE_MONITOR: &str = "Use https:// with nats.tls.ca, or leave it out and set vouch_for_durability";

/// The settings of a cluster.
#[derive(Clone)]
pub struct Cluster {
    /// The CQL database.
    pub nodes: Nodes,
    /// The NATS servers of the delivery log.
    pub servers: Servers,
    /// The operator vouches that both sync to disk before they acknowledge, where that cannot be checked.
    pub vouched: bool,
}

impl fmt::Debug for Cluster {
    /// Omits the NATS servers: their addresses may contain passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({} of {})", self.nodes.keyspace, self.nodes.nodes.join(", "))
    }
}

impl RawConfig {
    pub(super) fn cluster(&self) -> Result<Cluster, ConfigError> {
        let nodes = self.nodes()?;
        let servers = self.servers(&nodes.keyspace)?;
        self.demand_encryption("cql.nodes", &nodes.nodes, |_| nodes.tls.is_some(), SECURE_CQL)?;
        let is_encrypted = |address: &str| servers.tls.is_some() || address.starts_with("tls://");
        self.demand_encryption("nats.servers", &servers.servers, is_encrypted, SECURE_NATS)?;
        let is_encrypted = |address: &str| address.starts_with("https://");
        self.demand_encryption("nats.monitor", &servers.monitor, is_encrypted, SECURE_MONITOR)?;
        Ok(Cluster { nodes, servers, vouched: self.vouch_for_durability.unwrap_or(false) })
    }

    fn nodes(&self) -> Result<Nodes, ConfigError> {
        let defaults = Nodes::default();
        Ok(Nodes {
            nodes: required("cql.nodes", self.cql.nodes.as_deref(), &[], "127.0.0.1:9042")?,
            datacenter: self.cql.datacenter.clone().unwrap_or(defaults.datacenter),
            keyspace: self.keyspace(defaults.keyspace)?,
            login: self.cql_login()?,
            tls: self.cql_tls()?,
            replication: self.replication()?.unwrap_or(defaults.replication),
            speculation: self.speculation()?.unwrap_or(defaults.speculation),
        })
    }

    fn servers(&self, keyspace: &str) -> Result<Servers, ConfigError> {
        let defaults = Servers::default();
        let servers = self.nats.servers.as_deref();
        let monitors = self.nats.monitor.as_deref().unwrap_or_default();
        let tls = self.nats_tls()?;
        if tls.is_none() && monitors.iter().any(|monitor| monitor.starts_with("https://")) {
            let expected = "nats.monitor with https needs it: expected the path of a PEM file";
            return Err(ConfigError::missing("nats.tls.ca", expected));
        }
        Ok(Servers {
            servers: required("nats.servers", servers, &["nats://", "tls://"], "nats://127.0.0.1:4222")?,
            monitor: addresses("nats.monitor", monitors, &["http://", "https://"], "http://127.0.0.1:8222")?,
            stream: self.stream(keyspace)?,
            ack_wait: age("nats.ack_wait", self.nats.ack_wait.as_deref())?.unwrap_or(defaults.ack_wait),
            max_bytes: self.max_bytes()?.unwrap_or(defaults.max_bytes),
            replicas: self.replicas()?.unwrap_or(defaults.replicas),
            login: self.nats_login()?,
            tls,
            floor_max_age: defaults.floor_max_age,
            // Derived from `secret_keys` when the store is opened.
            keys: defaults.keys,
        })
    }

    fn replication(&self) -> Result<Option<u32>, ConfigError> {
        match self.cql.replication {
            Some(factor) if !(1..=MAX_REPLICATION).contains(&factor) => {
                let expected = format!("a number of replicas from 1 to {MAX_REPLICATION}, like 3");
                Err(ConfigError::invalid("cql.replication", factor.to_string(), expected))
            }
            factor => Ok(factor),
        }
    }

    fn speculation(&self) -> Result<Option<Speculation>, ConfigError> {
        let Some(text) = self.cql.speculative_retry.as_deref() else { return Ok(None) };
        let parse = || {
            if text == "none" {
                return Some(Speculation::Off);
            }
            if let Some(percentile) = text.strip_suffix('p') {
                let percentile = percentile.parse().ok().filter(|percentile| (50..100).contains(percentile));
                return percentile.map(Speculation::Percentile);
            }
            let delay = match text.strip_suffix("ms") {
                Some(millis) => millis.parse().ok().filter(|millis| *millis > 0).map(Duration::from_millis),
                None => parse_age(text).ok(),
            };
            delay.map(Speculation::After)
        };
        let expected = "a percentile from 50p to 99p, a time like 500ms, or none";
        parse().map(Some).ok_or_else(|| ConfigError::invalid("cql.speculative_retry", text, expected))
    }

    fn replicas(&self) -> Result<Option<usize>, ConfigError> {
        match self.nats.replicas {
            None => Ok(None),
            Some(1) => Ok(Some(1)),
            Some(3) => Ok(Some(3)),
            Some(5) => Ok(Some(5)),
            Some(other) => Err(ConfigError::invalid("nats.replicas", other.to_string(), "1, 3 or 5")),
        }
    }

    fn max_bytes(&self) -> Result<Option<i64>, ConfigError> {
        let Some(text) = self.nats.max_bytes.as_deref() else { return Ok(None) };
        parse_size(text).map(Some).ok_or_else(|| ConfigError::invalid("nats.max_bytes", text, SIZE_EXPECTED))
    }

    fn keyspace(&self, default: String) -> Result<String, ConfigError> {
        let name = self.cql.keyspace.clone().unwrap_or(default);
        let starts_with_letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !starts_with_letter || !is_plain || name.len() > MAX_KEYSPACE_LEN {
            let expected =
                format!("up to {MAX_KEYSPACE_LEN} letters, digits and underscores, starting with a letter");
            return Err(ConfigError::invalid("cql.keyspace", name, expected));
        }
        // CQL names are case-insensitive, but stream names are not: the default stream is named after the keyspace.
        Ok(name.to_ascii_lowercase())
    }

    fn stream(&self, keyspace: &str) -> Result<String, ConfigError> {
        let name = self.nats.stream.as_deref().unwrap_or(keyspace);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return Err(ConfigError::invalid(
                "nats.stream",
                name,
                "letters, digits, underscores and hyphens",
            ));
        }
        Ok(name.to_owned())
    }
}

/// Checks addresses that a cluster requires.
fn required(
    name: &'static str,
    values: Option<&[String]>,
    schemes: &[&str],
    example: &str,
) -> Result<Vec<String>, ConfigError> {
    match values {
        None | Some([]) => {
            let expected = format!("store = \"cql\" needs it: expected a list like [\"{example}\"]");
            Err(ConfigError::missing(name, expected))
        }
        Some(values) => addresses(name, values, schemes, example),
    }
}

/// Checks addresses of a host and a port, with an optional scheme out of `schemes`.
fn addresses(
    name: &'static str,
    values: &[String],
    schemes: &[&str],
    example: &str,
) -> Result<Vec<String>, ConfigError> {
    for address in values {
        // The part before the @ is a secret and must not appear in an error.
        let bare = schemes.iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
        let bare = bare.rsplit('@').next().unwrap_or(bare).trim_end_matches('/');
        let host =
            bare.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map(|(host, _)| host);
        if host.is_none_or(|host| host.is_empty() || host.contains(['/', ' ', '?'])) {
            return Err(ConfigError::invalid(name, bare, format!("a host and a port, like {example}")));
        }
    }
    Ok(values.to_vec())
}

impl Cluster {
    /// The folder where the demo on this cluster keeps its secrets: in the user's state folder, named after the cluster.
    /// `None` if neither `XDG_STATE_HOME` nor `HOME` is set.
    pub fn demo_folder(&self) -> Option<PathBuf> {
        let state = state_folder(|name| std::env::var_os(name))?;
        Some(state.join("tofrom").join(folder_name(&self.nodes)))
    }
}

/// The user's state folder, by the XDG base directory specification.
fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
}

/// A name derived from the nodes, in any order, and the keyspace. It stays the same when the cluster is emptied, so
/// that the secrets can be used again.
fn folder_name(nodes: &Nodes) -> String {
    let mut all = nodes.nodes.clone();
    all.sort_unstable();
    all.dedup();
    let hash = digest(&SHA256, all.join(" ").as_bytes());
    let short = hash.as_ref().get(..4).map_or_else(String::new, hex::encode);
    format!("demo-{}-{short}", nodes.keyspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_follows_the_xdg_specification() {
        let with = |pairs: &[(&str, &str)]| {
            state_folder(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
            })
        };
        let home = ("HOME", "/home/me");
        assert_eq!(with(&[home]).unwrap(), PathBuf::from("/home/me/.local/state"));
        assert_eq!(with(&[home, ("XDG_STATE_HOME", "/state")]).unwrap(), PathBuf::from("/state"));
        let relative = with(&[home, ("XDG_STATE_HOME", "state")]).unwrap();
        assert_eq!(relative, PathBuf::from("/home/me/.local/state"), "a relative path is ignored");
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn a_folder_is_named_after_nodes_and_keyspace() {
        let named = |nodes: &[&str], keyspace: &str| {
            let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
            folder_name(&Nodes { nodes, keyspace: keyspace.to_owned(), ..Nodes::default() })
        };
        let name = named(&["a:1", "b:1"], "tofrom");
        assert!(name.starts_with("demo-tofrom-") && name.len() == 20, "{name}");
        assert_eq!(named(&["b:1", "a:1"], "tofrom"), name);
        assert_ne!(named(&["a:2", "b:1"], "tofrom"), name);
        assert_ne!(named(&["a:1", "b:1"], "other"), name);
    }
}
