//! Periodic background tasks of the server.

use crate::clock::Clock;
use crate::http::Service;
use crate::live::Hub;
use crate::telemetry::history;
use metrics_exporter_prometheus::PrometheusHandle;
use std::sync::Arc;
use std::time::Duration;
use store::{Notice, Notices, Store};

/// Histograms grow until they are read, so they are drained periodically even without a reader.
const METRICS_UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between two deletions of expired data.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60);

/// Deletes expired temporary credentials, nonces and sessions.
pub(super) async fn forget_expired(store: Arc<dyn Store>, clock: Clock, stopped: impl Future<Output = ()>) {
    let mut ticks = tokio::time::interval(EXPIRY_INTERVAL);
    let forever = async {
        loop {
            ticks.tick().await;
            if let Err(error) = store.forget_expired(clock.now()).await {
                tracing::warn!(%error, "deletion of expired data failed");
            }
        }
    };
    tokio::select! {
        () = stopped => {}
        () = forever => {}
    }
}

/// Broadcasts wrong credentials to the other processes of a cluster, and handles their notices.
pub(super) async fn exchange_notices(
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    service: Arc<Service>,
    mut notices: Notices,
    stopped: impl Future<Output = ()>,
) {
    let mut wrong = service.authenticator().wrong_credentials();
    let send = async {
        while let Some(credential) = wrong.recv().await {
            // Best effort: nothing depends on this notice.
            let _ = store.broadcast(&Notice::Failed(credential)).await;
        }
    };
    let receive = async {
        while let Some(notice) = notices.recv().await {
            match notice {
                Notice::Arrived(at, uids) => hub.arrived_elsewhere(at, &uids),
                Notice::Failed(credential) => service.authenticator().count_remote_failure(&credential),
            }
        }
    };
    tokio::select! {
        () = stopped => {}
        () = async { tokio::join!(send, receive); } => {}
    }
}

/// Drains the histograms periodically.
pub(super) async fn maintain_metrics(handle: PrometheusHandle, stopped: impl Future<Output = ()>) {
    let mut ticks = tokio::time::interval(METRICS_UPKEEP_INTERVAL);
    let forever = async {
        loop {
            ticks.tick().await;
            handle.run_upkeep();
        }
    };
    tokio::select! {
        () = stopped => {}
        () = forever => {}
    }
}

/// Takes the samples for the plots of the operator pages.
pub(super) async fn take_samples(service: Arc<Service>, stopped: impl Future<Output = ()>) {
    let mut ticks = tokio::time::interval(history::SAMPLE_INTERVAL);
    let forever = async {
        loop {
            ticks.tick().await;
            service.take_sample().await;
        }
    };
    tokio::select! {
        () = stopped => {}
        () = forever => {}
    }
}
