//! Settings of a cluster: the CQL database and the NATS servers of the delivery log.

use super::{ConfigError, RawConfig, age};
use std::fmt;
use std::time::Duration;
use store::cql::Nodes;
use store::jetstream::Servers;

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
