//! The engines of a cluster: which database, which log.

use super::{ConfigError, RawConfig, parse_age};
use std::fmt;
use std::time::Duration;
use store::cql::Nodes;
use store::jetstream::Servers;

const DEFAULT_DATACENTER: &str = "datacenter1";
const DEFAULT_KEYSPACE: &str = "tofrom";
const DEFAULT_ACK_WAIT: Duration = Duration::from_secs(5);
/// How much may wait in the log.
const MAX_BYTES: i64 = 1 << 30;
/// Cassandra takes 48, and the second keyspace has `_ident` behind its name.
const LONGEST_KEYSPACE: usize = 42;

/// A cluster, as far as the settings tell.
#[derive(Clone)]
pub struct Cluster {
    /// The database.
    pub nodes: Nodes,
    /// The log.
    pub servers: Servers,
    /// The operator vouches that both sync before they acknowledge, because they can't be asked.
    pub vouched: bool,
}

impl fmt::Debug for Cluster {
    /// Without the servers of the log: their addresses may have passwords in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({} of {})", self.nodes.keyspace, self.nodes.nodes.join(", "))
    }
}

impl RawConfig {
    pub(super) fn cluster(&self) -> Result<Cluster, ConfigError> {
        let nodes = Nodes {
            nodes: needed("cql.nodes", self.cql.nodes.as_deref(), &[], "127.0.0.1:9042")?,
            datacenter: self.cql.datacenter.clone().unwrap_or_else(|| DEFAULT_DATACENTER.to_owned()),
            keyspace: self.keyspace()?,
        };
        let monitors = self.nats.monitor.as_deref().unwrap_or_default();
        let servers = Servers {
            servers: needed(
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
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let goes_on = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !begins || !goes_on || name.len() > LONGEST_KEYSPACE {
            let why = format!(
                "{name:?} is no name; right would be up to {LONGEST_KEYSPACE} letters, digits and underscores, a letter first"
            );
            return Err(ConfigError::value("cql.keyspace", why));
        }
        // As the database takes it, so that the stream that is named after it is one however it is written.
        Ok(name.to_ascii_lowercase())
    }

    fn stream(&self, keyspace: &str) -> Result<String, ConfigError> {
        let name = self.nats.stream.as_deref().unwrap_or(keyspace);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            let why = format!("{name:?} is no name; right would be letters, digits, underscores and hyphens");
            return Err(ConfigError::value("nats.stream", why));
        }
        Ok(name.to_owned())
    }

    fn ack_wait(&self) -> Result<Duration, ConfigError> {
        let text = self.nats.ack_wait.as_deref();
        let age = text
            .map(|text| parse_age(text).map_err(|why| ConfigError::value("nats.ack_wait", why.to_string())));
        Ok(age.transpose()?.unwrap_or(DEFAULT_ACK_WAIT))
    }
}

/// Addresses without which there is no cluster.
fn needed(
    name: &'static str,
    given: Option<&[String]>,
    schemes: &[&str],
    example: &str,
) -> Result<Vec<String>, ConfigError> {
    match given {
        None | Some([]) => {
            let why = format!(
                "is not set, and store = \"cql\" needs it; right would be a list like [\"{example}\"]"
            );
            Err(ConfigError::value(name, why))
        }
        Some(given) => addresses(name, given, schemes, example),
    }
}

/// Checks addresses with a host and a port, and perhaps one of the schemes before that.
fn addresses(
    name: &'static str,
    given: &[String],
    schemes: &[&str],
    example: &str,
) -> Result<Vec<String>, ConfigError> {
    for address in given {
        let bare = schemes.iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
        // What is before the @ is a secret, and errors are read by many.
        let bare = bare.rsplit('@').next().unwrap_or(bare).trim_end_matches('/');
        let host =
            bare.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map(|(host, _)| host);
        if host.is_none_or(|host| host.is_empty() || host.contains(['/', ' ', '?'])) {
            let why = format!("{bare:?} is no host and port; right would be one like {example}");
            return Err(ConfigError::value(name, why));
        }
    }
    Ok(given.to_vec())
}
