//! Lays out columns of text within the width of a terminal.
//!
//! A plain space is where a cell may be broken; a no-break space is not. As long as a table is too wide, the widest
//! column that can be broken once more is; then the gaps shrink; then long words of left-aligned columns are cut.
//! Figures are never cut: rather than that, a line becomes too long.

use unicode_width::UnicodeWidthStr;

/// A column: its head first, then a cell per row.
pub(crate) struct TextColumn {
    pub(crate) cells: Vec<TextCell>,
    /// Whether the cells are aligned to the right.
    pub(crate) right: bool,
}

/// A cell and the escape sequence that colours it, or an empty one.
pub(crate) struct TextCell {
    pub(crate) text: String,
    pub(crate) escape: &'static str,
}

impl TextCell {
    pub(crate) fn plain(text: String) -> Self {
        Self { text, escape: "" }
    }
}

/// Spaces between columns, and where space is scarce.
const GAP: usize = 2;
const NARROW_GAP: usize = 1;

/// Width down to which a long word of a left-aligned column is cut.
const SHORTEST_CUT: usize = 16;

/// The width below which the table cannot be brought without cutting figures or short words.
pub(crate) fn narrowest(columns: &[TextColumn]) -> usize {
    let words = columns.iter().map(|column| {
        let longest = longest_word(column);
        if column.right { longest } else { longest.min(SHORTEST_CUT) }
    });
    words.sum::<usize>() + NARROW_GAP * columns.len().saturating_sub(1)
}

/// The table as lines: the heads, a rule, the rows.
pub(crate) fn lay_out(columns: &[TextColumn], limit: usize) -> String {
    let (widths, gap) = fit(columns, limit);
    let mut text = String::new();
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        push_row(&mut text, columns, &widths, gap, row);
        if row == 0 {
            let total = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
            text.push_str(&"─".repeat(total));
            text.push('\n');
        }
    }
    text
}

fn push_row(text: &mut String, columns: &[TextColumn], widths: &[usize], gap: usize, row: usize) {
    let broken: Vec<Vec<String>> =
        columns.iter().zip(widths).map(|(column, &width)| broken_lines(&column.cells[row].text, width)).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or(1);
    // Heads stand on the rule; cells hang from the first line of their row.
    let line_of = |lines: &[String], line: usize| {
        let skipped = if row == 0 { height - lines.len() } else { 0 };
        line.checked_sub(skipped).and_then(|line| lines.get(line)).cloned()
    };
    for line in 0..height {
        let mut pending = 0;
        for (index, column) in columns.iter().enumerate() {
            let content = line_of(&broken[index], line).unwrap_or_default();
            let padding = widths[index].saturating_sub(content.width());
            if column.right {
                pending += padding;
            }
            if !content.is_empty() {
                text.push_str(&" ".repeat(std::mem::take(&mut pending)));
                let escape = column.cells[row].escape;
                text.push_str(escape);
                text.push_str(&content);
                if !escape.is_empty() {
                    text.push_str("\u{1b}[0m");
                }
            }
            if !column.right {
                pending += padding;
            }
            pending += gap;
        }
        text.push('\n');
    }
}

fn fit(columns: &[TextColumn], limit: usize) -> (Vec<usize>, usize) {
    let mut widths: Vec<usize> = columns.iter().map(|column| needed(column, usize::MAX)).collect();
    let gaps = |gap: usize| gap * columns.len().saturating_sub(1);
    let total = |widths: &[usize], gap: usize| widths.iter().sum::<usize>() + gaps(gap);
    // First break at spaces, the widest column first.
    while total(&widths, GAP) > limit {
        let next = (0..columns.len())
            .filter_map(|index| narrower(&columns[index], widths[index]).map(|width| (index, width)))
            .max_by_key(|&(index, _)| (widths[index], index));
        match next {
            Some((index, width)) => widths[index] = width,
            None => break,
        }
    }
    if total(&widths, GAP) <= limit {
        return (widths, GAP);
    }
    // Then cut words of left-aligned columns, the widest first.
    while total(&widths, NARROW_GAP) > limit {
        let widest = (0..columns.len())
            .filter(|&index| !columns[index].right && widths[index] > SHORTEST_CUT)
            .max_by_key(|&index| (widths[index], index));
        match widest {
            Some(index) => widths[index] -= 1,
            None => break,
        }
    }
    (widths, NARROW_GAP)
}

