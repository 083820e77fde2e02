//! `tidegate check`, `schema` and `disciplines`; reading files for every other command.

use crate::failure::Failure;
use crate::log;
use crate::present::print;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidegate_core::registry::{AqmKind, BufferKind, PolicerKind, SchedulerKind};
use tidegate_scenario::bufferbloat;
use tidegate_scenario::machine::MachineFile;
use tidegate_scenario::summary::{Detail, summary};
use tidegate_scenario::{FileSet, Policy, Problems, Scenario};

/// What `tidegate check` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario or policy file
    file: PathBuf,
    /// Change a value of the file first, such as policy.access.rate="5 Mbit/s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Describe everything: without it, long lists are cut after the first twenty
    #[arg(long)]
    all: bool,
}

/// Runs `tidegate check`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = load(&arguments.file, &arguments.set)?;
    for note in scenario.capture_notes() {
        crate::log::line(&format!("note: {note}"));
    }
    for warning in bufferbloat::warnings(&scenario) {
        crate::log::line(&format!("warning: {warning}"));
    }
    let detail = if arguments.all { Detail::All } else { Detail::First };
    let progress = Progress::new(1, "proving bounds  {elapsed}");
    let text = summary(&scenario, detail);
    drop(progress);
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Files that have a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FileKind {
    /// Scenario and policy files
    Scenario,
    /// Machine files, for `tidegate model`
    Machine,
}

/// Runs `tidegate schema`.
pub fn print_schema(kind: FileKind) -> Result<ExitCode, Failure> {
    let schema = match kind {
        FileKind::Scenario => tidegate_scenario::editor_schema(),
        FileKind::Machine => tidegate_scenario::machine::schema().clone(),
    };
    print(&format!("{schema:#}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `tidegate disciplines`: the registries as text.
pub fn print_disciplines() -> Result<ExitCode, Failure> {
    let mut text = String::new();
    let mut section = |title: &str, rows: &mut dyn Iterator<Item = (&'static str, &'static str, String)>| {
        let _infallible = writeln!(text, "{title}");
        for (name, summary, uses) in rows {
            let _infallible = writeln!(text, "  {name:<24} {summary}");
            if !uses.is_empty() {
                let _infallible = writeln!(text, "  {:<24}   uses {uses}", "");
            }
        }
        text.push('\n');
    };
    section(
        "Schedulers",
        &mut SchedulerKind::ALL.iter().map(|kind| {
            let names: Vec<&str> = kind.requires().iter().chain(kind.accepts()).map(|parameter| parameter.name()).collect();
            (kind.name(), kind.summary(), names.join(", "))
        }),
    );
    section(
        "Policers",
        &mut PolicerKind::ALL.iter().map(|kind| {
            let names: Vec<&str> = kind.requires().iter().chain(kind.accepts()).map(|field| field.name()).collect();
            (kind.name(), kind.summary(), names.join(", "))
        }),
    );
    section("Buffer managers", &mut BufferKind::ALL.iter().map(|kind| (kind.name(), kind.summary(), String::new())));
    section(
        "Active queue management",
        &mut AqmKind::ALL.iter().map(|kind| {
            let names: Vec<&str> = kind.requires().iter().chain(kind.accepts()).map(|field| field.name()).collect();
            (kind.name(), kind.summary(), names.join(", "))
        }),
    );
    print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a scenario or policy file; its warnings go to standard error.
pub fn load(path: &Path, changes: &[String]) -> Result<Scenario, Failure> {
    told(tidegate_scenario::load(path, changes))
}

/// The same for a command that uses only the policies of the file.
pub fn load_policies(path: &Path, changes: &[String]) -> Result<Scenario, Failure> {
    told(tidegate_scenario::load_policies(path, changes))
}

/// The same, with all texts that were read.
pub fn read_policies(path: &Path, changes: &[String]) -> Result<(Scenario, FileSet), Failure> {
    let (scenario, files) = tidegate_scenario::read_policies(path, changes).map_err(Failure::Findings)?;
    told(Ok(scenario)).map(|scenario| (scenario, files))
}

/// A file and all texts that it names, for a running bridge.
pub fn gather(path: &Path, changes: &[String]) -> Result<FileSet, Failure> {
    tidegate_scenario::gather(path, changes).map_err(Failure::Findings)
}

/// Reads a machine file; its warnings go to standard error.
pub fn load_machine(path: &Path, changes: &[String]) -> Result<MachineFile, Failure> {
    let file = tidegate_scenario::machine::load(path, changes).map_err(Failure::Findings)?;
    if let Some(warnings) = &file.warnings {
        log::styled(&drawn(warnings));
    }
    Ok(file)
}

fn told(loaded: Result<Scenario, Problems>) -> Result<Scenario, Failure> {
    let scenario = loaded.map_err(Failure::Findings)?;
    if let Some(warnings) = &scenario.warnings {
        log::styled(&drawn(warnings));
    }
    Ok(scenario)
}

/// The policy called `name`, or the only one. `option` is how the user can name one.
pub fn choose<'s>(scenario: &'s Scenario, name: Option<&str>, option: &str) -> Result<&'s Policy, Failure> {
    scenario.policy(name).map_err(|problem| Failure::BadInput(format!("error: {problem} (with {option} NAME)")))
}

/// Findings as they are shown on standard error.
pub fn drawn(problems: &Problems) -> String {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    problems.render(colour)
}
