//! Requests come in here and answers go out.
//!
//! `listen` accepts connections, `router` is the map of all addresses, `envelope` is what every request passes on its
//! way in and every answer on its way out. A handler takes what was asked apart, asks `feed`, and has `render` answer.

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

/// What the service is made of and how it is set.
pub struct Parts {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// Who watches collections in this process.
    pub hub: Arc<Hub>,
    /// The public face.
    pub site: Site,
    /// What tells the time.
    pub clock: Clock,
    /// How callers are told apart.
    pub auth: AuthSettings,
    /// What seals secrets.
    pub secret_keys: Arc<SecretKeys>,
    /// How far reads may go.
    pub limits: FeedLimits,
    /// Origins whose scripts may read.
    pub cors_origins: Vec<String>,
    /// What people do elsewhere.
    pub sources: Sources,
}

/// The service as its handlers share it.
pub struct Service {
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    site: Site,
    clock: Clock,
    accounts: AccountCache,
    authenticator: Authenticator,
    ingest: Ingest,
    sources: Sources,
    /// What was received longer ago is not shown.
    retention: Option<Duration>,
    feed: Feed,
    renderer: Renderer,
    written: response_cache::Written,
    cors: cors::Cors,
    /// The last hours of this process.
    history: History,
    /// Request slots, and bytes of bodies that arrive.
    capacity: intake::Capacity,
    /// Turns of those who read more than a small page at once.
    large_pages: tokio::sync::Semaphore,
    /// Turns of those who write many activities at once.
    batches: Arc<tokio::sync::Semaphore>,
    /// The description for programs. It never changes while the service runs.
    openapi: Bytes,
}

/// How many requests may be under way at once, without those whose bodies are awaited.
const MAX_REQUESTS: usize = 4_096;
/// How many of them may hold many activities in memory, to write or to read; the others wait.
const MAX_BATCHES: usize = 32;
const MAX_LARGE_PAGES: usize = 16;

/// How long it is remembered which accounts are pulled.
const AUDIENCES_KEPT: Duration = Duration::from_secs(3);

impl Service {
    /// The service of these parts.
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
            ingest: Ingest::new(Arc::clone(&parts.store), parts.clock.clone()).remembering(AUDIENCES_KEPT),
            sources: parts.sources,
            retention: parts.limits.retention,
            accounts,
            clock: parts.clock,
            written: response_cache::Written::new(),
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

    /// Remembers how things are now, for the operator's page.
    pub async fn take_sample(&self) {
        self.history.sample(self.store.as_ref(), &self.clock).await;
    }

    /// Who tells callers apart.
    pub fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }
}

/// Does something whole, though whoever asked for it may be gone before.
async fn to_the_end<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T, Problem> {
    tokio::spawn(work).await.map_err(|_| Problem::internal())
}

/// A document that is the caller's alone.
fn answer(body: Vec<u8>, format: Format) -> Response {
    ([(CONTENT_TYPE, format.media_type()), (CACHE_CONTROL, "private, no-cache")], body).into_response()
}
