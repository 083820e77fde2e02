//! `tidegate admit`: whether a further flow can be proven its promise beside those of a file.

use crate::check::drawn;
use crate::failure::Failure;
use crate::log;
use crate::present::print;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use tidegate_scenario::admit;

/// What `tidegate admit` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario file
    file: PathBuf,
    /// The file of the flow that asks: one flow, with a `source` or its declared `traffic`, and the delay it asks for
    #[arg(long, value_name = "FLOW")]
    flow: PathBuf,
    /// Change a value of the file or of the flow first, such as flow.NAME.promise.delay="5 ms"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The variant that the flow joins, instead of the first
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Print as JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the command: 0 for a flow that is admitted, 1 for one that is refused.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let answer = admit::admit(&arguments.file, &arguments.flow, &arguments.set, arguments.variant.as_deref());
    let answer = answer.map_err(Failure::Findings)?;
    if let Some(warnings) = &answer.warnings {
        log::styled(&drawn(warnings));
    }
    print(&if arguments.json { format!("{:#}", admit::json(&answer)) } else { admit::text(&answer) })?;
    Ok(ExitCode::from(u8::from(!answer.is_admitted())))
}
