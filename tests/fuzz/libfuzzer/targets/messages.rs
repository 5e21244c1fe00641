//! What clients send after the login.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    functions::messages(bytes).unwrap();
});
