//! A running server, its shutdown, and its periodic background tasks.

use super::supervisor;
use anyhow::anyhow;
use auth::audit::{Actor, AuditLog, Event};
use domain::erasure;
use domain::live::Hub;
use media::MediaProxy;
use metrics_exporter_prometheus::PrometheusHandle;
use model::{Clock, Uid};
use sd_notify::NotifyState;
use std::sync::Arc;
use std::time::Duration;
use store::{Notice, Notices, Store};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use web::{Service, history};

/// Time for background tasks to end.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(5);

/// A running server.
#[derive(Default)]
pub struct Running {
    /// Set by the stop signal: /readyz answers 503 from then on.
    pub(super) draining: CancellationToken,
    /// How long requests are accepted after the stop signal.
    pub(super) shutdown_delay: Duration,
    pub(super) stop_public: CancellationToken,
    pub(super) stop_background: CancellationToken,
    pub(super) public: JoinSet<anyhow::Result<()>>,
    pub(super) background: JoinSet<()>,
}

impl Running {
    /// Completes when the background tasks must end.
    pub(super) fn background_stopped(&self) -> WaitForCancellationFutureOwned {
        self.stop_background.clone().cancelled_owned()
    }

    /// Runs a background task that may end at any await point.
    pub(super) fn spawn_background(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop_background.clone();
        self.background.spawn(async move {
            let _ = stop.run_until_cancelled_owned(task).await;
        });
    }

    /// Runs until `shutdown`, then stops the public listeners and, when their requests have ended, the background tasks.
    /// A part that ends unexpectedly stops the server, so that the process supervisor restarts it.
    pub async fn until(mut self, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
        supervisor::notify(&[NotifyState::Ready]);
        if let Some(interval) = supervisor::watchdog_interval() {
            self.spawn_background(supervisor::feed_watchdog(interval));
        }
        let ended = tokio::select! {
            () = shutdown => Ok(()),
            Some(ended) = self.public.join_next() => ended.map_err(Into::into).and_then(|result| result),
            Some(ended) = self.background.join_next() => match ended {
                Ok(()) => Err(anyhow!("a server task ended unexpectedly")),
                Err(error) => Err(anyhow!("a server task failed: {error}")),
            },
        };
        tracing::info!("stopping");
        supervisor::notify(&[NotifyState::Stopping]);
        self.draining.cancel();
        if ended.is_ok() {
            tokio::time::sleep(self.shutdown_delay).await;
        }
        self.stop_public.cancel();
        while self.public.join_next().await.is_some() {}
        self.stop_background.cancel();
        let rest = async { while self.background.join_next().await.is_some() {} };
        if tokio::time::timeout(BACKGROUND_TIMEOUT, rest).await.is_err() {
            tracing::warn!("background tasks did not end in time");
        }
        tracing::info!("stopped");
        ended
    }
}

/// Completes on SIGTERM or SIGINT. The signals are caught from the call on.
pub fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Histograms grow until they are read, so they are drained periodically even without a reader.
const METRICS_UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between two deletions of expired data.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(30);

/// Deletes expired temporary credentials, nonces and sessions, and activities older than the retention.
pub(super) async fn forget_expired(store: Arc<dyn Store>, clock: Clock) {
    let mut ticks = tokio::time::interval(EXPIRY_INTERVAL);
    loop {
        ticks.tick().await;
        if let Err(error) = store.forget_expired(clock.now()).await {
            tracing::warn!(%error, "deletion of expired data failed");
        }
    }
}

/// Interval between two passes of the erasure, and the lease of the process that does it.
const ERASURE_INTERVAL: Duration = Duration::from_secs(60);
const ERASURE_LEASE: Duration = Duration::from_secs(600);

/// Erases removed accounts, and the cached pictures, which may be theirs. One process of a cluster does it at a time.
pub(super) async fn erase_removed(
    store: Arc<dyn Store>,
    clock: Clock,
    audit: Arc<AuditLog>,
    media: Option<MediaProxy>,
    holder: String,
) {
    let mut ticks = tokio::time::interval(ERASURE_INTERVAL);
    loop {
        ticks.tick().await;
        let now = clock.now();
        let record = async |erased: erasure::Erased| {
            tracing::info!(account = %erased.account.name, activities = erased.activities, "account erased");
            if let Some(media) = &media {
                media.clear().await;
            }
            let about = format!("{} activities", erased.activities);
            audit
                .record(Event::new("account-erased", Actor::Server).on_erased(&erased.account).about(about))
                .await;
        };
        let pass = async {
            if store.lease("erasure", &holder, now, now.later(ERASURE_LEASE)).await? {
                erasure::erase_due(store.as_ref(), &clock, record).await?;
            }
            Ok::<(), store::StoreError>(())
        };
        if let Err(error) = pass.await {
            tracing::warn!(%error, "erasure of removed accounts failed");
        }
    }
}

