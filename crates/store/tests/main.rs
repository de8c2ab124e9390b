//! Tests of the engines: the conformance suite, and tests of one engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failing test may panic"
)]

mod main {
    #[macro_use]
    mod conformance;
    mod cql;
    mod races;
    mod scratch;
    mod secure;
    mod sqlite;
}
