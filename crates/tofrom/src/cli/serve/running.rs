//! A service that runs, and how it stops.

use anyhow::anyhow;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// For the background's tasks to end in.
const FAREWELL: Duration = Duration::from_secs(5);

/// A service that runs.
#[derive(Default)]
pub struct Running {
    /// Set by the signal to stop: /readyz answers 503 from then on.
    pub(super) draining: watch::Sender<bool>,
    /// How long requests are still taken then.
    pub(super) shutdown_delay: Duration,
    pub(super) stop_public: watch::Sender<bool>,
    pub(super) stop_background: watch::Sender<bool>,
    pub(super) public: JoinSet<anyhow::Result<()>>,
    pub(super) background: JoinSet<()>,
}

impl Running {
    /// Runs until `shutdown`, then stops: first what the public sees, and when its requests have ended, the rest.
    /// A part that ends by itself ends the service, so that whoever watches over it starts it again.
    pub async fn until(mut self, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
        let ended = tokio::select! {
            () = shutdown => Ok(()),
            Some(ended) = self.public.join_next() => ended.map_err(Into::into).and_then(|result| result),
            Some(ended) = self.background.join_next() => match ended {
                Ok(()) => Err(anyhow!("a part of the service ended by itself")),
                Err(error) => Err(anyhow!("a part of the service failed: {error}")),
            },
        };
        tracing::info!("stopping");
        self.draining.send_replace(true);
        if ended.is_ok() {
            tokio::time::sleep(self.shutdown_delay).await;
        }
        self.stop_public.send_replace(true);
        while self.public.join_next().await.is_some() {}
        self.stop_background.send_replace(true);
        let rest = async { while self.background.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, rest).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
        tracing::info!("stopped");
        ended
    }
}

pub(super) async fn stopped(mut stopping: watch::Receiver<bool>) {
    // Whoever could say so is gone: that is a stop too.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Comes with SIGTERM or SIGINT. The signals are caught from now on.
pub fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
