//! The one place where the service reads the time. Tests hand in a time of their own.

use model::Millis;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time.
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

    /// A clock that says what `tell` says.
    pub fn from(tell: impl Fn() -> Millis + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(tell))
    }

    /// The time now.
    pub fn now(&self) -> Millis {
        (self.0)()
    }
}
