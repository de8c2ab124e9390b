//! Hooks: deliveries to real receivers, over HTTPS.

mod delivering;
mod failing;
mod fixture;
mod managing;
