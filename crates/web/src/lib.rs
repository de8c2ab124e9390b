//! The HTTP server.
//!
//! `router` lists all routes and `middleware` wraps every request and response. A handler takes what it needs from
//! `extract` and `service`, calls `domain`, has `render` or `views` write the body, and `respond` adds tags, codings and
//! caching. Modules import only modules below them; a test checks it.

mod access;
mod account_cursor;
mod accounts;
mod activity;
mod admission;
mod answer_cache;
mod authenticated;
mod body;
mod collection;
mod docs;
mod extract;
mod files;
pub mod history;
mod hook_payloads;
mod intake;
mod live;
pub mod media;
mod middleware;
pub mod negotiate;
mod oauth;
pub mod openapi;
mod pages;
pub mod parse;
pub mod pictures;
mod problem;
pub mod render;
mod requests;
mod respond;
mod router;
mod service;
pub mod site;
mod telemetry;
mod unread;
mod users;
pub mod views;
mod writing;

pub use access::Access;
pub use hook_payloads::HookPayloads;
pub use problem::{KINDS, Kind, Problem};
pub use requests::{Rate, RequestLimits};
pub use router::{ROUTES, Route, router};
pub use service::{Parts, Service};
pub use telemetry::{REQUEST_SECONDS, describe_metrics};
