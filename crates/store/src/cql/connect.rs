//! The connection to the nodes, and their default settings.

use super::speculation::{Latencies, Speculation};
use crate::links::{ClientTls, Login};
use crate::{Result, StoreError};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::load_balancing::{DefaultPolicy, LoadBalancingPolicy};
use scylla::policies::retry::DefaultRetryPolicy;
use scylla::statement::{Consistency, SerialConsistency};
use std::sync::Arc;
use std::time::Duration;

/// The time after which the outcome of a request is unknown.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// The nodes of the database.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// Contact points, `host:port`.
    pub nodes: Vec<String>,
    /// The datacenter whose nodes are used.
    pub datacenter: String,
    /// The keyspace for collections. The one for identities has the suffix `_ident`.
    pub keyspace: String,
    /// The user of this process. `None`: the nodes ask for none.
    pub login: Option<Login>,
    /// The files for TLS. `None`: plaintext.
    pub tls: Option<ClientTls>,
    /// The replication factor of keyspaces that are created. Existing ones keep theirs.
    pub replication: u32,
    /// When a slow statement is also sent to a second node.
    pub speculation: Speculation,
}

impl Default for Nodes {
    /// No nodes, and the default of every other setting.
    fn default() -> Nodes {
        Nodes {
            nodes: Vec::new(),
            datacenter: "datacenter1".to_owned(),
            keyspace: "tofrom".to_owned(),
            login: None,
            tls: None,
            replication: 3,
            // An overloaded cluster gets one duplicate in a hundred statements. A fixed delay would double its load.
            speculation: Speculation::Percentile(99),
        }
    }
}

pub(super) struct Connection {
    pub session: Session,
    /// The order of nodes for a statement.
    pub balancing: Arc<dyn LoadBalancingPolicy>,
    /// What speculative execution needs to know, if it does.
    pub latencies: Option<Arc<Latencies>>,
}

/// Connects to the nodes. The driver knows them by their addresses, so a certificate must contain its node's address.
pub(super) async fn connect(nodes: &Nodes) -> Result<Connection> {
    let unavailable = |error: String| StoreError::Unavailable(format!("Cassandra or ScyllaDB: {error}"));
    let tls = nodes.tls.as_ref().map(ClientTls::client_config).transpose();
    let (speculation, latencies) = nodes.speculation.policy();
    let balancing =
        DefaultPolicy::builder().prefer_datacenter(nodes.datacenter.clone()).token_aware(true).build();
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::LocalQuorum)
        .serial_consistency(Some(SerialConsistency::LocalSerial))
        .request_timeout(Some(TIMEOUT))
        .load_balancing_policy(Arc::clone(&balancing))
        .retry_policy(Arc::new(DefaultRetryPolicy::new()))
        .speculative_execution_policy(speculation)
        .build();
    let mut builder = SessionBuilder::new()
        .known_nodes(&nodes.nodes)
        // Waiting after each schema change would take most of the time; `await_schema_agreement` waits once.
        .auto_await_schema_agreement(false)
        .default_execution_profile_handle(profile.into_handle())
        .tls_context(tls.map_err(|error| unavailable(error.to_string()))?);
    if let Some(login) = &nodes.login {
        builder = builder.user(&login.user, login.password.reveal());
    }
    let session = builder.build().await.map_err(|error| unavailable(error.to_string()))?;
    Ok(Connection { session, balancing, latencies })
}
