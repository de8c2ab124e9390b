//! The only place where the server reads the time. Tests pass a different clock.

use crate::Millis;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A clock.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Millis + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Clock {
        Clock::from(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        })
    }

    /// A clock that returns the result of `now`.
    pub fn from(now: impl Fn() -> Millis + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(now))
    }

    /// The time now.
    pub fn now(&self) -> Millis {
        (self.0)()
    }
}
