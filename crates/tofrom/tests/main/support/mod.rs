//! What the tests share.

pub(crate) mod chance;
pub(crate) mod client;
pub(crate) mod demo;
pub(crate) mod world;
