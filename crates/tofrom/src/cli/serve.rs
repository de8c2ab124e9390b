//! `tofrom serve`: everything that runs while the service runs, started and stopped in the right order.

use super::Global;
use crate::auth::{AuthSettings, OAuthSettings};
use crate::clock::Clock;
use crate::config::Config;
use crate::fanout;
use crate::feed::FeedLimits;
use crate::http::listen::{Limits, Listeners, ReloadingCertificate, serve, serve_plain};
use crate::http::{Parts, Service, router};
use crate::live::Hub;
use crate::site::Site;
use crate::telemetry::admin::Admin;
use crate::telemetry::metrics;
use anyhow::{Context, anyhow};
use metrics_exporter_prometheus::PrometheusHandle;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use store::sqlite::SqliteStore;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Histograms keep what was recorded until somebody asks; nobody may.
const UPKEEP: Duration = Duration::from_secs(5);
/// How often what has ended is swept away.
const SWEPT_EVERY: Duration = Duration::from_secs(60);
/// For the background's tasks to end in.
const FAREWELL: Duration = Duration::from_secs(5);

/// Runs the service
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom serve --config /etc/tofrom/tofrom.toml
  TOFROM_BASE_URL=https://feeds.example.org TOFROM_TLS__CERTIFICATE=cert.pem \\
      TOFROM_TLS__PRIVATE_KEY=key.pem tofrom serve --data ./data

Settings (file, environment):
  base_url              the address that clients use: https://host[:port][/prefix]; has no default
  tls.certificate       PEM file with the certificate and its chain; changes are taken in without a restart
  tls.private_key       PEM file with its key
  listen                where HTTPS listens [0.0.0.0:8443]
  proxy.listen          plain HTTP behind a proxy that ends TLS; off unless set
  proxy.trusted         the proxy's addresses and networks; nobody else may connect there
  admin_listen          /healthz, /readyz and /metrics, plain HTTP [127.0.0.1:8444]
  data_dir              the folder with the data [./tofrom-data]
  store                 sqlite
  secret_keys           what seals secrets: 32 bytes each in base64 or hexadecimal, the first one seals
                        [the file secret.key in the data folder]
  require_consumer_key  every request must name its application [false]
  retention             how long activities are shown: 90d [forever]
  token_lifetime        how long OAuth access tokens live: 90d [forever]
  cors_origins          origins whose scripts may read [none]
  max_start             how far start reaches [20000]
  max_connections       open connections at once [20000]

SIGTERM and SIGINT stop it: requests in flight have 10 s to end. SIGHUP takes the certificate in again.")]
pub struct Args {}

pub(super) async fn run(_args: Args, global: &Global) -> anyhow::Result<()> {
    let config = global.settings()?.resolve()?;
    // Listening for the signals before anything starts, so that none is missed.
    let stop = stop_signal()?;
    let store = config.storage.open_store()?;
    let sockets = Sockets::bind(&config).await?;
    start(config, sockets, store).await?.until(stop).await
}

/// The sockets of a service, bound before anything is started: whoever asks for port 0 learns the port from here.
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
    /// Binds what the settings name.
    pub async fn bind(config: &Config) -> anyhow::Result<Sockets> {
        let https = config.https.as_ref().map(|https| https.listen);
        let proxy = config.proxy.as_ref().map(|proxy| proxy.listen);
        Ok(Sockets {
            https: bind("listen", https).await?,
            proxy: bind("proxy.listen", proxy).await?,
            admin: bind("admin_listen", config.admin_listen).await?,
        })
    }

    /// Where HTTPS listens.
    pub fn https_address(&self) -> Option<SocketAddr> {
        self.https.as_ref().and_then(|socket| socket.local_addr().ok())
    }

    /// Where the admin listener is.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().and_then(|socket| socket.local_addr().ok())
    }
}

async fn bind(name: &str, address: Option<SocketAddr>) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    let bound = listen(address);
    let bound = bound
        .with_context(|| format!("{name} {address} is not free; end what listens there or set another"))?;
    tracing::info!(address = %bound.local_addr().unwrap_or(address), "{name}");
    Ok(Some(bound))
}

