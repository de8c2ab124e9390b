//! By which way activities come to followers.

use super::{ConfigError, RawConfig, age_or};
use crate::fanout::Rules;
use std::time::Duration;

/// From how many followers on what an account does is pulled, where nothing is said.
const DEFAULT_PULL_ABOVE: usize = 10_000;
/// After how long without a read an account falls asleep, where nothing is said.
const DEFAULT_IDLE_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// `fanout.…`, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// What accounts do that more than so many follow is pulled; none that many follow: nobody.
    pub pull_above: usize,
    /// After how long without a read an account falls asleep, if it does.
    pub idle_after: Option<Duration>,
}

impl Fanout {
    /// What workers go by.
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
    /// By which way activities come to followers.
    pub fn fanout(&self) -> Result<Fanout, ConfigError> {
        let defaults = Fanout::default();
        let pull_above = match self.fanout.pull_above.as_deref() {
            None => defaults.pull_above,
            Some("off") => usize::MAX,
            Some(text) => text.parse().map_err(|_| {
                let why = format!("{text:?} is no number of followers; right would be 10000, or off");
                ConfigError::value("fanout.pull_above", why)
            })?,
        };
        let idle_after = match self.fanout.idle_after.as_deref() {
            None => defaults.idle_after,
            text => age_or("off", "fanout.idle_after", text)?,
        };
        Ok(Fanout { pull_above, idle_after })
    }
}
