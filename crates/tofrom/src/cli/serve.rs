//! `tofrom serve`: starts and stops all parts of the server in the right order.

mod background;
mod role;
mod running;
mod sockets;
mod start;

pub use role::Role;
pub use running::{Running, stop_signal};
pub use sockets::Sockets;
pub use start::{start, start_worker};

use super::Global;
use super::copy::require_complete_copy;

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
  retention             how long activities are shown: 90d [forever]
  token_lifetime        lifetime of OAuth access tokens: 90d [forever]
  cors_origins          origins whose scripts may read [none]
  max_start             maximum of the parameter start [100000]
  max_count             maximum items of a page [1000]
  max_connections       maximum open connections [20000]
  limits.connections_per_address
                        maximum open connections of one address [256]
  limits.exempt_networks
                        networks without that limit: 10.1.0.0/16 [none; proxy.trusted is always exempt]
  shutdown_delay        how long to accept requests after SIGTERM while /readyz answers 503, so that a load
                        balancer notices: 5s [0s]
  sources.networks      private networks that sources may be fetched from: 10.1.0.0/16 [none]
  sources.ports         ports that sources may be fetched from besides 80 and 443 [none]
  fanout.pull_above     activities of accounts with more followers than this are merged at read time instead of
                        written to every follower; off: never [10000]
  fanout.idle_after     accounts not read for this long are dormant: fan-out skips them, except for activities
                        addressed to them, and they catch up at the next read; off: never [30d]

Settings of a cluster (store = cql):
  cql.nodes             contact points of Cassandra or ScyllaDB: host:port; required
  cql.datacenter        local data centre [datacenter1]
  cql.keyspace          keyspace [tofrom]
  nats.servers          all NATS servers: nats://host:port; required
  nats.monitor          NATS monitoring endpoints: http://host:port
  nats.stream           stream [same as the keyspace]
  nats.ack_wait         time without a sign of life after which another worker takes over a task [5s]
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
        let admin = sockets::bind("admin_listen", Some(config.admin_listen)).await?;
        return start_worker(admin, engine, &config.storage, config.sources, config.fanout)?
            .until(stop)
            .await;
    }
    let config = settings.resolve()?;
    let _lock = config.storage.lock()?;
    if config.storage.cluster.is_none() && config.storage.is_open_to_others() {
        tracing::warn!(folder = %config.storage.data_dir.display(), "data folder is readable by all users; use chmod 700");
    }
    let engine = config.storage.open().await?;
    require_complete_copy(&engine).await?;
    let sockets = Sockets::bind(&config).await?;
    start(config, sockets, engine, args.role).await?.until(stop).await
}
