//! Starts the parts of a server in the right order.

use super::running::{
    erase_removed, exchange_notices, follow_erasures, forget_expired, keep_audit, maintain_metrics,
    take_notices, take_samples,
};
use super::{Role, Running, Sockets};
use crate::config::{BaseUrl, Config, Engine, Fanout, Storage, WorkerConfig};
use crate::telemetry::admin::Admin;
use crate::telemetry::metrics;
use anyhow::Context;
use auth::audit::AuditLog;
use auth::{Auth, AuthSettings, OAuthSettings};
use domain::fanout;
use domain::feed::{Feed, FeedLimits};
use domain::hooks::{self, HookParts, HookSettings, Hooks};
use domain::live::Hub;
use domain::sources::{self, SourceSettings, Sources};
use listen::{Certificate, Limits, Listeners, serve, serve_plain};
use media::MediaProxy;
use metrics_exporter_prometheus::PrometheusHandle;
use model::{Clock, CursorKeys};
use seal::SecretKeys;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Store};
use tokio::net::TcpListener;
use uuid::Uuid;
use web::site::Site;
use web::{HookPayloads, Parts, RequestLimits, Service, router};

/// TTL of cached heads of pulled actors.
const HEADS_TTL: Duration = Duration::from_secs(1);

/// Starts all parts of the role. Requests are answered when this returns.
pub async fn start(config: Config, sockets: Sockets, engine: Engine, role: Role) -> anyhow::Result<Running> {
    let parts = ServiceParts::new(engine, &config.storage, config.audit_to_stdout)?;
    let sources = parts.sources(config.sources.clone())?;
    let limits = FeedLimits {
        max_start: config.max_start,
        max_count: config.max_count,
        max_rows: config.limits.rows_per_read,
        ..FeedLimits::default()
    };
    let feed = parts.feed(limits, &config.storage, config.fanout);
    let hooks = parts.hooks(feed.clone(), &config.hooks)?;
    let site = parts.site(config.base_url.as_str(), config.base_url.host()).await?;
    let site = match &config.authority {
        Some(file) => site.trusted_by(&file.display().to_string()),
        None => site,
    };
    let media = parts.media_proxy(&config)?;
    let service = service(&config, &parts, &site, feed, (sources.clone(), hooks.clone(), media.clone()));
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
    parts.follow_erasures(&mut running, media.clone());
    if role.delivers() {
        parts.deliver(&mut running, config.fanout, media);
        parts.poll_sources(&mut running, sources);
        parts.deliver_hooks(&mut running, hooks, site);
    }
    let hashes = move || metrics::password_hashes(counted.auth().passwords.hashes_computed());
    parts.serve_admin(&mut running, sockets.admin, role, hashes);
    tracing::info!(base_url = %config.base_url, version = env!("CARGO_PKG_VERSION"), ?role, "ready");
    Ok(running)
}

/// Starts a worker: deliveries, hooks and source polling, with an admin listener only.
pub async fn start_worker(
    admin: Option<TcpListener>,
    engine: Engine,
    config: WorkerConfig,
) -> anyhow::Result<Running> {
    let WorkerConfig { storage, sources, hooks, fanout, .. } = config;
    let parts = ServiceParts::new(engine, &storage, false)?;
    let mut running = Running::default();
    parts.poll_floor(&mut running);
    if let Some(notices) = parts.store.subscribe().await? {
        running.spawn_background(take_notices(Arc::clone(&parts.hub), notices, |_| {}, |_| {}));
    }
    parts.hub.enable_broadcast();
    parts.deliver(&mut running, fanout, None);
    parts.poll_sources(&mut running, parts.sources(sources)?);
    match hooks.base_url.as_deref().map(BaseUrl::parse).transpose()? {
        Some(base_url) => {
            let feed = parts.feed(FeedLimits::default(), &storage, fanout);
            let site = parts.site(base_url.as_str(), base_url.host()).await?;
            parts.deliver_hooks(&mut running, parts.hooks(feed, &hooks)?, site);
        }
        None => tracing::warn!("hooks are not delivered by this process: set base_url"),
    }
    parts.serve_admin(&mut running, admin, Role::Worker, || {});
    tracing::info!(version = env!("CARGO_PKG_VERSION"), role = ?Role::Worker, "ready");
    Ok(running)
}

