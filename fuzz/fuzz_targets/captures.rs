//! The capture reader under libFuzzer: `cargo +nightly fuzz run captures`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    (tidegate_fuzz::target("captures").run)(input);
});
