//! Usage errors that only show after the settings are read.

/// A flag that conflicts with other flags or with the settings. It has a distinct exit code.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub(super) &'static str);
