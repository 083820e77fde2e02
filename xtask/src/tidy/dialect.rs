//! Which parts of the language may be used where: `unsafe` beside the operating system only, neither floats nor the standard library
//! in the core.

use super::dead_files::Tree;
use super::source::find_word;
use super::{Finding, Source};
use std::path::Path;

/// The crate whose business is to talk to the kernel.
const UNSAFE_CRATE: &str = "crates/tidegate-live";

/// Small modules elsewhere that need `unsafe`, each with its argument at the place.
const UNSAFE_MODULES: &[&str] = &[
    // A cache hint is an intrinsic.
    "crates/tidegate-core/src/prefetch.rs",
    // An allocator is an unsafe trait.
    "benches/datapath/src/allocator.rs",
    "benches/datapath/src/huge_pages.rs",
    "crates/tidegate-sim/tests/allocation.rs",
    "crates/tidegate-core/tests/allocation.rs",
    // A Verilated design is C++ in a shared library.
    "rtl/tb/src/design.rs",
];

/// What computes as hardware does: without an operating system, in integers.
const CORES: &[&str] = &["crates/tidegate-core/src", "crates/tidegate-cells/src", "rtl/model/src"];

/// Compiled with the standard library, and only under a cfg that nothing is shipped with.
const NEVER_SHIPPED: &str = "crates/tidegate-core/src/mutants.rs";

/// Checks the code of every file; comments and strings may say anything.
pub fn check(sources: &[Source], tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        findings.extend(misplaced_unsafe(source));
        let is_core = CORES.iter().any(|core| source.path.starts_with(core));
        if is_core && source.path != Path::new(NEVER_SHIPPED) && !tree.is_test(&source.path) {
            findings.extend(foreign_to_the_core(source));
        }
    }
    findings
}

fn misplaced_unsafe(source: &Source) -> Vec<Finding> {
    let allowed = source.path.starts_with(UNSAFE_CRATE) || UNSAFE_MODULES.iter().any(|module| source.path == Path::new(module));
    if allowed {
        return Vec::new();
    }
    let lines = source.code.lines().enumerate().filter(|(_, line)| find_word(line, "unsafe").is_some());
    lines
        .map(|(index, _)| {
            let remedy = "move it to tidegate-live, or to one small module listed in xtask/src/tidy/dialect.rs";
            Finding::new(&source.path, index + 1, "`unsafe` outside tidegate-live", remedy)
        })
        .collect()
}

fn foreign_to_the_core(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, code) in source.shipped_lines() {
        for float in ["f32", "f64"] {
            if find_word(code, float).is_some() || has_float_suffix(code, float) {
                findings.push(Finding::new(&source.path, line, format!("`{float}` in the core"), INTEGERS));
            }
        }
        if has_float_literal(code) {
            findings.push(Finding::new(&source.path, line, "a floating-point number in the core", INTEGERS));
        }
        for path in ["std::", "extern crate std"] {
            if find_word(code, path).is_some() {
                let remedy = "the core is no_std: take it from core:: or alloc::, or pass it in";
                findings.push(Finding::new(&source.path, line, format!("`{path}` in the core"), remedy));
            }
        }
    }
    findings
}

const INTEGERS: &str = "compute in integers: fixed point, with the rounding named";

/// True for a literal such as `1.5`; a range (`0..5`) and a field of a tuple (`x.0.1`) are none.
fn has_float_literal(code: &str) -> bool {
    let bytes = code.as_bytes();
    code.match_indices('.').any(|(at, _)| {
        let before = code[..at].trim_end_matches(|character: char| character.is_ascii_digit() || character == '_');
        let has_digits = at > 0 && bytes[at - 1].is_ascii_digit();
        let starts_number = !before.ends_with(|character: char| character.is_alphanumeric() || character == '.');
        has_digits && starts_number && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
    })
}

/// True for a literal such as `1.5f64` or `2_f32`.
fn has_float_suffix(code: &str, float: &str) -> bool {
    code.match_indices(float).any(|(at, _)| {
        let before = code[..at].trim_end_matches('_');
        let digits = before.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.' || character == '_');
        digits.len() < before.len() && !digits.ends_with(|character: char| character.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn problems(path: &str, text: &str) -> Vec<(usize, String)> {
        let sources = [Source::new(path, text)];
        let tree = Tree::new(&sources, &[(PathBuf::from(path), false)]);
        check(&sources, &tree).into_iter().map(|finding| (finding.line, finding.problem)).collect()
    }

    #[test]
    fn unsafe_is_found_outside_the_live_crate_only() {
        let text = "fn a() {\n    unsafe { b() }\n}\n";
        assert_eq!(problems("crates/tidegate-sim/src/lib.rs", text), [(2, "`unsafe` outside tidegate-live".to_owned())]);
        assert_eq!(problems("crates/tidegate-live/src/lib.rs", text), []);
        assert_eq!(problems("crates/tidegate-core/src/prefetch.rs", text), []);
        assert_eq!(problems("crates/tidegate-sim/src/lib.rs", "// unsafe\n#![allow(unsafe_code)]\n"), []);
    }

    #[test]
    fn floats_and_std_are_found_in_the_core_only() {
        let text = "use std::fmt;\nlet a: f64 = b;\nlet b = 2_f32;\nlet c = 1.5;\n";
        let found: Vec<usize> = problems("crates/tidegate-core/src/lib.rs", text).iter().map(|(line, _)| *line).collect();
        assert_eq!(found, [1, 2, 3, 4]);
        assert_eq!(problems("crates/tidegate-sim/src/lib.rs", text), []);
    }

    #[test]
    fn tests_of_the_core_may_use_both() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    extern crate std;\n    use std::vec;\n    const X: f64 = 1.0;\n}\n";
        assert_eq!(problems("crates/tidegate-core/src/lib.rs", text), []);
    }

    #[test]
    fn names_that_end_like_floats_are_no_floats() {
        assert_eq!(problems("crates/tidegate-core/src/lib.rs", "let buf32 = xf64; let a = 0xf32; x.0.1; 0..5; 1.max(2);\n"), []);
    }
}
