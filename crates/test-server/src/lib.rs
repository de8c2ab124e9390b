//! A web server for tests. It behaves well or badly as configured, and records all requests.
//!
//! [`Server`] listens on loopback, with or without TLS by a certificate of an [`Authority`]. Each path has a
//! [`Behaviour`]. [`Names`] is a resolver whose results a test controls. [`Hub`] is a WebSub hub.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "part of tests, which report failures by panicking"
)]

mod authority;
mod behaviour;
mod caller;
mod coding;
mod hub;
mod names;
mod recorded_request;
mod server;

pub use authority::{Authority, Certificate};
pub use behaviour::{Behaviour, CannedResponse};
pub use coding::Coding;
pub use hub::{Hub, HubMode, RecordedSubscription};
pub use names::Names;
pub use recorded_request::RecordedRequest;
pub use server::Server;
