//! Starts the parts of a server in the right order.

use super::running::{
    erase_removed, exchange_notices, forget_expired, keep_audit, maintain_metrics, take_samples,
};
use super::{Role, Running, Sockets};
use crate::config::{Config, Engine, Fanout, Storage};
use crate::telemetry::admin::Admin;
use crate::telemetry::metrics;
use auth::audit::AuditLog;
use auth::{Auth, AuthSettings, OAuthSettings};
use domain::fanout;
use domain::feed::FeedLimits;
use domain::live::Hub;
use domain::sources::{self, SourceSettings, Sources};
use listen::{Certificate, Limits, Listeners, serve, serve_plain};
use metrics_exporter_prometheus::PrometheusHandle;
use model::{Clock, CursorKeys};
use seal::SecretKeys;
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Store};
use tokio::net::TcpListener;
use uuid::Uuid;
use web::site::Site;
use web::{Parts, Service, router};

/// TTL of cached heads of pulled actors.
const HEADS_TTL: Duration = Duration::from_secs(1);

/// Starts all parts of the role. Requests are answered when this returns.
pub async fn start(config: Config, sockets: Sockets, engine: Engine, role: Role) -> anyhow::Result<Running> {
    let parts = ServiceParts::new(engine, &config.storage, config.audit_to_stdout)?;
    let sources = parts.sources(config.sources.clone())?;
    let service = service(&config, &parts, sources.clone()).await?;
    let limits = Limits {
        connections: config.max_connections,
        per_address: config.limits.connections_per_address,
        ..Limits::default()
    };
    let listeners = listeners(&config, sockets.https, sockets.proxy)?;

    let mut running = Running { shutdown_delay: config.shutdown_delay, ..Running::default() };
    let counted = service.clone();
    let stopped = running.stop_public.clone().cancelled_owned();
    running.public.spawn(async move { Ok(serve(listeners, router(service), limits, stopped).await?) });
    parts.watch(&mut running, counted.clone());
    parts.exchange_notices(&mut running, counted.clone()).await?;
    if role.delivers() {
        parts.deliver(&mut running, config.fanout);
        parts.poll_sources(&mut running, sources);
    }
    let hashes = move || metrics::password_hashes(counted.auth().passwords.hashes_computed());
    parts.serve_admin(&mut running, sockets.admin, role, hashes);
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
    let parts = ServiceParts::new(engine, storage, false)?;
    parts.hub.enable_broadcast();
    let mut running = Running::default();
    parts.deliver(&mut running, fanout);
    parts.poll_sources(&mut running, parts.sources(sources)?);
    parts.serve_admin(&mut running, admin, Role::Worker, || {});
    tracing::info!(version = env!("CARGO_PKG_VERSION"), role = ?Role::Worker, "ready");
    Ok(running)
}

