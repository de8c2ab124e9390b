//! All integration tests in one binary: it links faster than one binary per file.

// Tests report failures by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "main/boundaries.rs"]
mod boundaries;
#[path = "main/check.rs"]
mod check;
#[path = "main/documents.rs"]
mod documents;
#[path = "main/fuzz.rs"]
mod fuzz;
#[path = "main/golden.rs"]
mod golden;
#[path = "main/java.rs"]
mod java;
#[path = "main/properties.rs"]
mod properties;
#[path = "main/refusals.rs"]
mod refusals;
