//! Tests of the model's rules.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a failing test may panic")]

mod main {
    mod belonging;
    mod cursor;
    mod query;
}
