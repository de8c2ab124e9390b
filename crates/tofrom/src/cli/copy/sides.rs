//! The two stores of a copy, and whether one can become the other.

use super::progress::Progress;
use crate::auth::reseal::check_opens;
use crate::clock::Clock;
use crate::config::{RawConfig, Storage};
use anyhow::{Context, bail};
use std::path::Path;
use std::sync::Arc;
use store::Copying;
use tokio::sync::Semaphore;

/// The only variable that counts: all others would say the same of both sides.
const SECRET_KEYS: &str = "TOFROM_SECRET_KEYS";

/// How many write to the target at once, a page each: on a cluster a page is hundreds of rows that are all under way.
const WRITERS: usize = 2;

/// What is copied, and where to.
pub(super) struct Sides {
    pub(super) source: Arc<dyn Copying>,
    pub(super) target: Arc<dyn Copying>,
    /// For those who write to the target.
    pub(super) room: Semaphore,
    to: Storage,
}

impl Sides {
    pub(super) async fn open(from: &Path, to: &Path) -> anyhow::Result<Sides> {
        let (from, to) = (storage(from)?, storage(to)?);
        if from.cluster.is_none() && !from.store_file().exists() {
            bail!("--from: there is no store in {}; data_dir names its folder", from.data_dir.display());
        }
        let source = from.open().await.context("--from")?.copying();
        let target = to.open().await.context("--to")?.copying();
        Ok(Sides { source, target, room: Semaphore::new(WRITERS), to })
    }

    /// Looks whether the copy can be made, or go on, and begins it. `None`: it was finished before.
    pub(super) async fn begin(&self) -> anyhow::Result<Option<Progress>> {
        let noted = self.target.copy_progress().await?;
        let noted =
            noted.map(|noted| Progress::read(&noted).context("the target notes a copy in an unknown form"));
        let noted = noted.transpose()?;
        if noted.is_some_and(|noted| noted.finished) {
            return Ok(None);
        }
        self.demand_settled_source().await?;
        self.demand_keys().await?;
        let last = self.source.floor().await?;
        let progress = match noted {
            Some(noted) if noted.source() == last => noted,
            Some(_) => bail!(
                "the source has changed since this copy was begun, or is another; begin again with an empty target"
            ),
            None => {
                self.demand_empty_target().await?;
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

    /// The copy is made.
    pub(super) async fn end(&self, progress: Progress) -> anyhow::Result<()> {
        if self.source.floor().await? != progress.source() {
            bail!("the source has changed meanwhile; stop its services and begin again with an empty target");
        }
        self.demand_settled_source().await?;
        Ok(self.target.set_copy_progress(&progress.finish().text()).await?)
    }

    async fn demand_settled_source(&self) -> anyhow::Result<()> {
        if !self.source.is_settled(Clock::system().now()).await? {
            bail!(
                "the source still has deliveries under way, and the copy would lose them; let its service run until \
                 tofrom check counts 0 of them, then stop it"
            );
        }
        if !self.source.dead_letters(None, 1).await?.is_empty() {
            bail!(
                "the source has deliveries that were given up, and the copy would lose them; tofrom deadletter replay \
                 --all has its service try them again"
            );
        }
        Ok(())
    }

    /// Sealed secrets are copied as they are.
    async fn demand_keys(&self) -> anyhow::Result<()> {
        let any_token = self.source.list_tokens(None, 1).await?;
        if any_token.is_empty() && self.source.applications().await?.is_empty() {
            return Ok(());
        }
        self.to.demand_shared_keys()?;
        // A key that is made now opens nothing.
        if self.to.secret_keys.is_empty() && !self.to.secret_key_file().exists() {
            let file = self.to.secret_key_file();
            bail!(
                "--to has no secret_keys; copy the source's to its settings, or its secret.key to {}",
                file.display()
            );
        }
        let opened = check_opens(self.source.as_ref(), &self.to.secret_keys()?).await;
        opened.context("--to has other secret_keys than the source; both must have the same")
    }

    async fn demand_empty_target(&self) -> anyhow::Result<()> {
        let nobody = self.target.every_account(None, 1).await?.is_empty();
        let nothing = self.target.applications().await?.is_empty();
        if !nobody || !nothing || !self.target.is_settled(Clock::system().now()).await? {
            bail!(
                "the target is not empty; right would be a new data_dir, or a new cql.keyspace with its tables"
            );
        }
        Ok(())
    }

    async fn copy_facts(&self) -> anyhow::Result<()> {
        for (name, value) in self.source.facts().await? {
            let fixed = self.target.set_once(&name, &value).await?;
            if fixed != value {
                bail!(
                    "the target has been a service of its own: its {name} is {fixed:?}, not {value:?}; right would be a \
                     new data_dir, or a new cql.keyspace with its tables"
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
