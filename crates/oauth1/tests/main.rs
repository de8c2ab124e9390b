//! All integration tests in one binary: it links faster than one binary per file.

// Tests report failures by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "main/alterations.rs"]
mod alterations;
#[path = "main/check.rs"]
mod check;
#[path = "main/interop.rs"]
mod interop;
#[path = "main/properties.rs"]
mod properties;
#[path = "main/refusals.rs"]
mod refusals;
#[path = "main/rust_signer.rs"]
mod rust_signer;
#[path = "main/shapes.rs"]
mod shapes;
#[path = "main/support.rs"]
mod support;
#[path = "main/vectors.rs"]
mod vectors;
#[path = "main/verification.rs"]
mod verification;
