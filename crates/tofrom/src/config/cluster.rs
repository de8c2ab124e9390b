//! Settings of a cluster: the CQL database and the NATS servers of the delivery log.

use super::{ConfigError, RawConfig, age};
use aws_lc_rs::digest::{SHA256, digest};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use store::cql::Nodes;
use store::jetstream::{MessageKeys, Servers};

const DEFAULT_DATACENTER: &str = "datacenter1";
const DEFAULT_KEYSPACE: &str = "tofrom";
const DEFAULT_ACK_WAIT: Duration = Duration::from_secs(5);
/// Maximum size of the delivery log.
const MAX_BYTES: i64 = 1 << 30;
/// Cassandra allows 48, and the second keyspace appends `_ident` to the name.
const MAX_KEYSPACE_LEN: usize = 42;

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
        let nodes = Nodes {
            nodes: required("cql.nodes", self.cql.nodes.as_deref(), &[], "127.0.0.1:9042")?,
            datacenter: self.cql.datacenter.clone().unwrap_or_else(|| DEFAULT_DATACENTER.to_owned()),
            keyspace: self.keyspace()?,
        };
        let monitors = self.nats.monitor.as_deref().unwrap_or_default();
        let servers = Servers {
            servers: required(
                "nats.servers",
                self.nats.servers.as_deref(),
                &["nats://", "tls://"],
                "nats://127.0.0.1:4222",
            )?,
            monitor: addresses("nats.monitor", monitors, &["http://"], "http://127.0.0.1:8222")?,
            stream: self.stream(&nodes.keyspace)?,
            ack_wait: self.ack_wait()?,
            max_bytes: MAX_BYTES,
            // Derived from `secret_keys` when the store is opened.
            keys: MessageKeys::new(Vec::new()),
        };
        Ok(Cluster { nodes, servers, vouched: self.vouch_for_durability.unwrap_or(false) })
    }

    fn keyspace(&self) -> Result<String, ConfigError> {
        let name = self.cql.keyspace.as_deref().unwrap_or(DEFAULT_KEYSPACE);
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

    fn ack_wait(&self) -> Result<Duration, ConfigError> {
        Ok(age("nats.ack_wait", self.nats.ack_wait.as_deref())?.unwrap_or(DEFAULT_ACK_WAIT))
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
        let bare = schemes.iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
        // The part before the @ is a secret and must not appear in an error.
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
            folder_name(&Nodes { nodes, datacenter: "datacenter1".to_owned(), keyspace: keyspace.to_owned() })
        };
        let name = named(&["a:1", "b:1"], "tofrom");
        assert!(name.starts_with("demo-tofrom-") && name.len() == 20, "{name}");
        assert_eq!(named(&["b:1", "a:1"], "tofrom"), name);
        assert_ne!(named(&["a:2", "b:1"], "tofrom"), name);
        assert_ne!(named(&["a:1", "b:1"], "other"), name);
    }
}
