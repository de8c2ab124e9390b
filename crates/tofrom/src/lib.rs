//! The program: the command line, its settings and its telemetry. It puts the parts together: `web` serves HTTP on
//! `listen`, with the rules of `domain` and the callers of `auth`.

pub mod cli;
pub mod config;
pub mod telemetry;
