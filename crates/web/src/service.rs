//! The state of the router: the parts that handlers ask for by type.

use crate::accounts::Accounts;
use crate::admission::Admission;
use crate::answer_cache::AnswerCache;
use crate::history::History;
use crate::intake::Capacity;
use crate::media::Media;
use crate::openapi;
use crate::problem::{PreparedProblem, Problem};
use crate::render::Renderer;
use crate::requests::{RequestLimiter, RequestLimits};
use crate::respond::ResponseCache;
use crate::site::Site;
use ::media::MediaProxy;
use auth::Auth;
use auth::audit::AuditLog;
use axum::body::Bytes;
use axum::extract::FromRef;
use domain::feed::Feed;
use domain::hooks::Hooks;
use domain::ingest::Ingest;
use domain::json;
use domain::live::Hub;
use domain::sources::Sources;
use model::{Clock, Quotas, Uid};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use store::{AccountCache, Store};
use tokio::sync::Semaphore;

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
    /// The cached accounts.
    pub accounts: AccountCache,
    /// Authentication.
    pub auth: Arc<Auth>,
    /// Reads collections.
    pub feed: Feed,
    /// Activities that were received longer ago are hidden.
    pub retention: Option<Duration>,
    /// Origins whose scripts may read (CORS).
    pub cors_origins: Vec<String>,
    /// Feeds of other sites.
    pub sources: Sources,
    /// Hooks to other sites.
    pub hooks: Hooks,
    /// Pictures of other sites. `None`: pages show none.
    pub media: Option<MediaProxy>,
    /// How much an account may store.
    pub quotas: Quotas,
    /// How many requests an account may send.
    pub requests: RequestLimits,
    /// How many requests may be queued before others are refused. `None`: any number.
    pub queued_requests: Option<u32>,
}

/// The state of the router. Clones share it: every layer and extractor of a request makes one.
#[derive(Clone)]
pub struct Service(Arc<Inner>);

/// The parts that clones share.
pub struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) site: Site,
    pub(crate) clock: Clock,
    pub(crate) accounts: Accounts,
    pub(crate) auth: Arc<Auth>,
    pub(crate) audit: Arc<AuditLog>,
    pub(crate) sources: Sources,
    pub(crate) hooks: Hooks,
    pub(crate) media: Media,
    pub(crate) collections: Arc<Collections>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) entrance: Arc<Entrance>,
    pub(crate) openapi: OpenApiDocument,
    pub(crate) requests: Arc<RequestLimiter>,
}

impl Deref for Service {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Reads collections and activities, and renders them.
pub(crate) struct Collections {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) site: Site,
    pub(crate) clock: Clock,
    pub(crate) accounts: Accounts,
    pub(crate) media: Media,
    pub(crate) feed: Feed,
    pub(crate) renderer: Renderer,
    pub(crate) response_cache: ResponseCache,
    pub(crate) answer_cache: AnswerCache,
    /// Activities that were received longer ago are hidden.
    pub(crate) retention: Option<Duration>,
    /// Permits for reading pages larger than a usual one.
    pub(crate) large_pages: Semaphore,
}

/// Writes activities.
pub(crate) struct Writer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) hub: Arc<Hub>,
    pub(crate) site: Site,
    pub(crate) ingest: Ingest,
    /// Permits for writing batches.
    pub(crate) batches: Arc<Semaphore>,
}

/// What the middleware of all requests needs.
pub(crate) struct Entrance {
    /// Origins whose scripts may read (CORS).
    pub(crate) cors_origins: Vec<String>,
    /// Metrics of this process over the last hours.
    pub(crate) history: History,
    /// Request slots, and the byte budget of arriving bodies.
    pub(crate) capacity: Capacity,
    /// Refuses requests during overload.
    pub(crate) admission: Admission,
    /// The response to these.
    pub(crate) refusal: PreparedProblem,
}

/// The OpenAPI document. It never changes while the server runs.
#[derive(Clone)]
pub(crate) struct OpenApiDocument(pub(crate) Bytes);

/// Lets handlers ask for a part with `State<Part>`.
macro_rules! parts {
    ($($field:ident: $part:ty,)*) => {
        $(impl FromRef<Service> for $part {
            fn from_ref(service: &Service) -> $part {
                service.$field.clone()
            }
        })*
    };
}

