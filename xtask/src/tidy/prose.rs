//! Prose in comments, headers and documents: words with plainer alternatives, long sentences, unexplained constants.
//!
//! Checked in the comments of Rust files and in documents. What a header says in one sentence has at most [`LONGEST`] words.

use super::source::find_word;
use super::{Failure, Finding, Source, has_extension, read};
use std::path::{Path, PathBuf};

/// Words with what stands better in their place.
const WORDS: &[(&str, &str)] = &[
    ("whom", "\"that\" or \"which\", or turn the sentence round"),
    ("whomever", "\"any\" and a noun"),
    ("whoever", "\"the caller\", \"any\" and a noun"),
    ("whosever", "name the thing"),
    ("somebody", "name the person, or \"some\" and a noun"),
    ("nobody", "\"no\" and a noun"),
    ("so many", "\"this many\", \"n\", or the number"),
    ("worth its while", "the condition under which it pays, with its number"),
];

/// The most words in a sentence of a header.
const LONGEST: usize = 30;

/// The types of numbers and times.
const QUANTITIES: &[&str] = &["u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "i128", "isize", "f64", "Duration", "Time", "Rate"];

/// Checks comments, constants and documents.
///
/// # Errors
/// [`Failure::Environment`] if a document cannot be read.
pub fn check(root: &Path, files: &[PathBuf], sources: &[Source]) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.path.ends_with(file!())) {
        findings.extend(words(&source.path, &source.comments));
        findings.extend(long_sentences(source));
        if !source.path.iter().any(|part| part == "tests") {
            findings.extend(bare_constants(source));
        }
    }
    for path in files.iter().filter(|path| has_extension(path, "md")) {
        findings.extend(words(path, &read(root, path)?));
    }
    Ok(findings)
}

fn words(path: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for (word, remedy) in WORDS {
            // A document that lists the word quotes it.
            let quoted = [format!("\"{word}\""), format!("`{word}`")].iter().any(|quoted| line.contains(quoted.as_str()));
            if find_word(&line, word).is_some() && !quoted {
                findings.push(Finding::new(path, index + 1, format!("\"{word}\""), format!("write {remedy}")));
            }
        }
    }
    findings
}

/// The sentences of the header that are too long. Tables, code, links and lists of sources are not prose.
fn long_sentences(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut sentence = (1, 0);
    let (mut in_code, mut in_source) = (false, false);
    let mut judge = |sentence: &mut (usize, usize), next: usize| {
        let (line, words) = std::mem::replace(sentence, (next, 0));
        if words > LONGEST {
            let problem = format!("a sentence of {words} words in the header");
            findings.push(Finding::new(&source.path, line, problem, format!("at most {LONGEST}: make two of it")));
        }
    };
    for (index, line) in source.text.lines().take_while(|line| line.starts_with("//!")).enumerate() {
        let text = line[3..].trim();
        in_code ^= text.starts_with("```");
        let opens_item = ["* ", "- ", "#"].iter().any(|mark| text.starts_with(mark));
        if in_code || text.is_empty() || opens_item || ["```", "|", "["].iter().any(|mark| text.starts_with(mark)) {
            judge(&mut sentence, index + 1);
        }
        in_source = !text.is_empty() && !opens_item && (in_source && !text.starts_with("**") || text.starts_with("**Source"));
        if in_code || in_source || text.starts_with("```") || text.starts_with('|') {
            continue;
        }
        for word in text.split_whitespace() {
            if sentence.1 == 0 {
                sentence.0 = index + 1;
            }
            sentence.1 += usize::from(word.contains(char::is_alphanumeric));
            if word.trim_end_matches(['*', ')', '"', '`', '_']).ends_with(['.', '?', '!']) {
                judge(&mut sentence, index + 1);
            }
        }
    }
    judge(&mut sentence, 1);
    findings
}

/// Constants of a single word that no comment explains.
fn bare_constants(source: &Source) -> Vec<Finding> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut findings = Vec::new();
    for (number, line) in source.shipped_lines() {
        let Some(name) = constant(line) else { continue };
        let above = lines[..number - 1].iter().rev().map(|line| line.trim()).find(|line| !line.starts_with("#["));
        let is_explained = above.is_some_and(|line| line.starts_with("//") && !line.starts_with("//!")) || lines[number - 1].contains("//");
        if !name.contains('_') && !is_explained {
            let remedy = "say in a comment what it counts, or call it by the quantity";
            findings.push(Finding::new(&source.path, number, format!("the constant {name} is not explained"), remedy));
        }
    }
    findings
}

/// The name of the constant of a number or a time that a line declares outside a trait or function. A table or a text says itself what it is.
fn constant(line: &str) -> Option<&str> {
    let declared = line.trim_start();
    let declared =
        declared.strip_prefix("pub(crate) ").or(declared.strip_prefix("pub(super) ")).or(declared.strip_prefix("pub ")).unwrap_or(declared);
    let (name, kind) = declared.strip_prefix("const ")?.split_once(':')?;
    let (kind, _) = kind.trim_start().split_once(" = ")?;
    let is_name = |character: char| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_';
    let is_quantity = QUANTITIES.contains(&kind);
    (line.trim_start() == line && is_quantity && name.len() > 1 && name.chars().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(usize, String)> {
        let source = Source::new("crates/a/src/a.rs", text);
        let found = [words(&source.path, &source.comments), long_sentences(&source), bare_constants(&source)].concat();
        found.into_iter().map(|finding| (finding.line, finding.problem)).collect()
    }

    #[test]
    fn words_are_found_in_comments_and_not_in_code() {
        let text = "//! A.\n/// The flow whom it serves, so many times.\nfn nobody() { somebody() }\n";
        assert_eq!(problems(text), [(2, "\"whom\"".to_owned()), (2, "\"so many\"".to_owned())]);
        assert_eq!(words(Path::new("STYLE.md"), "not \"nobody\" and not `whom`"), []);
        assert_eq!(words(Path::new("a.md"), "one\nnobody knows").len(), 1);
    }

    #[test]
    fn long_sentences_of_the_header_are_found_where_they_begin() {
        let of = |number: usize| "word ".repeat(number - 1) + "word.";
        assert_eq!(problems(&format!("//! {}\n", of(30))), []);
        assert_eq!(problems(&format!("//! A b.\n//! {}\n", of(31))), [(2, "a sentence of 31 words in the header".to_owned())]);
        assert_eq!(problems(&format!("//! {}\n//!\n//! {}\n//! * {}\n", "word ".repeat(20), "word ".repeat(20), of(20))), []);
        assert_eq!(problems(&format!("//! A.\n//! ```\n//! {}\n//! ```\n//! | {} |\n", of(40), of(40))), []);
        assert_eq!(problems(&format!("//! A.\nfn a() {{}}\n//! {}\n", of(40))), []);
        assert_eq!(problems(&format!("//! **Source.** {}\n//! {}\n//!\n//! {}\n", of(20), of(40), of(31))).len(), 1);
    }

    #[test]
    fn constants_of_one_word_need_a_comment() {
        let text = "//! A.\nconst FEW: u8 = 1;\n/// Bytes.\n#[allow(x)]\npub const CELL: u8 = 2;\nconst SCAN_LIMIT: u8 = 3;\npub(crate) const ENOUGH: u8 = 4;\nconst HELP: &str = \"\";\n";
        let found: Vec<usize> = problems(text).iter().map(|(line, _)| *line).collect();
        assert_eq!(found, [2, 7]);
    }
}
