//! Work that was put off: markers in comments, macros that panic in place of code, tests that do not run.

use super::source::find_word;
use super::{Failure, Finding, Source, has_extension, read};
use std::path::{Path, PathBuf};

/// Words in a comment that put work off.
const MARKERS: &[&str] = &["TODO", "FIXME", "XXX", "HACK", "PLACEHOLDER"];

/// Code that stands for work not done.
const STAND_INS: &[&str] = &["todo!", "unimplemented!"];

/// Other files that are written by hand and have comments.
const COMMENTED: &[&str] = &["c", "h", "toml", "sh", "js", "py", "html", "css", "sv"];

/// Checks the comments of every program, and the code of the Rust ones.
///
/// # Errors
/// [`Failure::Environment`] if a file cannot be read.
pub fn check(root: &Path, files: &[PathBuf], sources: &[Source]) -> Result<Vec<Finding>, Failure> {
    let mut findings: Vec<Finding> =
        sources.iter().flat_map(|source| [markers(&source.path, &source.comments), in_code(source)].concat()).collect();
    // The kept inputs of the fuzz targets are not ours to tidy, and some are no text.
    let written_by_hand =
        |path: &&PathBuf| COMMENTED.iter().any(|extension| has_extension(path, extension)) && !path.starts_with("fuzz/corpus");
    for path in files.iter().filter(written_by_hand) {
        findings.extend(markers(path, &read(root, path)?));
    }
    Ok(findings)
}

fn markers(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(marker) = MARKERS.iter().find(|marker| find_word(line, marker).is_some()) {
            findings.push(Finding::new(
                path,
                index + 1,
                format!("\"{marker}\" puts work off"),
                "do it now, or open an issue and delete the line",
            ));
        }
    }
    findings
}

fn in_code(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.code.lines().enumerate() {
        if let Some(stand_in) = STAND_INS.iter().find(|stand_in| find_word(line, stand_in).is_some()) {
            findings.push(Finding::new(
                &source.path,
                index + 1,
                format!("`{stand_in}` stands for work not done"),
                "write it, or take the path out",
            ));
        }
        if line.contains("#[ignore") {
            findings.push(Finding::new(&source.path, index + 1, "the test is ignored", "make it run, or delete it"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let sources = [Source::new("crates/a/src/lib.rs", text)];
        check(Path::new(""), &[], &sources).ok().unwrap().into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn markers_are_found_in_comments_only() {
        assert_eq!(problems("// TODO: later\n/* FIXME */\n").len(), 2);
        assert_eq!(problems("const WORD: &str = \"TODO\";\n").len(), 0);
    }

    #[test]
    fn stand_ins_and_ignored_tests_are_found_in_code_only() {
        assert_eq!(problems("fn a() { todo!() }\nfn b() { unimplemented!() }\n").len(), 2);
        assert_eq!(problems("#[ignore]\n#[test]\nfn a() {}\n"), ["the test is ignored"]);
        assert_eq!(problems("#[ignore = \"slow\"]\nfn a() {}\n").len(), 1);
        assert_eq!(problems("// todo!() and #[ignore] are not used here\n").len(), 0);
    }

    #[test]
    fn markers_are_found_in_other_files() {
        assert_eq!(markers(Path::new("a.toml"), "a = 1\n# TODO\n").len(), 1);
    }
}
