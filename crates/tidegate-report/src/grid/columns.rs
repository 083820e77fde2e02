//! A table of text cells, and the columns from which it is made.

use crate::bound::BoundResult;
use crate::model::{Estimate, Volume};
use crate::quantity::{self, Shown, time_estimate};

/// The text of an empty cell.
pub(crate) const NOTHING: &str = "–";

/// A table: a title, columns, and rows with one cell per column.
pub(crate) struct Grid {
    pub(crate) title: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Rows that were left out because the table would have become too long.
    pub(crate) left_out: usize,
    /// Sentences below the table.
    pub(crate) remarks: Vec<String>,
}

impl Grid {
    /// A table with all its rows.
    pub(crate) fn new(title: &'static str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Self {
        Self { title, columns, rows, left_out: 0, remarks: Vec::new() }
    }
}

/// Head and alignment of a column.
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) numeric: bool,
    pub(crate) place: Place,
}

/// Where there is room for a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Everywhere.
    Always,
    /// Not on a terminal so narrow that the table would not fit.
    UnlessNarrow,
    /// On the page only.
    Page,
}

/// One cell: its text and what it says about a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Half width of the figure's interval, less prominent than the figure.
    pub(crate) half_width: Option<String>,
    pub(crate) tone: Tone,
}

/// Whether a cell reports on a promise or a gate, and which way it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Kept,
    Broken,
    Passed,
    NotReproduced,
    Failed,
}

impl Cell {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), half_width: None, tone: Tone::Plain }
    }

    pub(crate) fn estimate(shown: Shown) -> Self {
        Self { half_width: shown.half_width, ..Self::plain(shown.mean) }
    }

    pub(super) fn outcome(text: String, kept: bool) -> Self {
        Self { tone: if kept { Tone::Kept } else { Tone::Broken }, ..Self::plain(text) }
    }

    pub(crate) fn nothing() -> Self {
        Self::plain(NOTHING)
    }
}

/// Makes the cell that a row has in a column.
type CellOf<'a, T> = Box<dyn Fn(&T) -> Cell + 'a>;

/// The columns of a table, each with its cells.
pub(crate) struct Columns<'a, T>(pub(super) Vec<(Column, CellOf<'a, T>)>);

impl<'a, T> Columns<'a, T> {
    /// A table whose first column names its rows.
    pub(crate) fn new(head: &str, name: impl Fn(&T) -> &str + 'a) -> Self {
        let mut columns = Columns(Vec::new());
        columns.add(text_column(head), move |row| Cell::plain(name(row)));
        columns
    }

    pub(crate) fn add(&mut self, column: Column, cell: impl Fn(&T) -> Cell + 'a) {
        self.0.push((column, Box::new(cell)));
    }

    /// What was offered, sent, dropped and queued.
    pub(super) fn add_volumes(&mut self, of: impl Fn(&T) -> [Volume; 4] + Copy + 'a) {
        self.add(number_column("offered"), move |row| count(of(row)[0].packets));
        self.add(detail_column("offered bytes"), move |row| bytes(of(row)[0].bytes as f64));
        self.add(number_column("sent"), move |row| count(of(row)[1].packets));
        self.add(detail_column("sent bytes"), move |row| bytes(of(row)[1].bytes as f64));
        self.add(number_column("dropped"), move |row| count(of(row)[2].packets));
        self.add(detail_column("dropped bytes"), move |row| bytes(of(row)[2].bytes as f64));
        self.add(number_column("queued"), move |row| count(of(row)[3].packets));
    }

    /// What is proven of `rows`, beside what was measured.
    pub(super) fn add_bounds(&mut self, rows: &[T], of: impl for<'r> Fn(&'r T) -> &'r BoundResult + Copy + 'a) {
        self.add(number_column("bound"), move |row| {
            of(row).delay_ps.map_or_else(|| Cell::plain("none"), |bound| Cell::plain(quantity::time_at_most(bound)))
        });
        self.add(number_column("largest delay"), move |row| {
            of(row).longest.map_or_else(Cell::nothing, |packet| time(packet.delay_ps as f64 / 1e12))
        });
        self.add(number_column("ratio"), move |row| match (of(row).longest, of(row).delay_ps) {
            (Some(packet), Some(bound)) => {
                let ratio = Cell::plain(quantity::part_of(packet.delay_ps, bound));
                if of(row).held == Some(false) { Cell { tone: Tone::Broken, ..ratio } } else { ratio }
            }
            _ => Cell::nothing(),
        });
        if rows.iter().any(|row| of(row).method.is_some()) {
            self.add(text_column("by"), move |row| Cell::plain(of(row).method.as_deref().unwrap_or(NOTHING)));
        }
        if rows.iter().any(|row| of(row).reason.is_some()) {
            self.add(text_column("no bound because"), move |row| Cell::plain(of(row).reason.as_deref().unwrap_or(NOTHING)));
        }
    }

    /// The table of these rows; `None` if there are none, here or left out.
    pub(crate) fn grid(self, title: &'static str, left_out: usize, rows: impl IntoIterator<Item = T>) -> Option<Grid> {
        let cells = |row: T| self.0.iter().map(|(_, cell)| cell(&row)).collect();
        let rows: Vec<Vec<Cell>> = rows.into_iter().map(cells).collect();
        let columns = self.0.into_iter().map(|(column, _)| column).collect();
        (!rows.is_empty() || left_out > 0).then(|| Grid { left_out, ..Grid::new(title, columns, rows) })
    }
}

pub(crate) fn count(number: u64) -> Cell {
    Cell::plain(quantity::count(number))
}

pub(super) fn bytes(number: f64) -> Cell {
    Cell::plain(quantity::bytes(number))
}

pub(super) fn time(seconds: f64) -> Cell {
    quantile(seconds, None)
}

pub(super) fn quantile(seconds: f64, half_width: Option<f64>) -> Cell {
    Cell::estimate(time_estimate(Estimate { mean: seconds, half_width }))
}

pub(crate) fn text_column(head: &str) -> Column {
    Column { head: head.to_owned(), numeric: false, place: Place::Always }
}

pub(crate) fn number_column(head: &str) -> Column {
    Column { numeric: true, ..text_column(head) }
}

pub(super) fn unless_narrow(column: Column) -> Column {
    Column { place: Place::UnlessNarrow, ..column }
}

pub(crate) fn detail_column(head: &str) -> Column {
    Column { place: Place::Page, ..number_column(head) }
}