parts! {
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    site: Site,
    clock: Clock,
    accounts: Accounts,
    auth: Arc<Auth>,
    audit: Arc<AuditLog>,
    sources: Sources,
    hooks: Hooks,
    media: Media,
    collections: Arc<Collections>,
    writer: Arc<Writer>,
    entrance: Arc<Entrance>,
    openapi: OpenApiDocument,
}

/// Defines a part for the handlers of some pages, with the fields of [`Service`] that they need.
macro_rules! page_part {
    ($(#[$about:meta])* $name:ident { $($field:ident: $part:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone)]
        pub(super) struct $name {
            $($field: $part,)*
        }

        impl axum::extract::FromRef<$crate::service::Service> for $name {
            fn from_ref(service: &$crate::service::Service) -> $name {
                $name { $($field: service.$field.clone(),)* }
            }
        }
    };
}
pub(crate) use page_part;

/// The maximum number of concurrent requests, not counting those that wait for their bodies.
const MAX_REQUESTS: usize = 4_096;
/// The maximum number of concurrent batch writes and of concurrent large reads. Others wait.
const MAX_BATCHES: usize = 32;
const MAX_LARGE_PAGES: usize = 16;

/// How long the fan-out states of actors are cached.
const FANOUT_STATE_TTL: Duration = Duration::from_secs(3);

impl Service {
    /// Assembles the service from its parts.
    pub fn new(parts: Parts) -> Service {
        let Parts {
            store,
            hub,
            site,
            clock,
            accounts: cache,
            auth,
            feed,
            retention,
            cors_origins,
            sources,
            hooks,
            media,
            quotas,
            requests,
            queued_requests,
        } = parts;
        let site = site.searching_text(store.searches_text());
        let media = Media::new(&site, media);
        let heads = feed.head_cache();
        hub.on_activity(move |uids| heads.forget(uids));
        let accounts = Accounts {
            store: Arc::clone(&store),
            cache,
            clock: clock.clone(),
            hub: Arc::clone(&hub),
            quotas,
        };
        let collections = Collections {
            store: Arc::clone(&store),
            site: site.clone(),
            clock: clock.clone(),
            accounts: accounts.clone(),
            media: media.clone(),
            feed,
            renderer: Renderer::new(site.clone()),
            response_cache: ResponseCache::new(),
            answer_cache: AnswerCache::new(),
            retention,
            large_pages: Semaphore::new(MAX_LARGE_PAGES),
        };
        let writer = Writer {
            store: Arc::clone(&store),
            clock: clock.clone(),
            hub: Arc::clone(&hub),
            site: site.clone(),
            ingest: Ingest::new(Arc::clone(&store), clock.clone())
                .caching_fanout_states(FANOUT_STATE_TTL)
                .with_quotas(quotas, retention),
            batches: Arc::new(Semaphore::new(MAX_BATCHES)),
        };
        let admission = Admission::new(queued_requests);
        let entrance = Entrance {
            cors_origins,
            history: History::default(),
            capacity: Capacity::new(MAX_REQUESTS, admission.clone()),
            admission,
            refusal: PreparedProblem::new(Problem::busy(), &site),
        };
        let requests = RequestLimiter::new(requests, clock.clone());
        Service(Arc::new(Inner {
            requests: Arc::new(requests),
            accounts,
            audit: Arc::clone(&auth.audit),
            auth,
            sources,
            hooks,
            media,
            collections: Arc::new(collections),
            writer: Arc::new(writer),
            entrance: Arc::new(entrance),
            openapi: OpenApiDocument(json::text(openapi::document(&site)).into()),
            site,
            clock,
            hub,
            store,
        }))
    }

    /// Authentication.
    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    /// The accepted requests of each account since the last call, for the other processes of a cluster.
    pub fn accepted_requests(&self) -> Vec<(Uid, u32)> {
        self.requests.unsent()
    }

    /// Counts requests that another process has accepted.
    pub fn count_remote_requests(&self, counts: &[(Uid, u32)]) {
        self.requests.count_remote(counts);
    }

    /// Measures the run queue, by which requests are refused during overload, as long as the server runs.
    pub async fn watch_overload(&self) {
        self.entrance.admission.clone().watch().await;
    }

    /// Records a sample of the metrics for the operator's page.
    pub async fn take_sample(&self) {
        self.entrance.history.sample(self.store.as_ref(), &self.clock).await;
    }
}
