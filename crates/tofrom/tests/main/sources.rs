//! Sources: the real program fetches from local servers with good and bad behaviour, and the results are read through
//! the real HTTPS listener. `scripts/prove-sources` kills the program meanwhile.

mod commands;
mod each_once;
mod forbidden;
mod hubs;
mod ill_mannered;
mod polite;
mod rights;
mod round;
mod stage;
