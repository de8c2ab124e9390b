//! What a line says that can't be meant, where only the settings show it.

/// The command was understood but does not go together with the rest; the exit code says so.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misused(pub(super) &'static str);
