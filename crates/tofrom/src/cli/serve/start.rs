//! Starts the parts of a server in the right order.

use super::background::{exchange_notices, forget_expired, maintain_metrics, take_samples};
use super::running::stopped;
use super::{Role, Running, Sockets};
use crate::auth::{AuthSettings, OAuthSettings, SecretKeys};
use crate::clock::Clock;
use crate::config::{Config, Engine, Fanout, Storage};
use crate::fanout;
use crate::feed::FeedLimits;
use crate::http::listen::{Limits, Listeners, ReloadingCertificate, serve, serve_plain};
use crate::http::{Parts, Service, router};
use crate::live::Hub;
use crate::site::Site;
use crate::sources::{self, SourceSettings, Sources};
use crate::telemetry::admin::Admin;
use crate::telemetry::metrics;
use metrics_exporter_prometheus::PrometheusHandle;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::net::TcpListener;
use uuid::Uuid;

/// TTL of cached heads of pulled actors.
const HEADS_TTL: Duration = Duration::from_secs(1);

/// Starts all parts of the role. Requests are answered when this returns.
pub async fn start(config: Config, sockets: Sockets, engine: Engine, role: Role) -> anyhow::Result<Running> {
    let parts = ServiceParts::new(engine, &config.storage)?;
    let sources = parts.sources(config.sources.clone())?;
    let service = service(&config, &parts, sources.clone()).await?;
    let limits = Limits {
        connections: config.max_connections,
        per_address: config.limits.connections_per_address,
        ..Limits::default()
    };
    let listeners = listeners(&config, sockets.https, sockets.proxy)?;

    let mut running = Running { shutdown_delay: config.shutdown_delay, ..Running::default() };
    let counted = Arc::clone(&service);
    let stopping = running.stop_public.subscribe();
    running
        .public
        .spawn(async move { Ok(serve(listeners, router(service), limits, stopped(stopping)).await?) });
    parts.watch(&mut running, Arc::clone(&counted));
    parts.exchange_notices(&mut running, Arc::clone(&counted)).await?;
    if role.delivers() {
        parts.deliver(&mut running, config.fanout);
        parts.poll_sources(&mut running, sources);
    }
    let hashes = move || metrics::password_hashes(counted.authenticator().hashes_computed());
    parts.serve_admin(&mut running, sockets.admin, hashes);
    tracing::info!(base_url = %config.base_url, version = env!("CARGO_PKG_VERSION"), ?role, "ready");
    Ok(running)
}

/// Starts a worker: deliveries and source polling, with an admin listener only.
pub fn start_worker(
    admin: Option<TcpListener>,
    engine: Engine,
    storage: &Storage,
    sources: SourceSettings,
    fanout: Fanout,
) -> anyhow::Result<Running> {
    let parts = ServiceParts::new(engine, storage)?;
    parts.hub.enable_broadcast();
    let mut running = Running::default();
    parts.deliver(&mut running, fanout);
    parts.poll_sources(&mut running, parts.sources(sources)?);
    parts.serve_admin(&mut running, admin, || {});
    tracing::info!(version = env!("CARGO_PKG_VERSION"), role = ?Role::Worker, "ready");
    Ok(running)
}

async fn service(config: &Config, parts: &ServiceParts, sources: Sources) -> anyhow::Result<Arc<Service>> {
    // Set once at the first start: Atom ids must not change with the address.
    let tag_host = parts.store.set_once("tag-host", config.base_url.host()).await?;
    Ok(Service::new(Parts {
        store: Arc::clone(&parts.store),
        hub: Arc::clone(&parts.hub),
        site: Site::new(config.base_url.as_str(), tag_host),
        clock: parts.clock.clone(),
        auth: AuthSettings {
            require_consumer_key: config.require_consumer_key,
            open_registration: config.open_registration,
            oauth: OAuthSettings { token_lifetime: config.token_lifetime },
        },
        secret_keys: Arc::clone(&parts.secret_keys),
        limits: FeedLimits {
            retention: config.retention,
            max_start: config.max_start,
            max_count: config.max_count,
            idle_after: config.fanout.idle_after,
            head_ttl: HEADS_TTL,
            ..FeedLimits::default()
        },
        cors_origins: config.cors_origins.clone(),
        sources,
    }))
}

fn listeners(
    config: &Config,
    https: Option<TcpListener>,
    proxy: Option<TcpListener>,
) -> anyhow::Result<Listeners> {
    let exempt = config.limits.exempt_networks.clone();
    let mut listeners = Listeners { exempt, ..Listeners::default() };
    if let (Some(socket), Some(https)) = (https, &config.https) {
        listeners.https = Some((socket, ReloadingCertificate::load(https.files.clone())?));
    }
    if let (Some(socket), Some(proxy)) = (proxy, &config.proxy) {
        listeners.proxy = Some((socket, proxy.trusted.clone()));
    }
    Ok(listeners)
}

