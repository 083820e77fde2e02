//! Rows of a table in aligned columns.

use std::fmt::Write;

/// Writes rows, indented by four. The last cell of a row that has fewer cells than the longest one may reach over the columns beside it.
pub(super) fn write_rows(text: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let is_spread = |row: &[String], column: usize| row.len() < columns && column + 1 == row.len();
    let mut widths = vec![0; columns];
    for row in rows {
        for (column, cell) in row.iter().enumerate().filter(|(column, _)| !is_spread(row, *column)) {
            widths[column] = widths[column].max(cell.chars().count());
        }
    }
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        let _infallible = writeln!(text, "    {}", cells.join("  ").trim_end());
    }
}
