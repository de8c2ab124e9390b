//! All integration tests in one binary: it links faster than one binary per file.

// Tests report failures by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "main/activities.rs"]
mod activities;
#[path = "main/atom.rs"]
mod atom;
#[path = "main/charsets.rs"]
mod charsets;
#[path = "main/check.rs"]
mod check;
#[path = "main/discovery.rs"]
mod discovery;
#[path = "main/hostile.rs"]
mod hostile;
#[path = "main/json.rs"]
mod json;
#[path = "main/microformats.rs"]
mod microformats;
#[path = "main/properties.rs"]
mod properties;
#[path = "main/recognising.rs"]
mod recognising;
#[path = "main/rss.rs"]
mod rss;
#[path = "main/samples.rs"]
mod samples;
#[path = "main/support.rs"]
mod support;
