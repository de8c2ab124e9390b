//! A running server and its shutdown.

use anyhow::anyhow;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Time for background tasks to end.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(5);

/// A running server.
#[derive(Default)]
pub struct Running {
    /// Set by the stop signal: /readyz answers 503 from then on.
    pub(super) draining: watch::Sender<bool>,
    /// How long requests are accepted after the stop signal.
    pub(super) shutdown_delay: Duration,
    pub(super) stop_public: watch::Sender<bool>,
    pub(super) stop_background: watch::Sender<bool>,
    pub(super) public: JoinSet<anyhow::Result<()>>,
    pub(super) background: JoinSet<()>,
}

impl Running {
    /// Runs until `shutdown`, then stops the public listeners and, when their requests have ended, the background tasks.
    /// A part that ends unexpectedly stops the server, so that the process supervisor restarts it.
    pub async fn until(mut self, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
        let ended = tokio::select! {
            () = shutdown => Ok(()),
            Some(ended) = self.public.join_next() => ended.map_err(Into::into).and_then(|result| result),
            Some(ended) = self.background.join_next() => match ended {
                Ok(()) => Err(anyhow!("a server task ended unexpectedly")),
                Err(error) => Err(anyhow!("a server task failed: {error}")),
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
        if tokio::time::timeout(BACKGROUND_TIMEOUT, rest).await.is_err() {
            tracing::warn!("background tasks did not end in time");
        }
        tracing::info!("stopped");
        ended
    }
}

pub(super) async fn stopped(mut stopping: watch::Receiver<bool>) {
    // A dropped sender also means stop.
    let _ = stopping.wait_for(|stop| *stop).await;
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
