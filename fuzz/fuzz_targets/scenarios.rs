//! The scenario reader under libFuzzer: `cargo +nightly fuzz run scenarios`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    (tidegate_fuzz::target("scenarios").run)(input);
});
