//! Showing a report: tables or JSON on the terminal, a folder of files, and the exit code that follows from the promises.

use crate::Output;
use crate::failure::Failure;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidegate_report::{Report, ReportError, TerminalOptions};

/// Shows `report` as the user asked, and answers 0, or 1 if a promise of the first run was broken.
///
/// Further runs are variants to compare with: what they break is shown and gates nothing.
pub fn present(report: &Report, output: &Output) -> Result<ExitCode, Failure> {
    report.validate().map_err(|error| Failure::Defect(error.to_string()))?;
    print(&if output.json { tidegate_report::summary_json(report) } else { tidegate_report::terminal(report, terminal_options()) });
    if let Some(folder) = &output.out {
        write_folder(folder, |folder| tidegate_report::write_all(report, folder))?;
    }
    Ok(ExitCode::from(u8::from(report.runs.first().is_some_and(|run| !run.promises_kept()))))
}

/// Writes results with `write`, which answers the files it wrote, and says which of them to open.
pub fn write_folder(folder: &Path, write: impl FnOnce(&Path) -> Result<Vec<PathBuf>, ReportError>) -> Result<(), Failure> {
    let refused = |error| Failure::BadInput(format!("error: the results cannot be written to {}: {error}", folder.display()));
    let written = write(folder).map_err(refused)?;
    if let Some(page) = written.iter().find(|path| path.extension().is_some_and(|extension| extension == "html")) {
        eprintln!("{} files written; open {}", written.len(), page.display());
    }
    Ok(())
}

/// Writes to standard output. A reader that has gone, such as `head`, is no error.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    let _reader_gone = write!(out, "{text}{newline}").and_then(|()| out.flush());
}

/// How wide the terminal is, and whether it shows colour.
pub fn terminal_options() -> TerminalOptions {
    let terminal = std::io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = terminal_size::terminal_size().map(|(width, _)| width.0);
    TerminalOptions {
        width: measured.or(columns).unwrap_or(100).clamp(60, 200),
        colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}
