//! Whether the holders of leases still run: each listens on its own subject, so that after a crash others need not wait
//! until its leases end.
//!
//! NATS answers at once if there is no listener. A holder counts as gone only after two such answers, because one may come
//! while it connects to another server. A holder that is frozen, or whose answer does not come in time, counts as running.
//! If a running one is taken for gone, two processes do the same work until its leases end, as after a freeze.

use super::JetStream;
use async_nats::{Client, RequestErrorKind};
use futures::StreamExt;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// How long to wait for an answer.
const TIMEOUT: Duration = Duration::from_millis(500);
/// How long an answer is remembered: a process asks for the holders of many leases one after the other.
const REMEMBERED: Duration = Duration::from_secs(1);
/// The time between the first answer without a listener, and the one after which the holder counts as gone.
const ABSENT_FOR: Duration = Duration::from_secs(3);
/// After this time an answer no longer supports another.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// The holders that were seen, and those of this process.
#[derive(Default)]
pub(super) struct Liveness {
    own: Mutex<Own>,
    others: Mutex<HashMap<String, Seen>>,
}

#[derive(Default)]
struct Own {
    holders: Vec<String>,
    /// Ends with this value.
    listening: JoinSet<()>,
}

/// What is known of a holder.
#[derive(Clone, Copy)]
struct Seen {
    asked: Instant,
    /// Since when there has been no listener.
    absent_since: Option<Instant>,
}

impl Seen {
    fn is_gone(&self) -> bool {
        self.absent_since.is_some_and(|since| self.asked.duration_since(since) >= ABSENT_FOR)
    }

    /// What is known after another answer.
    fn after(before: Option<Seen>, asked: Instant, listens: bool) -> Seen {
        let recent = before.filter(|before| asked.duration_since(before.asked) < FORGOTTEN);
        let absent_since = (!listens).then(|| recent.and_then(|before| before.absent_since).unwrap_or(asked));
        Seen { asked, absent_since }
    }
}

impl JetStream {
    /// Shows the others that this holder runs, as long as this log is in use.
    pub(crate) async fn show_holder(&self, holder: &str) {
        let mut own = self.liveness.own.lock().await;
        if own.holders.iter().any(|known| known == holder) {
            return;
        }
        let client = self.context.client();
        // Without a subscription the holder may lose its leases early, which is as safe as a restart.
        if let Ok(mut asked) = client.subscribe(self.subject_of(holder)).await {
            own.holders.push(holder.to_owned());
            own.listening.spawn(async move {
                while let Some(message) = asked.next().await {
                    if let Some(reply) = message.reply {
                        let _ = client.publish(reply, "".into()).await;
                    }
                }
            });
        }
    }

    /// Whether this holder may still run.
    pub(crate) async fn may_run(&self, holder: &str) -> bool {
        let mut others = self.liveness.others.lock().await;
        let before = others.get(holder).copied();
        if let Some(seen) = before.filter(|seen| seen.asked.elapsed() < REMEMBERED) {
            return !seen.is_gone();
        }
        let listens = listens(&self.context.client(), self.subject_of(holder)).await;
        let seen = Seen::after(before, Instant::now(), listens);
        others.retain(|_, seen| seen.asked.elapsed() < FORGOTTEN);
        others.insert(holder.to_owned(), seen);
        !seen.is_gone()
    }

    fn subject_of(&self, holder: &str) -> String {
        let token: String =
            holder.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        format!("{}.holders.{token}", self.servers.stream)
    }
}

/// Whether a process listens. `true` if that cannot be known.
async fn listens(client: &Client, subject: String) -> bool {
    let answer = tokio::time::timeout(TIMEOUT, client.request(subject, "".into())).await;
    !matches!(answer, Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_gone_after_two_answers_that_are_apart() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let first = Seen::after(None, at(0), false);
        assert!(!first.is_gone());
        let soon = Seen::after(Some(first), at(2), false);
        assert!(!soon.is_gone());
        assert!(Seen::after(Some(soon), at(5), false).is_gone());
        let back = Seen::after(Some(soon), at(5), true);
        assert!(!back.is_gone());
        assert!(!Seen::after(Some(back), at(10), false).is_gone(), "counted from here");
        assert!(!Seen::after(Some(first), at(60), false).is_gone(), "the first answer is too old");
    }
}
