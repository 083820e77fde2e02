//! Repeated code: runs of lines that the product has twice.
//!
//! Lines are compared as rustfmt leaves them, without their indentation. Blank lines, comments and tests do not count.

use super::dead_files::Tree;
use super::{Finding, Source};
use std::collections::HashMap;

/// The longest run of lines that two places may share.
const LONGEST: usize = 12;

/// The folder of the product; tools and benches around it may repeat themselves.
const PRODUCT: &str = "crates";

struct Line<'a> {
    file: usize,
    number: usize,
    text: &'a str,
}

/// Finds every run of more than [`LONGEST`] lines that occurs before, in the same file or in another.
pub fn check(sources: &[Source], tree: &Tree) -> Vec<Finding> {
    let ships = |source: &&Source| source.path.starts_with(PRODUCT) && !is_for_tests(source) && !tree.is_test(&source.path);
    let sources: Vec<&Source> = sources.iter().filter(ships).collect();
    let texts: Vec<Vec<(usize, String)>> = sources.iter().map(|source| lines(source)).collect();
    let lines: Vec<Line> = texts
        .iter()
        .enumerate()
        .flat_map(|(file, lines)| lines.iter().map(move |(number, text)| Line { file, number: *number, text }))
        .collect();

    // Lines by number: equal lines have equal numbers.
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let content: Vec<u32> = lines
        .iter()
        .map(|line| {
            let next = numbers.len() as u32;
            *numbers.entry(line.text).or_insert(next)
        })
        .collect();
    let is_within_a_file = |from: usize, length: usize| lines.get(from + length - 1).is_some_and(|last| last.file == lines[from].file);
    let mut first: HashMap<&[u32], usize> = HashMap::new();
    let mut findings = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if !is_within_a_file(at, LONGEST + 1) {
            at += 1;
            continue;
        }
        let before = *first.entry(&content[at..=at + LONGEST]).or_insert(at);
        // A run may not overlap what it repeats.
        if before + LONGEST >= at {
            at += 1;
            continue;
        }
        let goes_on = |length: usize| {
            let are_whole = is_within_a_file(at, length + 1) && is_within_a_file(before, length + 1);
            are_whole && before + length < at && content[at + length] == content[before + length]
        };
        let length = (LONGEST + 1..).find(|&length| !goes_on(length)).expect("a file ends");
        let (here, there) = (&lines[at], &lines[before]);
        let place = format!("{}:{}", sources[there.file].path.display(), there.number);
        findings.push(Finding::new(
            &sources[here.file].path,
            here.number,
            format!("{length} lines are those of {place}"),
            format!("at most {LONGEST}: give both places one function"),
        ));
        at += length;
    }
    findings
}

/// True for a file of a test's folder.
fn is_for_tests(source: &Source) -> bool {
    source.path.iter().any(|part| part == "tests")
}

/// The shipped lines of a file that hold code, with their numbers.
fn lines(source: &Source) -> Vec<(usize, String)> {
    let views = source.text.lines().zip(source.comments.lines()).zip(&source.in_test).enumerate();
    let kept = views.filter(|(_, (_, in_test))| !**in_test).map(|(index, ((text, comment), _))| (index + 1, without(text, comment)));
    kept.filter(|(_, text)| !text.is_empty()).collect()
}

/// `text` without the part that `comment` shows.
fn without(text: &str, comment: &str) -> String {
    let bytes = text.bytes().zip(comment.bytes().chain(std::iter::repeat(b' ')));
    let kept: Vec<u8> = bytes.filter(|(_, comment)| *comment == b' ').map(|(byte, _)| byte).collect();
    String::from_utf8_lossy(&kept).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn found(files: &[(&str, String)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        let tree = Tree::new(&sources, &[(PathBuf::from("crates/a/src/lib.rs"), false)]);
        check(&sources, &tree).iter().map(|finding| format!("{}:{}: {}", finding.path.display(), finding.line, finding.problem)).collect()
    }

    fn statements(from: usize, number: usize) -> String {
        (from..from + number).map(|index| format!("    f({index});\n")).collect()
    }

    #[test]
    fn thirteen_equal_lines_are_found_and_twelve_are_not() {
        let file = |name: &str, number: usize| {
            (format!("crates/a/src/{name}.rs"), format!("fn {name}() {{\n{}\n    {name}();\n}}\n", statements(0, number)))
        };
        let pair = |number| {
            let (one, other) = (file("x", number), file("y", number));
            found(&[(&one.0, one.1), (&other.0, other.1)])
        };
        assert_eq!(pair(12), [""; 0]);
        assert_eq!(pair(13), ["crates/a/src/y.rs:2: 13 lines are those of crates/a/src/x.rs:2"]);
        assert_eq!(pair(20), ["crates/a/src/y.rs:2: 20 lines are those of crates/a/src/x.rs:2"]);
    }

    #[test]
    fn comments_blank_lines_and_indentation_make_no_difference() {
        let plain = statements(0, 14);
        let spaced = plain.replace("    f(", "\n        // why\n        f(");
        assert_eq!(found(&[("crates/a/src/x.rs", plain.clone()), ("crates/a/src/y.rs", spaced)]).len(), 1);
        assert_eq!(found(&[("crates/a/src/x.rs", plain.clone() + &plain)]).len(), 1);
    }

    #[test]
    fn strings_count_and_tests_do_not() {
        let (one, other) = ("    f(\"one\");\n".repeat(7) + &statements(0, 7), "    f(\"two\");\n".repeat(7) + &statements(0, 7));
        assert_eq!(found(&[("crates/a/src/x.rs", one.clone()), ("crates/a/src/y.rs", other)]), [""; 0]);
        let test = format!("#[cfg(test)]\nmod tests {{\n{one}}}\n");
        assert_eq!(found(&[("crates/a/src/x.rs", one.clone()), ("crates/a/src/y.rs", test)]), [""; 0]);
        assert_eq!(found(&[("crates/a/src/x.rs", one.clone()), ("crates/a/tests/y.rs", one.clone())]), [""; 0]);
        assert_eq!(found(&[("crates/a/src/x.rs", one.clone()), ("benches/a/src/y.rs", one)]), [""; 0]);
    }
}
