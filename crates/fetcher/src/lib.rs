//! A polite and safe HTTP client for addresses that users enter.
//!
//! No other crate sends requests to servers of third parties, so nothing bypasses its guard. It resolves every
//! host itself, refuses addresses outside of the public internet, and connects to exactly the addresses that it
//! checked: there is no connection pool, no proxy and no library that follows redirects. Responses have limits
//! of size and time. No request identifies a user: no cookies, no credentials, no `Referer`.
//!
//! - [`Fetcher`] sends the requests within the limits of [`Rules`].
//! - [`HostLimiter`] limits every host to a number of connections (usually one) and a request rate.
//! - [`plan`] computes the time of the next poll, without a clock and without I/O.

mod address;
mod body;
mod connect;
mod error;
mod exchange;
mod fetch;
mod freshness;
mod guard;
mod host_limiter;
mod message;
mod network;
pub mod plan;
mod resolve;
mod rules;

pub use error::{FetchError, Refusal, TlsError, Unreachable};
pub use fetch::{Fetcher, FetcherError};
pub use guard::is_public;
pub use host_limiter::{HostBudget, HostLimiter, HostPermit, RetryLater};
pub use message::{Content, FEED, FetchRequest, FetchResponse, PostResponse};
pub use network::{InvalidNetwork, Network};
pub use resolve::{Resolve, SystemResolver};
pub use rules::Rules;
