//! `tidegate bounds`: what a port promises before a packet has been sent.

use crate::failure::Failure;
use crate::present::print;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `tidegate bounds` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario or policy file
    file: PathBuf,
    /// Change a value of the file first, such as policy.access.rate="5 Mbit/s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print as JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load(&arguments.file, &arguments.set)?;
    if arguments.json {
        print(&format!("{:#}", tidegate_scenario::bounds::json(&scenario)))?;
    } else {
        print(&tidegate_scenario::bounds::text(&scenario))?;
    }
    Ok(ExitCode::SUCCESS)
}
