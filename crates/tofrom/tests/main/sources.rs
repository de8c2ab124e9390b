//! Sources from outside: the real program fetches from servers of this machine that have all manners, good and bad, and
//! what comes of it is read through the real HTTPS listener. `scripts/prove-sources` kills the program meanwhile.

mod commands;
mod each_once;
mod forbidden;
mod hubs;
mod ill_mannered;
mod polite;
mod rights;
mod round;
mod stage;
