//! Graphs in GraphML under libFuzzer; see `fuzz/README.md`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    (tidegate_fuzz::target("graphs").run)(input);
});
