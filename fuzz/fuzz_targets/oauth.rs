#![no_main]

#[path = "../../crates/oauth1/tests/main/check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::check(data);
});