async fn service(config: &Config, parts: &ServiceParts, sources: Sources) -> anyhow::Result<Service> {
    // Set once at the first start: Atom ids must not change with the address.
    let tag_host = parts.store.set_once("tag-host", config.base_url.host()).await?;
    let cursor_keys = CursorKeys::new(parts.secret_keys.derive_bytes("cursor"));
    let accounts = AccountCache::new(Arc::clone(&parts.store));
    let auth = Auth::new(
        Arc::clone(&parts.store),
        accounts.clone(),
        parts.clock.clone(),
        Arc::clone(&parts.secret_keys),
        Arc::clone(&parts.audit),
        AuthSettings {
            require_consumer_key: config.require_consumer_key,
            open_registration: config.open_registration,
            operators_need_second_factor: config.operators_need_second_factor,
            oauth: OAuthSettings { token_lifetime: config.token_lifetime },
        },
    );
    Ok(Service::new(Parts {
        store: Arc::clone(&parts.store),
        hub: Arc::clone(&parts.hub),
        site: Site::new(config.base_url.as_str(), tag_host, cursor_keys),
        clock: parts.clock.clone(),
        accounts,
        auth: Arc::new(auth),
        limits: FeedLimits {
            retention: config.storage.retention,
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
        listeners.https = Some((socket, Certificate::load(&https.certificate)?));
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
    audit: Arc<AuditLog>,
    metrics: PrometheusHandle,
}

impl ServiceParts {
    fn new(engine: Engine, storage: &Storage, audit_to_stdout: bool) -> anyhow::Result<ServiceParts> {
        let (metrics, store) = (metrics::start()?, engine.store());
        let secret_keys = Arc::new(storage.secret_keys()?);
        let (clock, hub) = (Clock::system(), Arc::new(Hub::default()));
        let audit = AuditLog::new(Arc::clone(&store), clock.clone(), &secret_keys, audit_to_stdout)?;
        Ok(ServiceParts { engine, store, clock, hub, secret_keys, audit: Arc::new(audit), metrics })
    }

    /// Wakes live streams for deliveries of other processes, takes samples, and closes the streams at shutdown.
    fn watch(&self, running: &mut Running, service: Service) {
        let stopped = running.background_stopped();
        let (hub, store) = (Arc::clone(&self.hub), Arc::clone(&self.store));
        running.background.spawn(async move { hub.poll_floor(store, stopped).await });
        running.spawn_background(take_samples(service));
        let stopped = running.stop_public.clone().cancelled_owned();
        let closing = Arc::clone(&self.hub);
        tokio::spawn(async move {
            stopped.await;
            closing.close();
        });
    }

    /// Exchanges notices with the other processes of a cluster, if there are any.
    async fn exchange_notices(&self, running: &mut Running, service: Service) -> anyhow::Result<()> {
        let Some(notices) = self.store.subscribe().await? else { return Ok(()) };
        self.hub.enable_broadcast();
        let (store, hub) = (Arc::clone(&self.store), Arc::clone(&self.hub));
        running.spawn_background(exchange_notices(store, hub, service, notices));
        Ok(())
    }

    /// Runs deliveries, the dormancy scan and the deletion of expired data. One process of a cluster must do this.
    fn deliver(&self, running: &mut Running, settings: Fanout) {
        let stopped = running.background_stopped();
        let (store, clock, hub) = (Arc::clone(&self.store), self.clock.clone(), Arc::clone(&self.hub));
        running.background.spawn(fanout::run(store, clock, hub, settings.rules(), stopped));
        if let Some(idle_after) = settings.idle_after {
            let stopped = running.background_stopped();
            let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
            running.background.spawn(fanout::dormancy::run(store, clock, idle_after, self.holder(), stopped));
        }
        running.spawn_background(forget_expired(Arc::clone(&self.store), self.clock.clone()));
        let erasing = erase_removed(
            Arc::clone(&self.store),
            self.clock.clone(),
            Arc::clone(&self.audit),
            self.holder(),
        );
        running.spawn_background(erasing);
    }

    fn sources(&self, settings: SourceSettings) -> anyhow::Result<Sources> {
        let (store, hub, keys) =
            (Arc::clone(&self.store), Arc::clone(&self.hub), Arc::clone(&self.secret_keys));
        Ok(Sources::new(store, self.clock.clone(), hub, settings, keys)?)
    }

    /// Polls sources when they are due.
    fn poll_sources(&self, running: &mut Running, sources: Sources) {
        let stopped = running.background_stopped();
        running.background.spawn(sources::worker::run(sources, self.holder(), stopped));
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
        role: Role,
        update_counters: impl Fn() + Send + Sync + 'static,
    ) {
        running.spawn_background(maintain_metrics(self.metrics.clone()));
        running.background.spawn(keep_audit(Arc::clone(&self.audit), running.background_stopped()));
        let Some(socket) = socket else { return };
        let ServiceParts { engine, store, clock, metrics, .. } = self;
        let trusted = engine.is_trusted();
        let update_counters = Arc::new(move || {
            metrics::store_rows(engine.rows_read());
            update_counters();
        });
        let draining = running.draining.clone();
        let serves_reads = role != Role::Worker;
        let admin =
            Admin { store, trusted, serves_reads, clock, metrics, draining, update_counters }.router();
        let stopped = running.background_stopped();
        let limits = Limits { connections: 100, drain: Duration::from_secs(1), ..Limits::default() };
        running.background.spawn(serve_plain(socket, admin, limits, stopped));
    }
}
