//! The proxy: one job for an address at a time fetches, converts and stores a picture, and all requests wait for it.

use crate::cache::{Cache, key};
use crate::convert::{MAX_BYTES, Picture, convert};
use crate::disk::Key;
use crate::sealed::{MediaRequest, Sealer, Width};
use aws_lc_rs::hmac;
use fetcher::{Content, FetchError, FetchRequest, Fetcher, HostBudget, HostLimiter, Rules};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use moka::sync::Cache as MemoryCache;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

/// Concurrent fetches. A fetch counts until its picture is converted, so this limits the memory for files.
const FETCHES: usize = 8;
/// Concurrent fetches from one host. Further ones wait without taking one of [`FETCHES`].
const FETCHES_PER_HOST: usize = 4;
/// Concurrent conversions. Each takes a core, and as much memory as the largest picture.
const CONVERSIONS: usize = 2;
/// Addresses that are being fetched, or wait for it.
const MAX_JOBS: usize = 256;
/// Requests that wait for a picture.
const MAX_WAITING: usize = 1_024;
/// How long a job may wait for its turn.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request waits. A job continues after it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout of a fetch with all redirects.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_REDIRECTS: usize = 3;

/// How long a picture that does not exist or cannot be shown is not fetched again.
const REFUSED_TTL: Duration = Duration::from_secs(60 * 60);
/// How long an address is not fetched again after an error that may be temporary.
const FAILED_TTL: Duration = Duration::from_secs(5 * 60);
/// The maximum number of remembered failures.
const MAX_FAILURES: u64 = 50_000;

const ACCEPT: &str = "image/webp, image/png, image/jpeg, image/gif;q=0.9";

const FETCHED: &str = "tofrom_media_fetches_total";
const CACHED: &str = "tofrom_media_cache_bytes";

/// Describes the metrics of this crate.
pub fn describe_metrics() {
    metrics::describe_counter!(FETCHED, "Pictures fetched from other sites, by outcome.");
    metrics::describe_gauge!(CACHED, metrics::Unit::Bytes, "Size of the media cache.");
}

/// Pictures that this process makes itself instead of a fetch. Everything after the fetch is the same. The demo has such
/// pictures, so that it needs no other site.
#[derive(Clone, Copy, Debug)]
pub struct LocalPictures {
    /// A reserved host name, which no other site can have: one that ends with `.invalid`.
    pub host: &'static str,
    /// The file of a path at that host.
    pub draw: fn(&str) -> Option<Vec<u8>>,
}

/// The settings of the proxy.
pub struct Settings {
    /// The keys of sealed addresses: the first one seals, any of them opens.
    pub keys: Vec<hmac::Key>,
    /// The folder of the cache. Without one, a small cache in memory is used.
    pub folder: Option<PathBuf>,
    /// The size limit of the cache.
    pub max_bytes: u64,
    /// Pictures that this process makes itself.
    pub local: Option<LocalPictures>,
}

/// The rules of a fetcher for pictures: the guard of these rules, with limits for pictures.
#[must_use]
pub fn rules(guard: Rules) -> Rules {
    Rules {
        max_bytes: MAX_BYTES,
        connect: CONNECT_TIMEOUT,
        head: FETCH_TIMEOUT,
        total: FETCH_TIMEOUT,
        max_redirects: MAX_REDIRECTS,
        // The proxy limits hosts before it takes one of its fetches. The fetcher's limit is for redirects.
        connections: FETCHES,
        budget: HostBudget { burst: 1_000, every: Duration::from_millis(1) },
        ..guard
    }
}

/// Why there is no picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediaError {
    /// The picture does not exist, cannot be fetched, or is not accepted.
    #[error("the picture is not available")]
    NotFound,
    /// Too many pictures are being fetched.
    #[error("too many pictures are being fetched")]
    Busy,
}

/// The pictures of one job, in both widths of a pair.
type Outcome = Result<[(Width, Picture); 2], MediaError>;
type Job = Shared<BoxFuture<'static, Outcome>>;

/// Fetches, converts and caches pictures. Clones share everything.
#[derive(Clone)]
pub struct MediaProxy(Arc<Inner>);

