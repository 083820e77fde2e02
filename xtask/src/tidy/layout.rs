//! Names and sizes of files: a name that says nothing is a sign that something has no home, a long file that it holds two things.

use super::{Failure, Finding, has_extension, read};
use std::path::{Path, PathBuf};

/// Names under which anything could hide.
const EMPTY_NAMES: &[&str] = &["util", "utils", "utility", "utilities", "common", "manager", "managers", "helper", "helpers", "misc"];

/// The longest file, in lines, its tests included.
const LONGEST: usize = 600;

/// Extensions of the files that people write and read as programs.
const PROGRAMS: &[&str] = &["rs", "c", "h", "py", "sh", "js", "sv"];

/// Checks the names of all files and the lengths of all programs.
///
/// # Errors
/// [`Failure::Environment`] if a file cannot be read.
pub fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for path in files {
        findings.extend(check_name(path));
        if PROGRAMS.iter().any(|extension| has_extension(path, extension)) {
            findings.extend(check_length(path, &read(root, path)?));
        }
    }
    Ok(findings)
}

fn check_name(path: &Path) -> Option<Finding> {
    let says_nothing = |word: &str| EMPTY_NAMES.contains(&word);
    let empty = path.iter().filter_map(|part| Path::new(part).file_stem()?.to_str()).find(|stem| {
        let lower = stem.to_lowercase();
        lower.split(['_', '-']).any(says_nothing)
    })?;
    Some(Finding::new(path, 1, format!("the name \"{empty}\" says nothing about what is in it"), "name it after the one thing it holds"))
}

fn check_length(path: &Path, text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    let remedy = format!("at most {LONGEST}: move one thing it holds into a file of its own");
    (lines > LONGEST).then(|| Finding::new(path, LONGEST + 1, format!("the file has {lines} lines"), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_nothing_are_found_in_files_and_folders() {
        for bad in ["crates/a/src/util.rs", "crates/a/src/helpers/x.rs", "crates/a/src/time_utils.rs", "docs/Common.md"] {
            assert!(check_name(Path::new(bad)).is_some(), "{bad}");
        }
        for good in ["crates/a/src/utilisation.rs", "crates/a/src/buffer.rs", "docs/glossary.md"] {
            assert!(check_name(Path::new(good)).is_none(), "{good}");
        }
    }

    #[test]
    fn a_file_of_601_lines_is_found_and_one_of_600_is_not() {
        let path = Path::new("a.rs");
        assert_eq!(check_length(path, &"x\n".repeat(600)), None);
        let finding = check_length(path, &"x\n".repeat(601)).unwrap();
        assert_eq!((finding.line, finding.problem.as_str()), (601, "the file has 601 lines"));
    }
}
