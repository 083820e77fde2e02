//! Tables of measured costs, which files name: a time per line, or a row of factors per line.
//!
//! Empty lines and what follows a `#` do not count. Numbers of a row are separated by spaces, tabs or commas.

use crate::units;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_core::units::Duration;

/// The most lines of a table.
const MOST_LINES: usize = 1_000_000;

/// Reads tables beside a machine file.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The folder that names are relative to; `None` for a text without a file.
    pub directory: Option<PathBuf>,
    /// The files that were read.
    pub files: BTreeSet<PathBuf>,
}

impl Tables {
    /// Tables beside the file at `path`.
    pub fn beside(path: &Path) -> Tables {
        Tables { directory: Some(path.parent().unwrap_or(Path::new("")).to_owned()), files: BTreeSet::new() }
    }

    /// The times of a table, at least one.
    ///
    /// # Errors
    /// What is wrong, with the line of the table.
    pub fn times(&mut self, name: &str) -> Result<Arc<[Duration]>, String> {
        self.lines(name, units::duration).map(Into::into)
    }

    /// The rows of a table, at least one, with `columns` factors each.
    ///
    /// # Errors
    /// What is wrong, with the line of the table.
    pub fn rows(&mut self, name: &str, columns: usize) -> Result<Arc<[Vec<f64>]>, String> {
        let factor = |text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| (0.0..=1e6).contains(number));
            number.ok_or_else(|| format!("`{text}` is not a factor from 0 to 10^6"))
        };
        let row = |line: &str| {
            let row = line.split([' ', '\t', ',']).filter(|text| !text.is_empty()).map(factor).collect::<Result<Vec<f64>, String>>()?;
            match row.len() {
                found if found == columns => Ok(row),
                found => Err(format!("{} in place of {columns}, one for each stage", units::plural(found, "factor"))),
            }
        };
        self.lines(name, row).map(Into::into)
    }

    fn lines<T>(&mut self, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
        let Some(directory) = &self.directory else {
            return Err(format!("the table {name} is looked for beside the machine file, and this text has no file"));
        };
        let path = directory.join(name);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("the table {} cannot be read: {error}", path.display()))?;
        let mut values = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if values.len() == MOST_LINES {
                return Err(format!("the table {} has more than {MOST_LINES} lines", path.display()));
            }
            values.push(read(line).map_err(|problem| format!("the table {}, line {}: {problem}", path.display(), index + 1))?);
        }
        self.files.insert(path.clone());
        if values.is_empty() { Err(format!("the table {} is empty", path.display())) } else { Ok(values) }
    }
}
