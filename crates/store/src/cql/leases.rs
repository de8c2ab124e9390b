//! Named leases of the service. Each is a row that is only written conditionally. A lease ends with its time, or when its
//! holder has crashed.

use super::{CqlStore, Outcome, Query};
use crate::{Leases, Result, StoreError};
use async_trait::async_trait;
use model::Millis;

/// Attempts if another process interferes or the outcome is unknown.
const MAX_ATTEMPTS: u32 = 5;

const LEASED: Query = Query::serial("SELECT holder, fence, until_ms FROM ident.lease WHERE name = ?");
const FIRST: Query = Query::conditional(
    "INSERT INTO ident.lease (name, holder, fence, until_ms) VALUES (?, ?, 1, ?) IF NOT EXISTS",
);
const ACQUIRE: Query = Query::conditional(
    "UPDATE ident.lease SET holder = ?, fence = ?, until_ms = ? WHERE name = ? IF fence = ?",
);
const RELEASE: Query = Query::conditional("UPDATE ident.lease SET until_ms = 0 WHERE name = ? IF holder = ?");

/// The name of the row. The prefix separates these leases from those of the engine itself.
fn row_name(name: &str) -> String {
    format!("service {name}")
}

#[async_trait]
impl Leases for CqlStore {
    async fn lease(&self, name: &str, holder: &str, now: Millis, until: Millis) -> Result<bool> {
        let name = row_name(name);
        self.log.show_holder(holder).await;
        // Concurrent lightweight transactions on a row slow each other down, so this process runs one at a time.
        let _guard = self.db.lock_for(&name).lock().await;
        for _ in 0..MAX_ATTEMPTS {
            let outcome = match self.db.row::<(String, i64, i64)>(&LEASED, (&name,)).await? {
                None => self.db.conditional(&FIRST, (&name, holder, until.0)).await?,
                Some((current, _, held_to)) if current == holder && held_to >= until.0 => return Ok(true),
                Some((current, _, held_to))
                    if current != holder && held_to > now.0 && self.log.may_run(&current).await =>
                {
                    return Ok(false);
                }
                Some((_, fence, _)) => {
                    self.db.conditional(&ACQUIRE, (holder, fence + 1, until.0, &name, fence)).await?
                }
            };
            if outcome == Outcome::Applied {
                return Ok(true);
            }
        }
        Err(StoreError::Unknown("the holder of a lease is unknown".to_owned()))
    }

    async fn release(&self, name: &str, holder: &str) -> Result<()> {
        match self.db.conditional(&RELEASE, (row_name(name), holder)).await? {
            Outcome::Applied | Outcome::Refused => Ok(()),
            Outcome::Unknown => {
                Err(StoreError::Unknown("the outcome of releasing a lease is unknown".to_owned()))
            }
        }
    }
}