/// The shared parts of a server.
struct ServiceParts {
    engine: Engine,
    store: Arc<dyn Store>,
    clock: Clock,
    hub: Arc<Hub>,
    secret_keys: Arc<SecretKeys>,
    metrics: PrometheusHandle,
}

impl ServiceParts {
    fn new(engine: Engine, storage: &Storage) -> anyhow::Result<ServiceParts> {
        let (metrics, store) = (metrics::start()?, engine.store());
        let secret_keys = Arc::new(storage.secret_keys()?);
        let (clock, hub) = (Clock::system(), Arc::new(Hub::default()));
        Ok(ServiceParts { engine, store, clock, hub, secret_keys, metrics })
    }

    /// Wakes live streams for deliveries of other processes, takes samples, and closes the streams at shutdown.
    fn watch(&self, running: &mut Running, service: Arc<Service>) {
        let stopping = running.stop_background.subscribe();
        let (hub, store) = (Arc::clone(&self.hub), Arc::clone(&self.store));
        running.background.spawn(async move { hub.poll_floor(store, stopped(stopping)).await });
        let stopping = running.stop_background.subscribe();
        running.background.spawn(take_samples(service, stopped(stopping)));
        let stopping = running.stop_public.subscribe();
        let closing = Arc::clone(&self.hub);
        tokio::spawn(async move {
            stopped(stopping).await;
            closing.close();
        });
    }

    /// Exchanges notices with the other processes of a cluster, if there are any.
    async fn exchange_notices(&self, running: &mut Running, service: Arc<Service>) -> anyhow::Result<()> {
        let Some(notices) = self.store.subscribe().await? else { return Ok(()) };
        self.hub.enable_broadcast();
        let stopping = running.stop_background.subscribe();
        let (store, hub) = (Arc::clone(&self.store), Arc::clone(&self.hub));
        running.background.spawn(exchange_notices(store, hub, service, notices, stopped(stopping)));
        Ok(())
    }

    /// Runs deliveries, the dormancy scan and the deletion of expired data. One process of a cluster must do this.
    fn deliver(&self, running: &mut Running, settings: Fanout) {
        let stopping = running.stop_background.subscribe();
        let (store, clock, hub) = (Arc::clone(&self.store), self.clock.clone(), Arc::clone(&self.hub));
        running.background.spawn(fanout::run(store, clock, hub, settings.rules(), stopped(stopping)));
        if let Some(idle_after) = settings.idle_after {
            let stopping = running.stop_background.subscribe();
            let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
            let holder = self.holder();
            running.background.spawn(fanout::dormancy::run(
                store,
                clock,
                idle_after,
                holder,
                stopped(stopping),
            ));
        }
        let stopping = running.stop_background.subscribe();
        let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
        running.background.spawn(forget_expired(store, clock, stopped(stopping)));
    }

    fn sources(&self, settings: SourceSettings) -> anyhow::Result<Sources> {
        let (store, hub, keys) =
            (Arc::clone(&self.store), Arc::clone(&self.hub), Arc::clone(&self.secret_keys));
        Sources::new(store, self.clock.clone(), hub, settings, keys)
    }

    /// Polls sources when they are due.
    fn poll_sources(&self, running: &mut Running, sources: Sources) {
        let stopping = running.stop_background.subscribe();
        running.background.spawn(sources::worker::run(sources, self.holder(), stopped(stopping)));
    }

    /// The name under which this process takes leases.
    fn holder(&self) -> String {
        match self.engine {
            Engine::Sqlite(_) => "the only one".to_owned(),
            Engine::Cql(..) => Uuid::new_v4().to_string(),
        }
    }

    /// Serves health and metrics on the admin listener. `update_counters` updates the metrics that only this role has.
    fn serve_admin(
        self,
        running: &mut Running,
        socket: Option<TcpListener>,
        update_counters: impl Fn() + Send + Sync + 'static,
    ) {
        let stopping = running.stop_background.subscribe();
        running.background.spawn(maintain_metrics(self.metrics.clone(), stopped(stopping)));
        let Some(socket) = socket else { return };
        let ServiceParts { engine, store, clock, metrics, .. } = self;
        let trusted = engine.is_trusted();
        let update_counters = Arc::new(move || {
            metrics::store_rows(engine.rows_read());
            update_counters();
        });
        let draining = running.draining.subscribe();
        let admin = Admin { store, trusted, clock, metrics, draining, update_counters }.router();
        let stopping = running.stop_background.subscribe();
        let limits = Limits { connections: 100, drain: Duration::from_secs(1), ..Limits::default() };
        running.background.spawn(serve_plain(socket, admin, limits, stopped(stopping)));
    }
}