/// The next smaller width at which no word has to be cut.
fn narrower(column: &TextColumn, width: usize) -> Option<usize> {
    (longest_word(column) < width).then(|| needed(column, width - 1))
}

fn longest_word(column: &TextColumn) -> usize {
    let words = column.cells.iter().flat_map(|cell| cell.text.split(' '));
    words.map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// The width of the longest line when every cell is broken to lines of at most `width`.
fn needed(column: &TextColumn, width: usize) -> usize {
    column.cells.iter().flat_map(|cell| broken_lines(&cell.text, width)).map(|line| line.width()).max().unwrap_or(0)
}

fn broken_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if lines[last].is_empty() {
            lines[last].push_str(word);
        } else if lines[last].width() + 1 + word.width() <= width {
            lines[last].push(' ');
            lines[last].push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        cut_last(&mut lines, width);
    }
    lines
}

/// Moves what does not fit the last line to new lines.
fn cut_last(lines: &mut Vec<String>, width: usize) {
    while let Some(last) = lines.last_mut()
        && last.width() > width
    {
        let fitting = last
            .char_indices()
            .map(|(start, character)| start + character.len_utf8())
            .take_while(|&end| last[..end].width() <= width)
            .last()
            // A character wider than the line has a line of its own, and sticks out.
            .unwrap_or_else(|| last.chars().next().map_or(0, char::len_utf8));
        if fitting == last.len() {
            return;
        }
        let rest = last.split_off(fitting);
        lines.push(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(right: bool, cells: &[&str]) -> TextColumn {
        TextColumn { cells: cells.iter().map(|text| TextCell::plain((*text).to_owned())).collect(), right }
    }

    fn lines(columns: &[TextColumn], limit: usize) -> Vec<String> {
        lay_out(columns, limit).lines().map(str::to_owned).collect()
    }

    fn sample() -> [TextColumn; 3] {
        [
            column(false, &["flow", "voice", "bulk"]),
            column(false, &["class", "real time", "best effort"]),
            column(true, &["mean delay", "1.1\u{a0}ms ±\u{a0}0.1", "165\u{a0}ms"]),
        ]
    }

    #[test]
    fn a_table_that_fits_has_one_line_per_row() {
        assert_eq!(
            lines(&sample(), 80),
            [
                "flow   class          mean delay",
                "────────────────────────────────",
                "voice  real time    1.1\u{a0}ms ±\u{a0}0.1",
                "bulk   best effort        165\u{a0}ms",
            ]
        );
    }

    #[test]
    fn a_narrower_one_breaks_at_plain_spaces_and_puts_heads_on_the_rule() {
        assert_eq!(
            lines(&sample(), 24),
            [
                "                    mean",
                "flow   class       delay",
                "────────────────────────",
                "voice  real time  1.1\u{a0}ms",
                "                   ±\u{a0}0.1",
                "bulk   best       165\u{a0}ms",
                "       effort",
            ]
        );
    }

    #[test]
    fn long_names_are_cut_and_figures_are_not() {
        let columns = [column(false, &["flow", "192.168.100.100:50000>10.0.0.1:443"]), column(true, &["bytes", "123\u{a0}456\u{a0}789"])];
        let lines = lines(&columns, 28);
        assert!(lines.iter().all(|line| line.width() <= 28), "{lines:?}");
        assert!(lines[2].ends_with("123\u{a0}456\u{a0}789"));
        assert!(lines.len() > 3);
    }

    #[test]
    fn colour_does_not_count_as_width() {
        let mut columns = sample();
        let plain = lines(&columns, 80);
        columns[1].cells[1].escape = "\u{1b}[1;32m";
        let coloured = lines(&columns, 80);
        assert_eq!(coloured[2].replace("\u{1b}[1;32m", "").replace("\u{1b}[0m", ""), plain[2]);
        assert_ne!(coloured[2], plain[2]);
    }

    #[test]
    fn wide_characters_are_measured_as_the_terminal_shows_them() {
        let columns = [column(false, &["名前", "x"]), column(false, &["b", "y"])];
        assert_eq!(lines(&columns, 80)[0], "名前  b");
        assert_eq!(lines(&columns, 80)[2], "x     y");
        assert_eq!(broken_lines("名前", 1), ["名", "前"]);
    }
}
