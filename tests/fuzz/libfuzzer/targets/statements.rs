//! What analysts write.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // As deep as limits.max_depth allows, a statement takes more stack than a process has.
    let input = bytes.to_vec();
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(move || functions::statements(&input));
    thread.unwrap().join().unwrap().unwrap();
});
