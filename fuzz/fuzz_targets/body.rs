#![no_main]

#[allow(dead_code, reason = "one of the targets")]
#[path = "../../crates/tofrom/tests/main/fuzz/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    targets::body(data);
});
