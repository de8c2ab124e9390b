//! `tofrom serve`: everything that runs while the service runs, started and stopped in the right order.

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
use super::copy::demand_whole;

/// Runs the service
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom serve --config /etc/tofrom/tofrom.toml
  TOFROM_BASE_URL=https://feeds.example.org TOFROM_TLS__CERTIFICATE=cert.pem \\
      TOFROM_TLS__PRIVATE_KEY=key.pem tofrom serve --data ./data
  tofrom serve --role worker --config /etc/tofrom/cluster.toml

Settings (file, environment):
  base_url              the address that clients use: https://host[:port][/prefix]; has no default
  tls.certificate       PEM file with the certificate and its chain; changes are taken in without a restart
  tls.private_key       PEM file with its key
  listen                where HTTPS listens [0.0.0.0:8443]
  proxy.listen          plain HTTP behind a proxy that ends TLS; off unless set
  proxy.trusted         the proxy's addresses and networks; nobody else may connect there
  admin_listen          /healthz, /readyz and /metrics, plain HTTP [127.0.0.1:8444]
  data_dir              the folder with the data [./tofrom-data]
  store                 sqlite: a file in that folder; cql: a cluster [sqlite]
  secret_keys           what seals secrets: 32 bytes each in base64 or hexadecimal, the first one seals
                        [the file secret.key in the data folder; a cluster must name them]
  require_consumer_key  every request must name its application [false]
  registration          who may make an account on the pages: invitation or open [invitation]
  retention             how long activities are shown: 90d [forever]
  token_lifetime        how long OAuth access tokens live: 90d [forever]
  cors_origins          origins whose scripts may read [none]
  max_start             how many entries start may step over [100000]
  max_count             how many items a page may have [1000]
  max_connections       open connections at once [20000]
  limits.connections_per_address
                        open connections of one address [256]
  limits.exempt_networks
                        networks without that limit: 10.1.0.0/16 [none; proxy.trusted never has it]
  shutdown_delay        how long requests are still taken after SIGTERM, while /readyz answers 503, so that a
                        balancer notices: 5s [0s]
  sources.networks      networks of one's own that sources may be fetched from: 10.1.0.0/16 [none]
  sources.ports         ports that they may be fetched from besides 80 and 443 [none]
  fanout.pull_above     what an account does that more than so many follow is not written to each of them, but
                        merged in when they read; off: never [10000]
  fanout.idle_after     after how long without a read nothing is written to an account but what addresses it;
                        it gets the rest when it is read again; off: never [30d]

Settings of a cluster (store = cql):
  cql.nodes             nodes of Cassandra or ScyllaDB to begin with: host:port; needed
  cql.datacenter        whose nodes are asked [datacenter1]
  cql.keyspace          the name of the keyspace [tofrom]
  nats.servers          all servers of NATS: nats://host:port; needed
  nats.monitor          their monitors: http://host:port
  nats.stream           the name of the stream [the name of the keyspace]
  nats.ack_wait         how long a worker may be silent before others do its work [5s]
  vouch_for_durability  the engines sync before they acknowledge, though they can't be asked [false]

SIGTERM and SIGINT stop it: /readyz answers 503 at once, requests are taken for shutdown_delay, then those under way
have 10 s to end. SIGHUP takes the certificate in again.")]
pub struct Args {
    /// What this process does; on one machine always everything
    #[arg(long, value_enum, default_value_t)]
    role: Role,
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let settings = global.settings()?;
    args.role.suits(&settings.storage()?)?;
    // Listening for the signals before anything starts, so that none is missed.
    let stop = stop_signal()?;
    if args.role == Role::Worker {
        let config = settings.resolve_worker()?;
        let engine = config.storage.open().await?;
        demand_whole(&engine).await?;
        let admin = sockets::bind("admin_listen", Some(config.admin_listen)).await?;
        return start_worker(admin, engine, &config.storage, config.sources, config.fanout)?
            .until(stop)
            .await;
    }
    let config = settings.resolve()?;
    let _lock = config.storage.lock()?;
    if config.storage.cluster.is_none() && config.storage.is_open_to_others() {
        tracing::warn!(folder = %config.storage.data_dir.display(), "every user of this machine may read the data folder: chmod 700");
    }
    let engine = config.storage.open().await?;
    demand_whole(&engine).await?;
    let sockets = Sockets::bind(&config).await?;
    start(config, sockets, engine, args.role).await?.until(stop).await
}