fn service(
    config: &Config,
    parts: &ServiceParts,
    site: &Site,
    feed: Feed,
    (sources, hooks, media): (Sources, Hooks, Option<MediaProxy>),
) -> Service {
    let auth = Auth::new(
        Arc::clone(&parts.store),
        parts.accounts.clone(),
        parts.clock.clone(),
        Arc::clone(&parts.secret_keys),
        Arc::clone(&parts.audit),
        AuthSettings {
            require_consumer_key: config.require_consumer_key,
            open_registration: config.open_registration,
            operators_need_second_factor: config.operators_need_second_factor,
            oauth: OAuthSettings { token_lifetime: config.token_lifetime },
            quotas: config.limits.quotas,
        },
    );
    Service::new(Parts {
        store: Arc::clone(&parts.store),
        hub: Arc::clone(&parts.hub),
        site: site.clone(),
        clock: parts.clock.clone(),
        accounts: parts.accounts.clone(),
        auth: Arc::new(auth),
        feed,
        retention: config.storage.retention,
        cors_origins: config.cors_origins.clone(),
        sources,
        hooks,
        media,
        quotas: config.limits.quotas,
        requests: RequestLimits {
            account: config.limits.requests,
            operator: config.limits.operator_requests,
        },
        queued_requests: config.limits.queued_requests,
    })
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
    accounts: AccountCache,
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
        let accounts = AccountCache::new(Arc::clone(&store));
        let audit =
            Arc::new(AuditLog::new(Arc::clone(&store), clock.clone(), &secret_keys, audit_to_stdout)?);
        Ok(ServiceParts { engine, store, accounts, clock, hub, secret_keys, audit, metrics })
    }

    /// Wakes live streams for deliveries of other processes, takes samples, and closes the streams at shutdown.
    fn watch(&self, running: &mut Running, service: Service) {
        self.poll_floor(running);
        let watched = service.clone();
        running.spawn_background(async move { watched.watch_overload().await });
        running.spawn_background(take_samples(service));
        let stopped = running.stop_public.clone().cancelled_owned();
        let closing = Arc::clone(&self.hub);
        tokio::spawn(async move {
            stopped.await;
            closing.close();
        });
    }

    fn poll_floor(&self, running: &mut Running) {
        let stopped = running.background_stopped();
        let (hub, store) = (Arc::clone(&self.hub), Arc::clone(&self.store));
        running.background.spawn(async move { hub.poll_floor(store, stopped).await });
    }

    /// Exchanges notices with the other processes of a cluster, if there are any.
    async fn exchange_notices(&self, running: &mut Running, service: Service) -> anyhow::Result<()> {
        let Some(notices) = self.store.subscribe().await? else { return Ok(()) };
        self.hub.enable_broadcast();
        let (store, hub) = (Arc::clone(&self.store), Arc::clone(&self.hub));
        running.spawn_background(exchange_notices(store, hub, service, notices));
        Ok(())
    }

    /// Clears the picture cache after erasures by the other processes of a cluster, if there are any.
    fn follow_erasures(&self, running: &mut Running, media: Option<MediaProxy>) {
        if let (Engine::Cql(..), Some(media)) = (&self.engine, media) {
            running.spawn_background(follow_erasures(Arc::clone(&self.store), self.clock.clone(), media));
        }
    }

    /// Runs deliveries, the dormancy scan and the deletion of expired data. One process of a cluster must do this.
    fn deliver(&self, running: &mut Running, settings: Fanout, media: Option<MediaProxy>) {
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
            media,
            self.holder(),
        );
        running.spawn_background(erasing);
    }

    fn feed(&self, limits: FeedLimits, storage: &Storage, fanout: Fanout) -> Feed {
        let limits = FeedLimits {
            retention: storage.retention,
            idle_after: fanout.idle_after,
            head_ttl: HEADS_TTL,
            ..limits
        };
        Feed::new(Arc::clone(&self.store), self.accounts.clone(), self.clock.clone(), limits)
    }

    /// The public addresses. The host in Atom ids is set once, at the first start: it must not change with the address.
    async fn site(&self, base_url: &str, host: &str) -> anyhow::Result<Site> {
        let cursor_keys = CursorKeys::new(self.secret_keys.derive_bytes("cursor"));
        Ok(Site::new(base_url, self.store.set_once("tag-host", host).await?, cursor_keys))
    }

    fn hooks(&self, feed: Feed, settings: &HookSettings) -> anyhow::Result<Hooks> {
        let parts = HookParts {
            store: Arc::clone(&self.store),
            accounts: self.accounts.clone(),
            clock: self.clock.clone(),
            hub: Arc::clone(&self.hub),
            feed,
            secret_keys: Arc::clone(&self.secret_keys),
        };
        Ok(Hooks::new(parts, settings)?)
    }

    /// Delivers the events of hooks.
    fn deliver_hooks(&self, running: &mut Running, hooks: Hooks, site: Site) {
        let (stopped, payloads) = (running.background_stopped(), Arc::new(HookPayloads::new(site)));
        running.background.spawn(hooks::worker::run(hooks, payloads, self.holder(), stopped));
    }

    fn sources(&self, settings: SourceSettings) -> anyhow::Result<Sources> {
        let (store, hub, keys) =
            (Arc::clone(&self.store), Arc::clone(&self.hub), Arc::clone(&self.secret_keys));
        Ok(Sources::new(store, self.clock.clone(), hub, settings, keys)?)
    }

    /// The media proxy, unless it is off. It may fetch where sources may.
    fn media_proxy(&self, config: &Config) -> anyhow::Result<Option<MediaProxy>> {
        let settings = &config.media;
        if !settings.proxy {
            return Ok(None);
        }
        let fetcher = sources::fetcher(media::rules(sources::rules(&config.sources)))?;
        let opened = MediaProxy::open(
            fetcher,
            media::Settings {
                keys: self.secret_keys.derive("media address"),
                folder: settings.folder.clone(),
                max_bytes: settings.max_bytes,
                local: settings.local,
            },
        );
        let opened = opened.with_context(|| {
            let folder = settings.folder.as_deref().unwrap_or(Path::new("")).display();
            format!("cannot use the media folder {folder}; set media.folder, or media.proxy = false")
        })?;
        Ok(Some(opened))
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
            metrics::process();
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
