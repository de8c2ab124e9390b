//! The fetcher against a server with all manners, good and bad; the guard against another one; the plan in a simulation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test may panic, and says why"
)]

mod main {
    mod bodies;
    mod failing;
    mod guarding;
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
