//! Source and target of a copy, and the checks before it starts.

use crate::config::{RawConfig, Storage};
use anyhow::{Context, bail};
use auth::reseal::check_opens;
use model::{Clock, Position, Uid};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use store::Copying;
use tokio::sync::Semaphore;

/// The only environment variable in use: any other would apply to both sides.
const SECRET_KEYS: &str = "TOFROM_SECRET_KEYS";

/// Concurrent writers to the target, a page each. On a cluster a page is hundreds of concurrent row writes.
const WRITERS: usize = 2;

/// Source and target of a copy.
pub(super) struct Sides {
    pub(super) source: Arc<dyn Copying>,
    pub(super) target: Arc<dyn Copying>,
    /// Limits concurrent writers to the target.
    pub(super) writers: Semaphore,
    to: Storage,
}

impl Sides {
    pub(super) async fn open(from: &Path, to: &Path) -> anyhow::Result<Sides> {
        let (from, to) = (storage(from)?, storage(to)?);
        if from.cluster.is_none() && !from.store_file().exists() {
            bail!("--from: no store in {}; set data_dir to its folder", from.data_dir.display());
        }
        let source = from.open_beside_server().await.context("--from")?.copying();
        let target = to.open_beside_server().await.context("--to")?.copying();
        Ok(Sides { source, target, writers: Semaphore::new(WRITERS), to })
    }

    /// Checks whether the copy can start or resume, and starts it. `None` if it is already complete.
    pub(super) async fn begin(&self) -> anyhow::Result<Option<Progress>> {
        let text = self.target.copy_progress().await?;
        let recorded =
            text.map(|text| Progress::read(&text).context("the target records a copy in an unknown form"));
        let recorded = recorded.transpose()?;
        if recorded.is_some_and(|progress| progress.finished) {
            return Ok(None);
        }
        self.require_settled_source().await?;
        self.require_keys().await?;
        let last = self.source.floor().await?;
        let progress = match recorded {
            Some(progress) if progress.source() == last => progress,
            Some(_) => bail!(
                "the source has changed since this copy started, or is another one; start again with an empty target"
            ),
            None => {
                self.require_empty_target().await?;
                Progress::begin(last)
            }
        };
        self.target.set_copy_progress(&progress.text()).await?;
        self.target.continue_log_above(last).await?;
        self.copy_facts().await?;
        for application in self.source.applications().await? {
            self.target.add_application(&application).await?;
        }
        Ok(Some(progress))
    }

    /// Completes the copy.
    pub(super) async fn end(&self, progress: Progress) -> anyhow::Result<()> {
        if self.source.floor().await? != progress.source() {
            bail!(
                "the source changed during the copy; stop its servers and start again with an empty target"
            );
        }
        self.require_settled_source().await?;
        Ok(self.target.set_copy_progress(&progress.finish().text()).await?)
    }

    async fn require_settled_source(&self) -> anyhow::Result<()> {
        if !self.source.is_settled(Clock::system().now()).await? {
            bail!(
                "the source still has pending deliveries, which the copy would lose; let its server run until \
                 tofrom check reports 0 pending deliveries, then stop it"
            );
        }
        if !self.source.dead_letters(None, 1).await?.is_empty() {
            bail!(
                "the source has dead letters, which the copy would lose; run tofrom deadletter replay --all and let \
                 its server deliver them"
            );
        }
        Ok(())
    }

    /// Sealed secrets are copied as they are.
    async fn require_keys(&self) -> anyhow::Result<()> {
        let any_token = self.source.list_tokens(None, 1).await?;
        if any_token.is_empty() && self.source.applications().await?.is_empty() {
            return Ok(());
        }
        self.to.demand_shared_keys()?;
        // A newly created key could not decrypt the secrets.
        if self.to.secret_keys.is_empty() && !self.to.secret_key_file().exists() {
            let file = self.to.secret_key_file();
            bail!(
                "--to has no secret_keys; copy the source's secret_keys to its settings, or its secret.key to {}",
                file.display()
            );
        }
        let opened = check_opens(self.source.as_ref(), &self.to.secret_keys()?).await;
        opened.context("--to has different secret_keys than the source; use the same keys for both")
    }

    async fn require_empty_target(&self) -> anyhow::Result<()> {
        let no_accounts = self.target.every_account(None, 1).await?.is_empty();
        let no_applications = self.target.applications().await?.is_empty();
        if !no_accounts || !no_applications || !self.target.is_settled(Clock::system().now()).await? {
            bail!("the target is not empty; use a new data_dir, or a new cql.keyspace with its tables");
        }
        Ok(())
    }

    async fn copy_facts(&self) -> anyhow::Result<()> {
        for (name, value) in self.source.facts().await? {
            let existing = self.target.set_once(&name, &value).await?;
            if existing != value {
                bail!(
                    "the target belongs to another server: its {name} is {existing:?}, not {value:?}; use a new \
                     data_dir, or a new cql.keyspace with its tables"
                );
            }
        }
        Ok(())
    }
}

fn storage(file: &Path) -> anyhow::Result<Storage> {
    let keys = std::env::var(SECRET_KEYS).ok().map(|keys| (SECRET_KEYS.to_owned(), keys));
    Ok(RawConfig::gather(Some(file), keys.into_iter())?.storage()?.or_with_keys_of_the_demo())
}

/// The progress of a copy, as recorded in the target: the source and the last complete account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The end of the source's log, to detect later changes of the source.
    source: u64,
    /// All accounts up to this one are complete.
    done: Option<i64>,
    /// Whether the copy is complete.
    pub(super) finished: bool,
}

impl Progress {
    /// A new copy of a source whose log ends at this position.
    pub(super) fn begin(source: Position) -> Progress {
        Progress { source: source.0, done: None, finished: false }
    }

    pub(super) fn read(text: &str) -> Option<Progress> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn text(self) -> String {
        serde_json::json!(self).to_string()
    }

    pub(super) fn source(self) -> Position {
        Position(self.source)
    }

    pub(super) fn done(self) -> Option<Uid> {
        self.done.map(Uid)
    }

    pub(super) fn up_to(self, uid: Uid) -> Progress {
        Progress { done: Some(uid.0), ..self }
    }

    pub(super) fn finish(self) -> Progress {
        Progress { finished: true, ..self }
    }
}
