//! What a process of the service does.

use crate::cli::usage::Misused;
use crate::config::Storage;

/// Which part of the service this process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// Everything
    #[default]
    All,
    /// Answers requests, and leaves deliveries to workers
    Api,
    /// Delivers, and answers no requests
    Worker,
}

impl Role {
    /// Whether it delivers, and does what else must be done somewhere and not everywhere.
    pub(super) fn delivers(self) -> bool {
        self != Role::Api
    }

    /// On one machine there is one process: a second one could not find out what the first one delivers.
    pub(super) fn suits(self, storage: &Storage) -> Result<(), Misused> {
        if self != Role::All && storage.cluster.is_none() {
            return Err(Misused(
                "--role api and --role worker are for a cluster; on one machine (store = \"sqlite\") one process does \
                 everything: leave --role out",
            ));
        }
        Ok(())
    }
}
