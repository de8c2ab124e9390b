//! A polite and safe HTTP client for addresses that strangers give.
//!
//! It is the only crate that asks other people's servers, so that nothing goes around its guard. It looks up every
//! host by itself, refuses addresses that are not of the public internet, and connects to exactly the addresses that
//! it has looked at: there is no pool, no proxy and no library that follows redirects. What comes back has limits of
//! size and time. Nothing is sent that tells who is asked for: no cookies, no credentials, no `Referer`.
//!
//! - [`Fetcher`] makes the requests; [`Rules`] say which, and at what cost.
//! - [`Hosts`] is the gate that every request passes: one connection to a host at a time, and not too many in a row.
//! - [`plan`] says when to come again, without clock and without I/O.

mod address;
mod answer;
mod body;
mod connect;
mod exchange;
mod failure;
mod fetch;
mod freshness;
mod guard;
mod hosts;
mod network;
pub mod plan;
mod resolve;
mod rules;

pub use answer::{Answer, Content, FEED, Get, Posted};
pub use failure::{Failure, Refusal, Tls, Unreachable};
pub use fetch::{Fetcher, NotReady};
pub use guard::is_public;
pub use hosts::{Budget, Hosts, Later, Turn};
pub use network::{InvalidNetwork, Network};
pub use resolve::{Resolve, SystemResolver};
pub use rules::Rules;
