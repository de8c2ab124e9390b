//! What is done again and again beside everything else.

use crate::clock::Clock;
use crate::http::Service;
use crate::live::Hub;
use crate::telemetry::history;
use metrics_exporter_prometheus::PrometheusHandle;
use std::sync::Arc;
use std::time::Duration;
use store::{Notice, Notices, Store};

/// Histograms keep what was recorded until somebody asks; nobody may.
const UPKEEP: Duration = Duration::from_secs(5);
/// How often what has ended is swept away.
const SWEPT_EVERY: Duration = Duration::from_secs(60);

/// Sweeps away what has ended: temporary credentials, nonces, sessions.
pub(super) async fn forget_expired(store: Arc<dyn Store>, clock: Clock, stopped: impl Future<Output = ()>) {
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

/// Tells the other processes of a cluster of wrong credentials, and hears what they tell.
pub(super) async fn talk(
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    service: Arc<Service>,
    mut notices: Notices,
    stopped: impl Future<Output = ()>,
) {
    let mut wrong = service.authenticator().wrong_credentials();
    let tell = async {
        while let Some(what) = wrong.recv().await {
            // Nobody relies on it.
            let _ = store.broadcast(&Notice::Failed(what)).await;
        }
    };
    let hear = async {
        while let Some(notice) = notices.recv().await {
            match notice {
                Notice::Arrived(at, uids) => hub.arrived_elsewhere(at, &uids),
                Notice::Failed(what) => service.authenticator().count_remote_failure(&what),
            }
        }
    };
    tokio::select! {
        () = stopped => {}
        () = async { tokio::join!(tell, hear); } => {}
    }
}

pub(super) async fn keep_up(handle: PrometheusHandle, stopped: impl Future<Output = ()>) {
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

/// Remembers how things are, again and again.
pub(super) async fn take_samples(service: Arc<Service>, stopped: impl Future<Output = ()>) {
    let mut ticks = tokio::time::interval(history::SAMPLE_INTERVAL);
    let for_ever = async {
        loop {
            ticks.tick().await;
            service.take_sample().await;
        }
    };
    tokio::select! {
        () = stopped => {}
        () = for_ever => {}
    }
}