struct Inner {
    sealer: Sealer,
    fetcher: Fetcher,
    hosts: HostLimiter,
    local: Option<LocalPictures>,
    cache: Cache,
    /// Addresses that failed, and until when they are not fetched again.
    failures: MemoryCache<Key, Instant>,
    /// The running jobs by address.
    jobs: Mutex<HashMap<Key, Job>>,
    queue: Arc<Semaphore>,
    waiting: Semaphore,
    fetches: Semaphore,
    conversions: Arc<Semaphore>,
}

impl MediaProxy {
    /// A proxy with this fetcher, whose limits come from [`rules`]. Reads the folder of the cache.
    pub fn open(fetcher: Fetcher, settings: Settings) -> io::Result<MediaProxy> {
        let Settings { keys, folder, max_bytes, local } = settings;
        let budget = HostBudget { burst: 64, every: Duration::from_millis(50) };
        let inner = Inner {
            sealer: Sealer::new(keys),
            fetcher,
            hosts: HostLimiter::with_connections(budget, FETCHES_PER_HOST),
            local,
            cache: Cache::open(folder.as_deref(), max_bytes)?,
            failures: MemoryCache::builder().max_capacity(MAX_FAILURES).time_to_live(REFUSED_TTL).build(),
            jobs: Mutex::default(),
            queue: Arc::new(Semaphore::new(MAX_JOBS)),
            waiting: Semaphore::new(MAX_WAITING),
            fetches: Semaphore::new(FETCHES),
            conversions: Arc::new(Semaphore::new(CONVERSIONS)),
        };
        inner.measure();
        Ok(MediaProxy(Arc::new(inner)))
    }

    /// The size of the cache in bytes.
    pub fn cached_bytes(&self) -> u64 {
        self.0.cache.bytes()
    }

    /// Removes all pictures from the cache. They are fetched again when a page needs them.
    pub async fn clear(&self) {
        self.0.cache.clear().await;
    }

    /// Makes and checks sealed addresses.
    pub fn sealer(&self) -> &Sealer {
        &self.0.sealer
    }

    /// The picture of a sealed address.
    pub async fn picture(&self, request: &MediaRequest) -> Result<Picture, MediaError> {
        let MediaRequest { url, width } = request;
        if let Some(picture) = self.0.cache.get(url, *width).await {
            return Ok(picture);
        }
        let address = key(url, None);
        if self.0.has_failed(&address) {
            return Err(MediaError::NotFound);
        }
        let _waiting = self.0.waiting.try_acquire().map_err(|_| MediaError::Busy)?;
        let wait = async {
            loop {
                let pictures = self.job(request, address)?.await?;
                let made = pictures.into_iter().find(|(made, _)| made == width);
                // Otherwise the job was for other widths.
                if let Some((_, picture)) = made {
                    return Ok(picture);
                }
            }
        };
        timeout(WAIT_TIMEOUT, wait).await.map_err(|_| MediaError::Busy)?
    }

    /// The running job of the address, or a new one.
    fn job(&self, request: &MediaRequest, address: Key) -> Result<Job, MediaError> {
        let mut jobs = self.0.jobs();
        if let Some(job) = jobs.get(&address) {
            return Ok(job.clone());
        }
        let place = Arc::clone(&self.0.queue).try_acquire_owned().map_err(|_| MediaError::Busy)?;
        let running = RunningJob { proxy: Arc::clone(&self.0), address, _place: place };
        // A separate task: it continues when the request that started it ends. The lock is held until the job is
        // in the table, so that it cannot be removed before.
        let task = tokio::spawn(running.run(request.clone()));
        // A decoder that panics means a picture that cannot be shown.
        let job = task.map(|ended| ended.unwrap_or(Err(MediaError::NotFound))).boxed().shared();
        jobs.insert(address, job.clone());
        Ok(job)
    }
}

/// A job in the table. It leaves the table when it ends, also by a panic.
struct RunningJob {
    proxy: Arc<Inner>,
    address: Key,
    _place: OwnedSemaphorePermit,
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        self.proxy.jobs().remove(&self.address);
    }
}

