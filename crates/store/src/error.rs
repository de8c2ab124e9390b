//! What can go wrong in a store, by what the caller can do about it.

/// A store's answer.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was changed; the same call may go through later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// A write may have happened or not. Repeating it is safe; so is reading what is there.
    #[error("the store did not say whether it wrote: {0}")]
    Unknown(String),
    /// What is stored can't be understood; repeating the call won't help.
    #[error("the store holds something that it should not: {0}")]
    Corrupt(String),
}
