//! `tofrom serve`: starts and stops all parts of the server in the right order.

mod running;
mod start;
mod supervisor;

pub use running::{Running, stop_signal};
pub use start::{start, start_worker};

use super::copy::require_complete_copy;
use super::{Global, UsageError};
use crate::config::{Config, Engine, Storage};
use anyhow::Context;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// Run the server
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom serve --config /etc/tofrom/tofrom.toml
  TOFROM_BASE_URL=https://feeds.example.org TOFROM_TLS__CERTIFICATE=cert.pem \\
      TOFROM_TLS__PRIVATE_KEY=key.pem tofrom serve --data ./data
  tofrom serve --role worker --config /etc/tofrom/cluster.toml

Settings (file, environment):
  base_url              public address of the server: https://host[:port][/prefix]; required
  tls.certificate       PEM file with the certificate and its chain; reloaded when it changes
  tls.private_key       PEM file with the private key
  tls.acme.contact      your e-mail address: requests and renews a certificate from an authority instead of
                        tls.certificate; it must reach the listener as port 443 of the host of base_url
  tls.acme.directory    the authority [Let's Encrypt]
  tls.acme.ca           PEM file with the authorities of the directory's own certificate [those of this machine]
  listen                HTTPS listener [0.0.0.0:8443]
  proxy.listen          plain HTTP listener behind a proxy that terminates TLS; off unless set
  proxy.trusted         addresses and networks of the proxy; all others are rejected
  admin_listen          plain HTTP listener for /healthz, /readyz and /metrics [127.0.0.1:8444]
  data_dir              data folder [./tofrom-data]
  store                 sqlite: a file in the data folder; cql: a cluster [sqlite]
  secret_keys           keys that encrypt stored secrets: 32 bytes each in base64 or hexadecimal; the first one
                        encrypts [the file secret.key in the data folder; required for a cluster]
  require_consumer_key  every request must identify its application [false]
  registration          who can create an account on the website: invite or open [invite]
  operators_need_second_factor
                        operator pages require two-factor authentication [false]
  audit_log             stdout: also write the audit log to standard output, as JSON lines [only in the store]
  retention             how long activities are kept: 90d [forever]
  token_lifetime        lifetime of OAuth access tokens: 90d [forever]
  cors_origins          origins whose scripts may read [none]
  max_start             maximum of the parameter start [100000]
  max_count             maximum items of a page [1000]
  max_connections       maximum open connections [20000]
  limits.connections_per_address
                        maximum open connections of one address [256]
  limits.exempt_networks
                        networks without that limit: 10.1.0.0/16 [none; proxy.trusted is always exempt]
  limits.queued_requests
                        requests that may wait for the processor or the store before others get 503; off: any
                        number [64]
  shutdown_delay        how long to accept requests after SIGTERM while /readyz answers 503, so that a load
                        balancer notices: 5s [0s]
  sources.networks      private networks that sources may be fetched from: 10.1.0.0/16 [none]
  sources.ports         ports that sources may be fetched from besides 80 and 443 [none]
  hooks.networks        private networks that hooks may send to, on any port: 10.1.0.0/16 [none]
  media.proxy           show pictures of other sites on pages, fetched and scaled down by this server [true]
  media.folder          folder of the cache of such pictures [media in the data folder; on a cluster none: a small
                        cache in memory]
  media.max_bytes       size of that cache at which the least recently used pictures are removed: 512MiB [1GiB]
  fanout.pull_above     activities of accounts with more followers than this are merged at read time instead of
                        written to every follower; off: never [10000]
  fanout.idle_after     accounts not read for this long are dormant: fan-out skips them, except for activities
                        addressed to them, and they catch up at the next read; off: never [30d]
  tracing.otlp_endpoint traces are sent to this collector, by OTLP over HTTP: http://127.0.0.1:4318 [off]
  tracing.sample_ratio  share of requests whose traces are recorded, from 0 to 1: 0.01 [1]

Settings of a cluster (store = cql):
  cql.nodes             contact points of Cassandra or ScyllaDB: host:port; required
  cql.datacenter        local data centre [datacenter1]
  cql.keyspace          keyspace [tofrom]
  cql.user, cql.password, cql.password_file
                        login; the password itself or a file that contains it [none]
  cql.tls.ca            authorities of the nodes' certificates; turns TLS on [none]
  cql.tls.certificate, cql.tls.private_key
                        certificate of this process, if the nodes ask for one [none]
  cql.replication       replicas of keyspaces that tofrom schema apply creates [3]
  cql.speculative_retry time after which a statement is also sent to a second node: a percentile of recent
                        latencies like 99p, a time like 500ms, or none [99p]
  nats.servers          all NATS servers: nats://host:port or tls://host:port; required
  nats.monitor          NATS monitoring endpoints: http://host:port or https://host:port
  nats.stream           stream [same as the keyspace]
  nats.ack_wait         time without a sign of life after which another worker takes over a task [5s]
  nats.credentials      login: a credentials file, or a file with the seed of an NKey [none]
  nats.user, nats.password, nats.password_file
                        login instead of nats.credentials [none]
  nats.tls.ca           authorities of the servers' certificates; turns TLS on [none]
  nats.tls.certificate, nats.tls.private_key
                        certificate of this process, if the servers ask for one [none]
  nats.replicas         replicas of the stream: 1, 3 or 5 [3]
  nats.max_bytes        size of the stream at which writes are refused: 10GiB [1GiB]
  insecure_cluster_links
                        allow connections without TLS to other machines [false]
  vouch_for_durability  you guarantee that the database and NATS sync to disk before they acknowledge, if that
                        cannot be checked [false]

SIGTERM and SIGINT stop the server: /readyz answers 503 immediately, requests are accepted for shutdown_delay, then
requests in progress have 10 s to finish. SIGHUP reloads the certificate.")]
pub struct Args {
    /// Role of this process; a single-machine server always has all
    #[arg(long, value_enum, default_value_t)]
    role: Role,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let settings = global.settings()?;
    args.role.check(&settings.storage()?)?;
    // Signal handlers are installed before anything starts, so that no signal is missed.
    let stop = stop_signal()?;
    if args.role == Role::Worker {
        let config = settings.resolve_worker()?;
        let engine = config.storage.open().await?;
        require_complete_copy(&engine).await?;
        log_differences(&engine).await;
        let admin = bind("admin_listen", Some(config.admin_listen)).await?;
        return start_worker(admin, engine, config).await?.until(stop).await;
    }
    let config = settings.resolve()?;
    let _lock = config.storage.lock()?;
    if config.storage.cluster.is_none() && config.storage.is_open_to_others() {
        tracing::warn!(folder = %config.storage.data_dir.display(), "data folder is readable by all users; use chmod 700");
    }
    let engine = config.storage.open().await?;
    require_complete_copy(&engine).await?;
    log_differences(&engine).await;
    let sockets = Sockets::bind(&config).await?;
    start(config, sockets, engine, args.role).await?.until(stop).await
}

/// Logs settings that an existing cluster does not follow.
async fn log_differences(engine: &Engine) {
    match engine.setting_warnings().await {
        Ok(warnings) => {
            for warning in warnings {
                tracing::warn!(difference = warning, "cluster differs from the settings");
            }
        }
        Err(error) => tracing::warn!(%error, "cluster could not be compared with the settings"),
    }
}

/// The role of a server process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// Everything
    #[default]
    All,
    /// Answer requests, leave deliveries to workers
    Api,
    /// Deliver, answer no requests
    Worker,
}

