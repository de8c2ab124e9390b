//! Errors of a store, classified by what the caller can do.

/// The result of a call to a store.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A call to a store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was changed. The same call may succeed later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The outcome of a write is unknown. Repeating the write is safe, and so is reading the stored value.
    #[error("the outcome of a write to the store is unknown: {0}")]
    Unknown(String),
    /// A stored value is invalid. Repeating the call does not help.
    #[error("invalid data in the store: {0}")]
    Corrupt(String),
}
