//! `tidegate plan`: values of a file's free keys with which every promise is proven.

use crate::check::drawn;
use crate::failure::Failure;
use crate::log;
use crate::present::print;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use tidegate_scenario::plan;

/// What `tidegate plan` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario file
    file: PathBuf,
    /// A key that may take another value, such as policy.access.class.voice.rate; its value in the file is where the search begins
    #[arg(long = "free", value_name = "KEY", required = true)]
    free: Vec<String>,
    /// What is to be small
    #[arg(long, value_enum, default_value = "sum")]
    minimise: Minimise,
    /// Change a value of the file first, such as policy.access.rate="5 Mbit/s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The variant to plan, instead of the first
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Print as JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What a plan makes small.
#[derive(Clone, Copy, ValueEnum)]
enum Minimise {
    /// The sum of the values, which count in one unit
    Sum,
    /// One factor common to all values of the file
    Factor,
}

/// Runs the command: 0 for a plan, 1 if a promise cannot be kept.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let minimise = match arguments.minimise {
        Minimise::Sum => plan::Minimise::Sum,
        Minimise::Factor => plan::Minimise::Factor,
    };
    let request = plan::Request {
        path: &arguments.file,
        overrides: &arguments.set,
        free: &arguments.free,
        minimise,
        variant: arguments.variant.as_deref(),
    };
    let answer = plan::plan(&request).map_err(Failure::Findings)?;
    if let Some(warnings) = &answer.warnings {
        log::styled(&drawn(warnings));
    }
    print(&if arguments.json { format!("{:#}", plan::json(&answer)) } else { plan::text(&answer) })?;
    Ok(ExitCode::from(u8::from(answer.plan.is_err())))
}
