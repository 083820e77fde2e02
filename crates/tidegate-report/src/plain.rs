//! Tables and sentences as they are, for a terminal or a page.

use crate::figure::Table;
use crate::grid::{Cell, Grid, number_column, text_column};
use crate::quantity::NO_BREAK_SPACE;

/// A table as it is.
pub(crate) fn plain(table: &Table) -> Grid {
    let column = |(index, head): (usize, &String)| if index > 0 { number_column(head) } else { text_column(head) };
    let columns = table.head.iter().enumerate().map(column).collect();
    let row = |row: &Vec<String>| row.iter().map(|cell| Cell::plain(unbroken(cell))).collect();
    Grid::new("rows", columns, table.rows.iter().map(row).collect())
}

pub(crate) fn unbroken(text: &str) -> String {
    text.replace(' ', &NO_BREAK_SPACE.to_string())
}

/// A sentence as lines of at most `width` columns.
pub(crate) fn wrapped(sentence: &str, width: u16) -> String {
    let limit = usize::from(width.max(40));
    let (mut text, mut length) = (String::new(), 0);
    for word in sentence.split_whitespace() {
        let more = word.chars().count();
        if length > 0 && length + 1 + more > limit {
            text.push_str("\n  ");
            length = 2;
        } else if length > 0 {
            text.push(' ');
            length += 1;
        }
        text.push_str(word);
        length += more;
    }
    text.push('\n');
    text
}