/// What the system may hold for a client that does not read. Left to itself it takes megabytes for each, and a thousand
/// such clients take all that it has for everybody; connections inherit this from the socket.
const SEND_BUFFER: u32 = 128 * 1024;
/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart must not wait for the connections of the process before.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Starts everything. When this returns, requests are answered.
pub async fn start(config: Config, sockets: Sockets, store: Arc<SqliteStore>) -> anyhow::Result<Running> {
    let handle = metrics::start()?;
    let clock = Clock::system();
    let engine: Arc<dyn Store> = store.clone();
    // Fixed at the first start: Atom ids must not follow a later change of address.
    let tag_host = engine.fix("tag-host", config.base_url.host()).await?;
    let hub = Arc::new(Hub::default());
    let service = Service::new(Parts {
        store: Arc::clone(&engine),
        hub: Arc::clone(&hub),
        site: Site::new(config.base_url.as_str(), tag_host),
        clock: clock.clone(),
        auth: AuthSettings {
            require_consumer_key: config.require_consumer_key,
            oauth: OAuthSettings { token_lifetime: config.token_lifetime },
        },
        secret_keys: Arc::new(config.storage.secret_keys()?),
        limits: FeedLimits {
            retention: config.retention,
            max_start: config.max_start,
            ..FeedLimits::default()
        },
        cors_origins: config.cors_origins.clone(),
    });
    let limits = Limits { connections: config.max_connections, ..Limits::default() };
    let listeners = listeners(&config, sockets.https, sockets.proxy)?;

    let mut running = Running::default();
    let counted = Arc::clone(&service);
    let stopping = running.stop_public.subscribe();
    running
        .public
        .spawn(async move { Ok(serve(listeners, router(service), limits, stopped(stopping)).await?) });
    let stopping = running.stop_background.subscribe();
    running.background.spawn(fanout::run(
        Arc::clone(&engine),
        clock.clone(),
        Arc::clone(&hub),
        stopped(stopping),
    ));
    let (stopping, others, engine_of_others) =
        (running.stop_background.subscribe(), Arc::clone(&hub), Arc::clone(&engine));
    running.background.spawn(async move { others.watch_others(engine_of_others, stopped(stopping)).await });
    let stopping = running.stop_public.subscribe();
    let closing = Arc::clone(&hub);
    tokio::spawn(async move {
        stopped(stopping).await;
        closing.close();
    });
    let stopping = running.stop_background.subscribe();
    running.background.spawn(forget_expired(Arc::clone(&engine), clock.clone(), stopped(stopping)));
    let stopping = running.stop_background.subscribe();
    running.background.spawn(keep_up(handle.clone(), stopped(stopping)));
    if let Some(socket) = sockets.admin {
        let take_over = Arc::new(move || {
            metrics::store_rows(store.rows_stepped());
            metrics::password_hashes(counted.authenticator().hashes_computed());
        });
        let admin = Admin { store: engine, clock, metrics: handle, take_over }.router();
        let stopping = running.stop_background.subscribe();
        let limits = Limits { connections: 100, drain: Duration::from_secs(1), ..Limits::default() };
        running.background.spawn(serve_plain(socket, admin, limits, stopped(stopping)));
    }
    tracing::info!(base_url = %config.base_url, version = env!("CARGO_PKG_VERSION"), "ready");
    Ok(running)
}

fn listeners(
    config: &Config,
    https: Option<TcpListener>,
    proxy: Option<TcpListener>,
) -> anyhow::Result<Listeners> {
    let mut listeners = Listeners::default();
    if let (Some(socket), Some(https)) = (https, &config.https) {
        listeners.https = Some((socket, ReloadingCertificate::load(https.files.clone())?));
    }
    if let (Some(socket), Some(proxy)) = (proxy, &config.proxy) {
        listeners.proxy = Some((socket, proxy.trusted.clone()));
    }
    Ok(listeners)
}

/// Sweeps away what has ended: temporary credentials, nonces, sessions.
async fn forget_expired(store: Arc<dyn Store>, clock: Clock, stopped: impl Future<Output = ()>) {
    let mut ticks = tokio::time::interval(SWEPT_EVERY);
    let for_ever = async {
        loop {
            ticks.tick().await;
            if let Err(error) = store.forget_expired(clock.now()).await {
                tracing::warn!(%error, "could not sweep what has ended");
            }
        }
    };
    tokio::select! {
        () = stopped => {}
        () = for_ever => {}
    }
}

async fn keep_up(handle: PrometheusHandle, stopped: impl Future<Output = ()>) {
    let mut ticks = tokio::time::interval(UPKEEP);
    let for_ever = async {
        loop {
            ticks.tick().await;
            handle.run_upkeep();
        }
    };
    tokio::select! {
        () = stopped => {}
        () = for_ever => {}
    }
}

/// A service that runs.
#[derive(Default)]
pub struct Running {
    stop_public: watch::Sender<bool>,
    stop_background: watch::Sender<bool>,
    public: JoinSet<anyhow::Result<()>>,
    background: JoinSet<()>,
}

impl Running {
    /// Runs until `shutdown`, then stops: first what the public sees, and when its requests have ended, the rest.
    /// A part that ends by itself ends the service, so that whoever watches over it starts it again.
    pub async fn until(mut self, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
        let ended = tokio::select! {
            () = shutdown => Ok(()),
            Some(ended) = self.public.join_next() => ended.map_err(Into::into).and_then(|result| result),
            Some(ended) = self.background.join_next() => match ended {
                Ok(()) => Err(anyhow!("a part of the service ended by itself")),
                Err(error) => Err(anyhow!("a part of the service failed: {error}")),
            },
        };
        tracing::info!("stopping");
        self.stop_public.send_replace(true);
        while self.public.join_next().await.is_some() {}
        self.stop_background.send_replace(true);
        let rest = async { while self.background.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, rest).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
        tracing::info!("stopped");
        ended
    }
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // Whoever could say so is gone: that is a stop too.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Comes with SIGTERM or SIGINT. The signals are caught from now on.
pub fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
