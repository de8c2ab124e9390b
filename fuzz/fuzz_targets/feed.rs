#![no_main]

#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../crates/feeds/tests/main/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
