//! The service: the rooms are in the order of a request's way through them.
//!
//! `http` takes a request in, `auth` says who asks, `feed` reads, `render` answers. `ingest` takes activities in and
//! `fanout` brings them to whom they reach; `following` says who follows whom;
//! `sources` collects what people do elsewhere. `cli` is the command line, `config` the settings;
//! `openapi` tells programs what there is.

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
