//! A Rust source file split into what is code, what is a comment and what is test code, without parsing it.
//!
//! Both views keep every line at its number: what does not belong to a view is blanked by spaces.

use std::path::{Path, PathBuf};

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
}

impl Source {
    /// Splits `text`.
    pub fn new(path: impl AsRef<Path>, text: &str) -> Source {
        let (code, comments) = split(text);
        let in_test = test_lines(&code);
        Source { path: path.as_ref().to_path_buf(), text: text.to_owned(), code, comments, in_test }
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

fn split(text: &str) -> (String, String) {
    let bytes = text.as_bytes();
    let mut kinds = vec![Kind::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let (end, kind) = token(bytes, at);
        // The delimiters of a literal stay visible as code, its contents do not.
        match kind {
            Kind::Literal => kinds[(at + 1).min(end)..(end - 1).max(at + 1)].fill(Kind::Literal),
            other => kinds[at..end].fill(other),
        }
        at = end;
    }
    let view = |wanted: Kind| -> String {
        let kept: Vec<u8> =
            bytes.iter().zip(&kinds).map(|(byte, kind)| if *kind == wanted || *byte == b'\n' { *byte } else { b' ' }).collect();
        String::from_utf8_lossy(&kept).into_owned()
    };
    (view(Kind::Code), view(Kind::Comment))
}

/// The end and the kind of the token that starts at `at`; anything that needs no care is one byte of code.
fn token(bytes: &[u8], at: usize) -> (usize, Kind) {
    let rest = &bytes[at..];
    let joined = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if rest.starts_with(b"//") {
        return (at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()), Kind::Comment);
    }
    if rest.starts_with(b"/*") {
        return (at + block_comment(rest), Kind::Comment);
    }
    if rest[0] == b'"' {
        return (at + quoted(rest, b'"'), Kind::Literal);
    }
    if !joined && let Some(length) = raw_string(rest) {
        return (at + length, Kind::Literal);
    }
    if rest[0] == b'\'' && is_character(rest) {
        return (at + quoted(rest, b'\''), Kind::Literal);
    }
    (at + 1, Kind::Code)
}

/// The length of a block comment, which may hold others.
fn block_comment(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a literal between two `quote`s, escapes observed.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of `r"..."`, `r#"..."#`, and the same with `b` or `c` in front; `None` if this is no raw string.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let prefix = match rest {
        [b'r', ..] => 1,
        [b'b' | b'c', b'r', ..] => 2,
        _ => return None,
    };
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let body = prefix + hashes + 1;
    let closing = [&b"\""[..], &vec![b'#'; hashes]].concat();
    let end = rest[body..].windows(closing.len()).position(|window| window == closing);
    Some(end.map_or(rest.len(), |end| body + end + closing.len()))
}

/// Tells a character literal from a lifetime: the literal closes after one character or an escape.
fn is_character(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(first) => {
            let width = match first {
                0..=0x7f => 1,
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            rest.get(1 + width) == Some(&b'\'')
        }
        None => false,
    }
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