impl RunningJob {
    async fn run(self, request: MediaRequest) -> Outcome {
        let proxy = &self.proxy;
        let MediaRequest { url, width } = &request;
        // Another job may have ended since the request looked.
        let [one, two] = width.pair();
        if let (Some(first), Some(second)) =
            (proxy.cache.get(url, one).await, proxy.cache.get(url, two).await)
        {
            return Ok([(one, first), (two, second)]);
        }
        if proxy.has_failed(&self.address) {
            return Err(MediaError::NotFound);
        }
        let made = proxy.make(url, [one, two]).await;
        let (outcome, retry_after) = match &made {
            Ok(_) => ("ok", None),
            Err(JobError::Busy) => return Err(MediaError::Busy),
            Err(JobError::Refused) => ("refused", Some(REFUSED_TTL)),
            Err(JobError::Failed) => ("failed", Some(FAILED_TTL)),
        };
        metrics::counter!(FETCHED, "outcome" => outcome).increment(1);
        if let Some(ttl) = retry_after {
            proxy.failures.insert(self.address, Instant::now() + ttl);
        }
        let pictures = made.map_err(|_| MediaError::NotFound)?;
        for (width, picture) in &pictures {
            proxy.cache.put(url, *width, picture).await;
        }
        proxy.measure();
        Ok(pictures)
    }
}

/// Why a job made no picture.
enum JobError {
    /// It did not get its turn.
    Busy,
    /// The picture does not exist or is not accepted.
    Refused,
    /// The error may be temporary.
    Failed,
}

impl From<FetchError> for JobError {
    fn from(error: FetchError) -> JobError {
        match error {
            FetchError::Refused(_)
            | FetchError::Gone
            | FetchError::NotFound
            | FetchError::NeedsSignIn(_)
            | FetchError::TooLarge
            | FetchError::RedirectLoop => JobError::Refused,
            FetchError::Status(status) if status < 500 => JobError::Refused,
            _ => JobError::Failed,
        }
    }
}

impl Inner {
    fn jobs(&self) -> MutexGuard<'_, HashMap<Key, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_failed(&self, address: &Key) -> bool {
        self.failures.get(address).is_some_and(|until| until > Instant::now())
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge")]
    fn measure(&self) {
        metrics::gauge!(CACHED).set(self.cache.bytes() as f64);
    }

    async fn make(&self, url: &Url, widths: [Width; 2]) -> Result<[(Width, Picture); 2], JobError> {
        let local = self.local.filter(|local| url.host_str() == Some(local.host));
        let (file, _turn) = match local {
            Some(LocalPictures { draw, .. }) => {
                let path = url.path().to_owned();
                let drawn = self.on_blocking_thread(move || draw(&path)).await?;
                (drawn.ok_or(JobError::Refused)?, None)
            }
            None => {
                let (file, turn) = self.fetch(url).await?;
                (file, Some(turn))
            }
        };
        let converted = self.on_blocking_thread(move || convert(&file, widths.map(Width::pixels))).await?;
        let [first, second] = converted.map_err(|_| JobError::Refused)?;
        let [one, two] = widths;
        Ok([(one, first), (two, second)])
    }

    async fn fetch(&self, url: &Url) -> Result<(Vec<u8>, SemaphorePermit<'_>), JobError> {
        let url = self.fetcher.check(url.as_str())?;
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let host = url.host_str().unwrap_or_default();
        let _host = timeout_at(deadline, self.hosts.enter(host)).await.map_err(|_| JobError::Busy)?;
        let turn = timeout_at(deadline, self.fetches.acquire()).await.map_err(|_| JobError::Busy)?;
        let turn = turn.map_err(|_| JobError::Busy)?;
        let request = FetchRequest { url, etag: None, modified: None, accept: ACCEPT };
        match self.fetcher.get(&request).await?.content {
            Content::Fresh { body, .. } => Ok((body, turn)),
            Content::Unchanged => Err(JobError::Failed),
        }
    }

    /// Runs work that takes a core, with limited concurrency. A panic of it is a failure.
    async fn on_blocking_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JobError> {
        let permit = Arc::clone(&self.conversions).acquire_owned().await.map_err(|_| JobError::Busy)?;
        let work = spawn_blocking(move || {
            let _held = permit;
            work()
        });
        work.await.map_err(|_| JobError::Refused)
    }
}
