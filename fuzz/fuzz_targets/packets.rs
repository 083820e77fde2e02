//! The packet parser under libFuzzer: `cargo +nightly fuzz run packets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    (tidegate_fuzz::target("packets").run)(input);
});
