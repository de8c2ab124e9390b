//! Messages to systemd, if it started this process with `Type=notify`.

use sd_notify::NotifyState;
use std::time::Duration;

/// Sends a state. Without systemd this does nothing.
pub(super) fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "systemd was not notified");
    }
}

/// How often systemd expects a sign of life, with a margin.
pub(super) fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 3)
}

/// Tells systemd that tasks of this process still run.
pub(super) async fn feed_watchdog(interval: Duration) {
    let mut ticks = tokio::time::interval(interval);
    loop {
        ticks.tick().await;
        notify(&[NotifyState::Watchdog]);
    }
}
