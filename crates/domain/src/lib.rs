//! The rules of tofrom: what happens to accounts, activities, edges and sources. Without a server: nothing here knows
//! HTTP requests, pages or the command line.
//!
//! - `ingest` validates and accepts activities; `fanout` delivers them; `feed` reads collections; `live` notifies the
//!   streams of this process.
//! - `accounts` and `following` change accounts and edges; `erasure` erases removed accounts.
//! - `sources` imports feeds of other sites; `hooks` sends the events of collections to them.
//! - `export` writes an account's activities as lines that can be imported.
//! - `health` is the state of store and delivery log.

pub mod accounts;
pub mod erasure;
pub mod export;
pub mod fanout;
pub mod feed;
pub mod following;
pub mod health;
pub mod hooks;
pub mod ingest;
pub mod json;
pub mod live;
mod outgoing;
pub mod relations;
mod shard_leases;
pub mod sources;
