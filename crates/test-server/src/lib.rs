//! A web server for tests that has all behaviours, good and bad, and writes down who asked it for what.
//!
//! [`Server`] listens on loopback, with TLS by a certificate of an [`Authority`] or without. Each path has a
//! [`Behaviour`]. [`Names`] are host names that lead where a test wants, and elsewhere the next time. [`Hub`] is a hub of
//! WebSub.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "it belongs to tests: a failing one may panic, and says why"
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
pub use behaviour::{Answer, Behaviour};
pub use coding::Coding;
pub use hub::{Hub, Mode, Subscription};
pub use names::Names;
pub use recorded_request::RecordedRequest;
pub use server::Server;