impl Role {
    /// Whether it runs deliveries and the other tasks that not every process must run.
    pub(super) fn delivers(self) -> bool {
        self != Role::Api
    }

    /// A usage error for a partial role on a single machine: a second process would not learn what the first delivers.
    pub(super) fn check(self, storage: &Storage) -> Result<(), UsageError> {
        if self != Role::All && storage.cluster.is_none() {
            return Err(UsageError(
                "--role api and --role worker need a cluster; with store = \"sqlite\" one process does everything: \
                 omit --role",
            ));
        }
        Ok(())
    }
}

/// The sockets of a server, bound before anything starts. They know the actual port if port 0 was configured.
#[derive(Default)]
pub struct Sockets {
    /// HTTPS.
    pub https: Option<TcpListener>,
    /// Plain HTTP behind a proxy.
    pub proxy: Option<TcpListener>,
    /// The admin listener.
    pub admin: Option<TcpListener>,
}

impl Sockets {
    /// Binds the configured addresses.
    pub async fn bind(config: &Config) -> anyhow::Result<Sockets> {
        let https = config.https.as_ref().map(|https| https.listen);
        let proxy = config.proxy.as_ref().map(|proxy| proxy.listen);
        Ok(Sockets {
            https: bind("listen", https).await?,
            proxy: bind("proxy.listen", proxy).await?,
            admin: bind("admin_listen", config.admin_listen).await?,
        })
    }

    /// The address of the HTTPS listener.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https.as_ref().and_then(|socket| socket.local_addr().ok())
    }

    /// The address of the admin listener.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().and_then(|socket| socket.local_addr().ok())
    }
}

async fn bind(name: &str, address: Option<SocketAddr>) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    let bound = listen(address);
    let bound = bound.with_context(|| {
        format!("cannot listen on {name} {address}; stop the process that uses it or set another address")
    })?;
    tracing::info!(address = %bound.local_addr().unwrap_or(address), "{name}");
    Ok(Some(bound))
}

/// Send buffer for a client that does not read. By default the kernel uses megabytes for each, and a thousand such
/// clients exhaust the memory for all. Connections inherit this from the socket.
const SEND_BUFFER: u32 = 128 * 1024;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart must not wait for connections of the previous process.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
