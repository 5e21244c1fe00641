//! What clients send before the login.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    functions::opening(bytes).unwrap();
});
