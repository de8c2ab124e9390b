//! Helpers that the tests share.

pub(crate) mod browser;
pub(crate) mod chance;
pub(crate) mod client;
pub(crate) mod demo;
pub(crate) mod external_site;
pub(crate) mod folder;
pub(crate) mod http2;
pub(crate) mod pages;
pub(crate) mod random_data;
pub(crate) mod secure;
pub(crate) mod signer;
pub(crate) mod steal_adjusted_clock;
pub(crate) mod tree;

/// Keys of cursors, for tests without a server.
pub(crate) fn cursor_keys() -> model::CursorKeys {
    model::CursorKeys::new(&[[1; 32]])
}
