//! What owners write.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    functions::policies(bytes).unwrap();
});
