//! The service held to its contract: properties over random data, and black-box tests through the real HTTPS listener.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a failing test panics with its reason"
)]

mod main {
    mod access;
    mod activity;
    mod architecture;
    mod attacks;
    mod audit;
    mod avatars;
    mod cluster;
    mod copying;
    mod crash;
    mod delivery;
    mod developers;
    mod erasure;
    mod expiry;
    mod filling;
    mod fuzz;
    mod hardening;
    mod hooks;
    mod http2;
    mod interop;
    mod keys;
    mod laws;
    mod limits;
    mod media;
    mod oauth;
    mod overload;
    mod pages;
    mod passwords;
    mod power_loss;
    mod program;
    mod reading;
    mod representations;
    mod restoring;
    mod round_trip;
    mod second_factor;
    mod serving;
    mod sources;
    mod stopping;
    mod support;
    mod traces;
    mod unread;
    mod writing;
}
