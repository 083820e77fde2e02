//! `tidegate model`: models of machines that forward packets.

use crate::failure::Failure;
use crate::{model_fit, model_validate};
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// What `tidegate model` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn recordings of `tidegate live --probe` into a machine file
    Fit(model_fit::Arguments),
    /// Compare a fitted machine with other recordings, or with traffic that passes now
    Validate(model_validate::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        Command::Fit(arguments) => model_fit::run(arguments),
        Command::Validate(arguments) => model_validate::run(arguments),
    }
}
