//! Tests of the fetcher against a misbehaving server, of the guard against a second implementation, and of the
//! plan in a simulation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests report failures by panicking"
)]

mod main {
    mod bodies;
    mod failing;
    mod guard;
    mod hosts;
    mod hubs;
    mod oracle;
    mod polite;
    mod redirects;
    mod secure;
    mod simulating;
    #[allow(dead_code, reason = "the program tells more of it than the test asks for")]
    #[path = "../../examples/simulate/simulation.rs"]
    mod simulation;
    mod support;
}
