//! How far a hook has come: written by the process that delivers it.

use super::hook::token_text;
use model::{HookId, Millis, SyncToken, Version};
use serde::{Deserialize, Serialize};
use store::{HookProgress, Result, StoreError};

/// How far a hook has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Events after this token are not delivered yet.
    #[serde(with = "token_text")]
    pub(super) token: SyncToken,
    /// The status of the last response.
    pub last_status: Option<u16>,
    /// Why the last request had no response, as a sentence.
    pub last_error: Option<String>,
    /// When the last request ended.
    pub last_date: Option<Millis>,
    /// When the first of the failures since the last success was.
    pub failing_since: Option<Millis>,
    /// The number of failures since the last success.
    pub(super) attempts: u32,
    /// No delivery before then.
    pub next_try: Option<Millis>,
    /// Since when an event waits; `None` if all are delivered.
    pub(super) behind_since: Option<Millis>,
    /// The request to deliver at once that was granted last.
    pub(super) resumed: u32,
}

impl Progress {
    /// The progress of a hook that has sent nothing yet.
    pub(super) fn new(token: SyncToken, resumed: u32) -> Progress {
        Progress {
            token,
            last_status: None,
            last_error: None,
            last_date: None,
            failing_since: None,
            attempts: 0,
            next_try: None,
            behind_since: None,
            resumed,
        }
    }

    /// How many seconds the oldest event that is not delivered has waited.
    pub fn lag(&self, now: Millis) -> u64 {
        let waited = self.behind_since.map_or(0, |since| now.0.saturating_sub(since.0));
        u64::try_from(waited).unwrap_or(0) / 1_000
    }

    pub(super) fn read(stored: &HookProgress) -> Result<Progress> {
        serde_json::from_slice(&stored.state)
            .map_err(|error| StoreError::Corrupt(format!("progress of hook {}: {error}", stored.id)))
    }

    pub(super) fn to_stored(&self, id: HookId, version: Version) -> Result<HookProgress> {
        let state = serde_json::to_vec(self).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(HookProgress { id, version, state })
    }
}
