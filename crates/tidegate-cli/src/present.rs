//! Showing a report: tables or JSON on the terminal, a folder of files, and the exit code that follows from the promises.

use crate::failure::Failure;
use crate::log;
use clap::Args;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidegate_report::{OutputFolder, Places, Report, ReportError, TerminalOptions};

/// Where results go. Every command that measures something takes these.
#[derive(Args)]
pub struct Output {
    /// Write summary.json, Parquet tables and report.html into this folder; a folder of earlier results is replaced as a whole
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the summary as JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Where results go, determined before work begins.
pub struct Destination {
    folder: Option<OutputFolder>,
    json: bool,
    stdout_is_taken: bool,
}

impl Destination {
    /// Refuses what cannot be written, or would replace one of `inputs` (what it is, and where).
    pub fn new(output: &Output, inputs: &[(&str, &Path)]) -> Result<Destination, Failure> {
        let mut places = Places::default();
        inputs.iter().for_each(|(what, path)| places.input(what, path));
        Destination::among(output, &mut places)
    }

    /// The same, where inputs are noted in `places`; outputs are to be noted there afterwards.
    pub fn among(output: &Output, places: &mut Places) -> Result<Destination, Failure> {
        if let Some(folder) = &output.out {
            places.folder(folder)?;
        }
        places.output("standard output", Path::new("/dev/stdout"))?;
        let folder = output.out.as_deref().map(OutputFolder::create).transpose()?;
        Ok(Destination { folder, json: output.json, stdout_is_taken: false })
    }

    /// Checks that the folder can still be written, for a process that has given up rights since.
    pub fn check(&self) -> Result<(), Failure> {
        let checked = self.folder.as_ref().map_or(Ok(()), OutputFolder::check);
        checked.map_err(|error| {
            let advice = "live keeps the rights to carry packets and no others, not even as root: name a folder that the user it runs as may \
                          write to, such as one below /var/tmp";
            Failure::Environment(format!("error: {error}. {advice}"))
        })
    }

    /// The folder of results, if there is one.
    pub fn folder(&mut self) -> Option<&mut OutputFolder> {
        self.folder.as_mut()
    }

    /// Shows `report` as the user asked, and answers 0, or 1 if a promise of the first run was broken.
    ///
    /// Further runs are variants to compare with: what they break is shown and gates nothing.
    pub fn present(self, report: &Report) -> Result<ExitCode, Failure> {
        report.validate().map_err(|error| Failure::Defect(error.to_string()))?;
        let text = if self.json { tidegate_report::summary_json(report) } else { tidegate_report::terminal(report, terminal_options()) };
        self.deliver(&text, |folder| tidegate_report::write_all(report, folder))?;
        Ok(ExitCode::from(u8::from(report.runs.first().is_some_and(|run| !run.promises_kept()))))
    }

    /// Sends to standard error what would go to standard output if `is_taken`: standard output carries a capture then.
    pub fn leave_stdout(&mut self, is_taken: bool) {
        self.stdout_is_taken = is_taken;
    }

    /// Whether standard output is to be JSON.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Prints `text`, and writes the folder with `write`, which returns the files it wrote. If one fails, the other is still tried.
    pub fn deliver(self, text: &str, write: impl FnOnce(OutputFolder) -> Result<Vec<PathBuf>, ReportError>) -> Result<(), Failure> {
        let printed = if self.stdout_is_taken {
            log::line(text.trim_end());
            Ok(())
        } else {
            print(text)
        };
        if let Some(folder) = self.folder {
            let asked = folder.path().to_owned();
            let refused = |error| Failure::BadInput(format!("error: the results cannot be written to {}: {error}", asked.display()));
            let written = write(folder).map_err(refused)?;
            if let Some(page) = written.iter().find(|path| path.extension().is_some_and(|extension| extension == "html")) {
                log::line(&format!("{} files written; open {}", written.len(), page.display()));
            }
        }
        printed
    }
}

/// The note on packets that have no field for the code points of a policy's `set`.
pub fn without_fields(packets: u64) -> String {
    format!("{packets} packets left as they came: they have no field for the code points that the policy sets.")
}

/// The note on packets that the link of a policy passed late and twice.
pub fn disturbed(late: u64, twice: u64) -> String {
    format!("{late} packets came late over the link, and {twice} came twice; the tables show what happened at the port.")
}

/// Writes to standard output. A reader that has gone, such as `head`, is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{text}{newline}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Environment(format!("error: standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
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
