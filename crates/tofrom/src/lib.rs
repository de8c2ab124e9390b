//! The tofrom server.
//!
//! A read goes through `http` (routing), `auth` (authentication), `feed` (collections) and `render`
//! (representations). A write goes through `ingest` (validation and acceptance) and `fanout` (delivery); `live` wakes
//! open streams. `following` manages edges, `sources` imports feeds, `pages` has the HTML pages. `cli` is the command
//! line, `config` the settings, `telemetry` logs and metrics, `openapi` the API description.

pub mod accounts;
pub mod auth;
pub mod cli;
pub mod clock;
pub mod config;
pub mod export;
pub mod fanout;
pub mod feed;
pub mod following;
pub mod http;
pub mod ingest;
pub mod json;
pub mod live;
mod network;
pub mod openapi;
pub mod pages;
pub mod pictures;
pub mod render;
pub mod site;
pub mod sources;
pub mod telemetry;
