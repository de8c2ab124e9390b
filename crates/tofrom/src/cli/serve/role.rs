//! Roles of a server process.

use crate::cli::usage::UsageError;
use crate::config::Storage;

/// The role of a server process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// Everything
    #[default]
    All,
    /// Answer requests, leave deliveries to workers
    Api,
    /// Deliver, answer no requests
    Worker,
}

impl Role {
    /// Whether it runs deliveries and the other tasks that not every process must run.
    pub(super) fn delivers(self) -> bool {
        self != Role::Api
    }

    /// A usage error for a partial role on a single machine: a second process would not learn what the first delivers.
    pub(super) fn check(self, storage: &Storage) -> Result<(), UsageError> {
        if self != Role::All && storage.cluster.is_none() {
            return Err(UsageError(
                "--role api and --role worker need a cluster; with store = \"sqlite\" one process does everything: \
                 omit --role",
            ));
        }
        Ok(())
    }
}
