//! A Rust source file split into what is code, what is a comment and what is test code.
//!
//! Both views keep every line at its number: what does not belong to a view is blanked by spaces.

use proc_macro2::{TokenStream, TokenTree};
use std::path::{Path, PathBuf};
use syn::Attribute;

pub struct Source {
    /// Path relative to the repository's root.
    pub path: PathBuf,
    pub text: String,
    /// The text with comments and the contents of string and character literals blanked.
    pub code: String,
    /// The text with everything but comments blanked.
    pub comments: String,
    /// For each line, true if it lies in an item under `#[cfg(test)]`.
    pub in_test: Vec<bool>,
    pub tree: syn::Result<syn::File>,
}

impl Source {
    /// Splits `text`.
    pub fn new(path: impl AsRef<Path>, text: &str) -> Source {
        let (code, comments) = split(text);
        let in_test = test_lines(&code);
        Source { path: path.as_ref().to_path_buf(), text: text.to_owned(), code, comments, in_test, tree: syn::parse_file(text) }
    }

    /// The lines of the code view with their numbers from 1, test code left out.
    pub fn shipped_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().filter(|(index, _)| !self.in_test[*index]).map(|(index, line)| (index + 1, line))
    }
}

/// The number of the line that holds byte `at`, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Where `word` occurs in `text` as a word of its own: not as part of a longer identifier.
pub fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let opens_word = word.starts_with(is_part);
        let closes_word = word.ends_with(is_part);
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !(opens_word && before.is_some_and(is_part) || closes_word && after.is_some_and(is_part))
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// The view of the code and that of the comments. What is no token is a comment or blank.
fn split(text: &str) -> (String, String) {
    let mut kinds = vec![Kind::Comment; text.len()];
    match text.parse() {
        Ok(tokens) => mark(tokens, text, &mut kinds),
        Err(_) => kinds.fill(Kind::Code),
    }
    let view = |wanted: Kind| -> String {
        let kept: Vec<u8> =
            text.bytes().zip(&kinds).map(|(byte, kind)| if *kind == wanted || byte == b'\n' { byte } else { b' ' }).collect();
        String::from_utf8_lossy(&kept).into_owned()
    };
    (view(Kind::Code), view(Kind::Comment))
}

fn mark(tokens: TokenStream, text: &str, kinds: &mut [Kind]) {
    for token in tokens {
        let range = token.span().byte_range();
        let written = &text[range.clone()];
        match token {
            // A comment of documentation comes as an attribute.
            _ if written.starts_with("//") || written.starts_with("/*") => {}
            TokenTree::Group(group) => {
                kinds[group.span_open().byte_range()].fill(Kind::Code);
                kinds[group.span_close().byte_range()].fill(Kind::Code);
                mark(group.stream(), text, kinds);
            }
            // The delimiters of a literal stay visible as code, its contents do not.
            TokenTree::Literal(_) if written.ends_with(['"', '\'', '#']) => {
                kinds[range.clone()].fill(Kind::Literal);
                (kinds[range.start], kinds[range.end - 1]) = (Kind::Code, Kind::Code);
            }
            _ => kinds[range].fill(Kind::Code),
        }
    }
}

/// True for the attributes of what is compiled for tests only.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let mut finds = false;
        if attribute.path().is_ident("cfg") {
            let _ = attribute.parse_nested_meta(|meta| {
                finds |= meta.path.is_ident("test");
                Ok(())
            });
        }
        finds
    })
}

/// Marks the lines of every item that follows `#[cfg(test)]`, up to its closing brace or semicolon.
fn test_lines(code: &str) -> Vec<bool> {
    let mut marked = vec![false; code.lines().count().max(1)];
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        let end = item_end(code, start + attribute.len());
        for line in line_of(code, start)..=line_of(code, end) {
            if let Some(mark) = marked.get_mut(line - 1) {
                *mark = true;
            }
        }
    }
    marked
}

fn item_end(code: &str, from: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return offset;
                }
            }
            b';' if depth == 0 => return offset,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_told_from_code() {
        let source = Source::new(
            "x.rs",
            "let a = \"unsafe // no\"; // why\n/* a /* nested */ one */ let b = r#\"f64 \" \"#;\nlet c: &'static str = b'\\'' as _;",
        );
        assert!(!source.code.contains("unsafe") && !source.code.contains("f64") && !source.code.contains("why"));
        assert!(source.code.contains("let b =") && source.code.contains("'static str"));
        assert!(source.comments.contains("// why") && source.comments.contains("nested"));
        assert!(!source.comments.contains("no\""));
        assert_eq!(source.code.lines().count(), 3);
    }

    #[test]
    fn quotes_inside_characters_do_not_open_strings() {
        let source = Source::new("x.rs", "let q = '\"'; let u = unsafe_name; let e = '\\u{e9}'; let l: Foo<'a> = f64;");
        assert!(source.code.contains("unsafe_name") && source.code.contains("f64"));
    }

    #[test]
    fn lines_of_test_modules_are_marked() {
        let source = Source::new("x.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { }\n}\nfn c() {}\n");
        assert_eq!(source.in_test, [false, true, true, true, true, false]);
        assert_eq!(source.shipped_lines().map(|(line, _)| line).collect::<Vec<_>>(), [1, 6]);
    }

    #[test]
    fn words_are_found_whole() {
        assert_eq!(find_word("my_unsafe unsafe_fn", "unsafe"), None);
        assert_eq!(find_word("x = unsafe { }", "unsafe"), Some(4));
        assert_eq!(find_word("xstd::mem std::mem", "std::"), Some(10));
    }
}
