//! The HTTP server.
//!
//! `listen` accepts connections, `router` lists all routes, and `middleware` wraps every request and response. A handler
//! parses the request, reads from `feed` or writes through `ingest`, and has `render` write the response.

mod activity;
mod assets;
mod authenticated;
mod avatar;
mod body;
mod coding;
mod collection;
mod conditional;
mod cors;
mod docs;
mod intake;
pub mod listen;
mod live;
mod middleware;
pub mod negotiate;
mod oauth;
mod pages;
mod problem;
mod query;
mod response_cache;
mod router;
mod users;
mod websub;
mod whoami;
mod writing;

pub use problem::{KINDS, Kind, Problem};
pub use router::{Access, ROUTES, Route, router};

use crate::accounts::AccountCache;
use crate::auth::{AuthSettings, Authenticator, SecretKeys};
use crate::clock::Clock;
use crate::feed::{Feed, FeedLimits};
use crate::ingest::Ingest;
use crate::json;
use crate::live::Hub;
use crate::openapi;
use crate::render::Renderer;
use crate::site::Site;
use crate::sources::Sources;
use crate::telemetry::history::History;
use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use model::Format;
use std::sync::Arc;
use std::time::Duration;
use store::Store;

/// The parts of the service and its settings.
pub struct Parts {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The watchers of collections in this process.
    pub hub: Arc<Hub>,
    /// The public address of the site.
    pub site: Site,
    /// The clock.
    pub clock: Clock,
    /// Settings of authentication.
    pub auth: AuthSettings,
    /// The keys that seal secrets.
    pub secret_keys: Arc<SecretKeys>,
    /// The limits of reads.
    pub limits: FeedLimits,
    /// Origins whose scripts may read (CORS).
    pub cors_origins: Vec<String>,
    /// Feeds of other sites.
    pub sources: Sources,
}

/// The state that all handlers share.
pub struct Service {
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    site: Site,
    clock: Clock,
    accounts: AccountCache,
    authenticator: Authenticator,
    ingest: Ingest,
    sources: Sources,
    /// Activities that were received longer ago are hidden.
    retention: Option<Duration>,
    feed: Feed,
    renderer: Renderer,
    response_cache: response_cache::ResponseCache,
    cors: cors::Cors,
    /// Metrics of this process over the last hours.
    history: History,
    /// Request slots, and the byte budget of arriving bodies.
    capacity: intake::Capacity,
    /// Permits for reading pages larger than a usual one.
    large_pages: tokio::sync::Semaphore,
    /// Permits for writing batches.
    batches: Arc<tokio::sync::Semaphore>,
    /// The OpenAPI document. It never changes while the server runs.
    openapi: Bytes,
}

/// The maximum number of concurrent requests, not counting those that wait for their bodies.
const MAX_REQUESTS: usize = 4_096;
/// The maximum number of concurrent batch writes and of concurrent large reads. Others wait.
const MAX_BATCHES: usize = 32;
const MAX_LARGE_PAGES: usize = 16;

/// How long the fan-out states of actors are cached.
const FANOUT_STATE_TTL: Duration = Duration::from_secs(3);

impl Service {
    /// Assembles the service from its parts.
    pub fn new(parts: Parts) -> Arc<Service> {
        let accounts = AccountCache::new(Arc::clone(&parts.store));
        let feed = Feed::new(Arc::clone(&parts.store), accounts.clone(), parts.clock.clone(), parts.limits);
        let heads = feed.head_cache();
        parts.hub.on_activity(move |uids| heads.forget(uids));
        Arc::new(Service {
            feed,
            renderer: Renderer::new(parts.site.clone()),
            authenticator: Authenticator::new(
                Arc::clone(&parts.store),
                accounts.clone(),
                parts.clock.clone(),
                parts.secret_keys,
                parts.auth,
            ),
            ingest: Ingest::new(Arc::clone(&parts.store), parts.clock.clone())
                .caching_fanout_states(FANOUT_STATE_TTL),
            sources: parts.sources,
            retention: parts.limits.retention,
            accounts,
            clock: parts.clock,
            response_cache: response_cache::ResponseCache::new(),
            cors: cors::Cors::new(parts.cors_origins),
            history: History::default(),
            capacity: intake::Capacity::new(MAX_REQUESTS),
            large_pages: tokio::sync::Semaphore::new(MAX_LARGE_PAGES),
            batches: Arc::new(tokio::sync::Semaphore::new(MAX_BATCHES)),
            openapi: json::text(openapi::document(&parts.site)).into(),
            site: parts.site,
            hub: parts.hub,
            store: parts.store,
        })
    }

    /// Records a sample of the metrics for the operator's page.
    pub async fn take_sample(&self) {
        self.history.sample(self.store.as_ref(), &self.clock).await;
    }

    /// The authenticator of this service.
    pub fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }
}

/// Runs the work to completion, even if the client disconnects.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.map_err(|_| Problem::internal())
}

/// A response that only the caller may cache.
fn private_document(body: Vec<u8>, format: Format) -> Response {
    ([(CONTENT_TYPE, format.media_type()), (CACHE_CONTROL, "private, no-cache")], body).into_response()
}
