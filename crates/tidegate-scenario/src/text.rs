//! Reads the text of a file, aligns columns, matches names.

use std::path::Path;

/// The text of the file at `path`.
///
/// # Errors
/// One sentence with the file's name: it cannot be read, or is not UTF-8 text.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string()).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
    });
    text.map_err(|problem| format!("cannot read {}: {problem}", path.display()))
}

/// The rows as lines of aligned columns, each indented by this many spaces.
pub(crate) fn aligned(rows: &[Vec<String>], indent: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{:indent$}{}\n", "", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// True if a name matches a pattern in which `*` stands for any characters.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, is) in [
            ("*", "", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "acb", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), is, "{pattern} {name}");
        }
    }
}
