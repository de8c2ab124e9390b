//! Sources: the real program fetches from local servers with good and bad behaviour, and the results are read through
//! the real HTTPS listener. `scripts/prove-sources` kills the program meanwhile.

mod bad_servers;
mod commands;
mod deduplication;
mod fixture;
mod forbidden;
mod hubs;
mod lifecycle;
mod polite;
mod rights;
