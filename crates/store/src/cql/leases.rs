//! Leases that the service takes by name, each a row that is only written on a condition.

use super::{CqlStore, Outcome, Query};
use crate::{Result, StoreError};
use model::Millis;

/// How often it is tried where somebody else was quicker, or nobody knows.
const TRIES: u32 = 5;

const LEASED: Query = Query::serial("SELECT owner, fence, until_ms FROM ident.lease WHERE name = ?");
const FIRST: Query = Query::conditional(
    "INSERT INTO ident.lease (name, owner, fence, until_ms) VALUES (?, ?, 1, ?) IF NOT EXISTS",
);
const TAKE: Query = Query::conditional(
    "UPDATE ident.lease SET owner = ?, fence = ?, until_ms = ? WHERE name = ? IF fence = ?",
);
const RELEASE: Query = Query::conditional("UPDATE ident.lease SET until_ms = 0 WHERE name = ? IF owner = ?");

/// The name of its row; this engine's own leases have others.
fn row(name: &str) -> String {
    format!("service {name}")
}

impl CqlStore {
    pub(super) async fn take_lease(
        &self,
        name: &str,
        holder: &str,
        now: Millis,
        until: Millis,
    ) -> Result<bool> {
        let name = row(name);
        // Many who try at once only hinder each other; of those in this process one tries at a time.
        let _one_at_a_time = self.db.gate(&name).lock().await;
        for _ in 0..TRIES {
            let outcome = match self.db.row::<(String, i64, i64)>(&LEASED, (&name,)).await? {
                None => self.db.conditional(&FIRST, (&name, holder, until.0)).await?,
                Some((owner, _, held_to)) if owner == holder && held_to >= until.0 => return Ok(true),
                Some((owner, _, held_to)) if owner != holder && held_to > now.0 => return Ok(false),
                Some((_, fence, _)) => {
                    self.db.conditional(&TAKE, (holder, fence + 1, until.0, &name, fence)).await?
                }
            };
            if outcome == Outcome::Applied {
                return Ok(true);
            }
        }
        Err(StoreError::Unknown("who has a lease".to_owned()))
    }

    pub(super) async fn give_lease_back(&self, name: &str, holder: &str) -> Result<()> {
        match self.db.conditional(&RELEASE, (row(name), holder)).await? {
            Outcome::Applied | Outcome::Refused => Ok(()),
            Outcome::Unknown => Err(StoreError::Unknown("whether a lease was given back".to_owned())),
        }
    }
}