/// Interval between two looks at the queue of erasures: several while an account is in it.
const ERASURE_LOOK_INTERVAL: Duration = Duration::from_secs(20);

/// Clears the picture cache of this process after erasures by other processes of a cluster.
pub(super) async fn follow_erasures(store: Arc<dyn Store>, clock: Clock, media: MediaProxy) {
    let mut ticks = tokio::time::interval(ERASURE_LOOK_INTERVAL);
    let mut watch = erasure::ErasureWatch::default();
    loop {
        ticks.tick().await;
        match watch.look(store.as_ref(), &clock).await {
            Ok(true) => media.clear().await,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "queue of erasures not read"),
        }
    }
}

/// Interval at which the head of the audit log is noted.
const AUDIT_INTERVAL: Duration = Duration::from_secs(60);

/// Records aggregated events and notes the head of the audit log, also at the end.
pub(super) async fn keep_audit(audit: Arc<AuditLog>, stopped: WaitForCancellationFutureOwned) {
    let mut stopped = std::pin::pin!(stopped);
    let mut is_stopped = false;
    while !is_stopped {
        is_stopped = tokio::time::timeout(AUDIT_INTERVAL, &mut stopped).await.is_ok();
        if let Err(error) = audit.flush().await {
            tracing::warn!(%error, "audit head not written");
        }
    }
}

/// Interval between two broadcasts of accepted requests, and the maximum number of accounts in one.
const REQUESTS_INTERVAL: Duration = Duration::from_millis(500);
const ACCOUNTS_PER_NOTICE: usize = 1_000;

/// Broadcasts wrong credentials and accepted requests to the other processes of a cluster, and handles their notices.
pub(super) async fn exchange_notices(
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    service: Service,
    notices: Notices,
) {
    let mut wrong = service.auth().throttle.outgoing();
    let send = async {
        while let Some(credential) = wrong.recv().await {
            // Best effort: nothing depends on this notice.
            let _ = store.broadcast(&Notice::Failed(credential)).await;
        }
    };
    let tell = async {
        let mut ticks = tokio::time::interval(REQUESTS_INTERVAL);
        loop {
            ticks.tick().await;
            let counts = service.accepted_requests();
            for counts in counts.chunks(ACCOUNTS_PER_NOTICE) {
                // A lost notice only makes the limit slightly less strict.
                let _ = store.broadcast(&Notice::Requests(counts.to_vec())).await;
            }
        }
    };
    let failed = |credential: Vec<u8>| service.auth().throttle.count_remote(&credential);
    let receive = take_notices(hub, notices, failed, |counts| service.count_remote_requests(counts));
    tokio::join!(send, tell, receive);
}

/// Handles the notices of other processes. `failed` gets wrong credentials, `requests` the requests of accounts.
pub(super) async fn take_notices(
    hub: Arc<Hub>,
    mut notices: Notices,
    failed: impl Fn(Vec<u8>),
    requests: impl Fn(&[(Uid, u32)]),
) {
    while let Some(notice) = notices.recv().await {
        match notice {
            Notice::Arrived(at, uids) => hub.arrived_elsewhere(at, &uids),
            Notice::Seen(uid) => hub.seen_moved_elsewhere(uid),
            Notice::Hooks(uid) => hub.hooks_changed_elsewhere(uid),
            Notice::Failed(credential) => failed(credential),
            Notice::Requests(counts) => requests(&counts),
        }
    }
}

/// Drains the histograms periodically.
pub(super) async fn maintain_metrics(handle: PrometheusHandle) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP_INTERVAL);
    loop {
        ticks.tick().await;
        handle.run_upkeep();
    }
}

/// Takes the samples for the plots of the operator pages.
pub(super) async fn take_samples(service: Service) {
    let mut ticks = tokio::time::interval(history::SAMPLE_INTERVAL);
    loop {
        ticks.tick().await;
        service.take_sample().await;
    }
}
