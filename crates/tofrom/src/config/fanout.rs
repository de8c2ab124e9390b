//! Settings of fan-out.

use super::{ConfigError, RawConfig, age_or};
use crate::fanout::Rules;
use std::time::Duration;

/// Default of `fanout.pull_above`.
const DEFAULT_PULL_ABOVE: usize = 10_000;
/// Default of `fanout.idle_after`.
const DEFAULT_IDLE_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// `fanout.…`, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// Activities of accounts with more followers than this are pulled. `usize::MAX`: never.
    pub pull_above: usize,
    /// Time without a read after which an account becomes dormant. `None`: never.
    pub idle_after: Option<Duration>,
}

impl Fanout {
    /// The rules for fan-out workers.
    pub fn rules(&self) -> Rules {
        Rules { pull_above: Some(self.pull_above), ..Rules::default() }
    }
}

impl Default for Fanout {
    fn default() -> Fanout {
        Fanout { pull_above: DEFAULT_PULL_ABOVE, idle_after: Some(DEFAULT_IDLE_AFTER) }
    }
}

impl RawConfig {
    /// The settings of fan-out, checked.
    pub fn fanout(&self) -> Result<Fanout, ConfigError> {
        let defaults = Fanout::default();
        let pull_above = match self.fanout.pull_above.as_deref() {
            None => defaults.pull_above,
            Some("off") => usize::MAX,
            Some(text) => text.parse().map_err(|_| {
                ConfigError::invalid("fanout.pull_above", text, "a number of followers like 10000, or off")
            })?,
        };
        let idle_after = match self.fanout.idle_after.as_deref() {
            None => defaults.idle_after,
            text => age_or("off", "fanout.idle_after", text)?,
        };
        Ok(Fanout { pull_above, idle_after })
    }
}
