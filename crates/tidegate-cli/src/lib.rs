//! The `tidegate` command as a library: one core in a simulation, in a replay and on live interfaces.
//!
//! [`run`] does what the command does with its arguments. [`simulate`], [`Study`], [`replay_capture`] and [`model_machine`] are `tidegate run`,
//! `sweep`, `replay` and `model` without a terminal. Only the process `tidegate` and the Python package use this crate.
//!
//! Without Linux, or without the feature `live`, there is everything but the last.
// Some of what `live` shares with other commands is then used by none.
#![cfg_attr(not(all(feature = "live", target_os = "linux")), allow(dead_code))]

mod acks;
mod admit;
mod bench;
mod bounds;
mod capture_report;
mod changes;
mod check;
mod compare;
mod completions;
#[cfg(all(feature = "live", target_os = "linux"))]
mod confinement;
mod ctl;
mod ctl_capture;
mod ctl_text;
mod doctor;
#[cfg(all(feature = "live", target_os = "linux"))]
mod fail_open;
mod failure;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_captures;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_pages;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_pairs;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_reservations;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_service;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_sockets;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_ticker;
mod log;
mod manual;
mod model;
mod model_fit;
mod model_rows;
mod model_validate;
mod packet_trace;
mod passage;
mod plan;
mod port_report;
mod present;
mod progress;
mod proven;
mod queue_report;
mod replay;
mod reproduce;
mod run;
mod signals;
mod simulation_report;
#[cfg(all(feature = "live", target_os = "linux"))]
mod supervision;
mod sweep;
mod sweep_figure;
mod sweep_folder;
mod sweep_study;
mod sweep_table;
#[cfg(all(feature = "live", target_os = "linux"))]
mod take_over;

use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

pub use failure::Failure;
pub use model::model_machine;
pub use replay::{ReplayOptions, replay_capture};
pub use run::simulate;
pub use sweep_study::Study;

/// A traffic manager that keeps its promises: it polices, buffers, schedules and shapes packets so that every flow gets the rate, delay
/// and loss it was promised.
#[derive(Parser)]
#[command(name = "tidegate", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a promise was broken, a flow refused, a gate failed, or two results differ; 2 bad input; 3 the machine lacks something (the message says what, \
and how to get it); 4 a packet took longer than is proven; 5 a measurement is unfit to judge a model by.";

#[derive(Subcommand)]
enum Command {
    /// Simulate a scenario and report what every flow got
    Run(run::Arguments),
    /// Simulate a scenario at many points: every value of some keys, in one table with intervals
    Sweep(sweep_study::Arguments),
    /// Compare two results: what differs, and whether it can be chance
    Compare(compare::Arguments),
    /// Push a capture through a policy in virtual time
    Replay(replay::Arguments),
    /// Carry real packets between two network interfaces, in both directions
    #[cfg(all(feature = "live", target_os = "linux"))]
    Live(live::Arguments),
    /// Ask and change a running `tidegate live` through its control socket
    Ctl(ctl::Arguments),
    /// Ask how much a machine forwards, what limits it, and how long packets take
    Model(model::Arguments),
    /// Run published experiments and compare them with what was published
    Reproduce(reproduce::Arguments),
    /// Measure what a packet or a cell costs on this machine
    Bench(bench::Arguments),
    /// Check a scenario or policy file, and describe what is in it
    Check(check::Arguments),
    /// Print what is proven before a packet is sent: delays of flows, backlogs of queues and buffers, rates of ports
    Bounds(bounds::Arguments),
    /// Ask whether a further flow can be proven its promise beside those of a file, and what it could have instead
    Admit(admit::Arguments),
    /// Find values of free keys with which every promise of a file is proven, and none of which can be lowered alone
    Plan(plan::Arguments),
    /// Print the JSON Schema of scenario and policy files, or of machine files, for editors
    Schema {
        /// The kind of file
        #[arg(value_enum, default_value = "scenario")]
        kind: check::FileKind,
    },
    /// List the schedulers, policers and buffer managers that a policy can name
    Disciplines,
    /// Say what this machine lacks for which command, and how to mend it
    Doctor(doctor::Arguments),
    /// Print completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands
    Man {
        /// The folder for them, which is made if it is not there
        folder: PathBuf,
    },
}

/// Runs the command with these arguments, the first of which is the program's name, and returns its exit code.
///
/// It arranges for signals and writes to the standard streams: the process is the command's from then on.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let result = match Cli::try_parse_from(arguments) {
        Ok(cli) => run_command(cli.command),
        Err(answer) if answer.use_stderr() => {
            log::styled(&answer.render().to_string());
            return 2;
        }
        Err(answer) => present::print(&answer.render().to_string()).map(|()| ExitCode::SUCCESS),
    };
    let code = match result {
        Ok(code) => code,
        Err(failure) => {
            failure.tell();
            failure.code()
        }
    };
    // An exit code is opaque; every one of ours comes from a byte.
    (0..=u8::MAX).find(|&byte| ExitCode::from(byte) == code).unwrap_or(u8::MAX)
}

fn run_command(command: Command) -> Result<ExitCode, failure::Failure> {
    // `live` arranges for signals itself, after it has given up rights that the thread for them must not keep; `ctl` may have a file to end.
    #[cfg(all(feature = "live", target_os = "linux"))]
    let ends_itself = matches!(command, Command::Live(_) | Command::Ctl(_));
    #[cfg(not(all(feature = "live", target_os = "linux")))]
    let ends_itself = matches!(command, Command::Ctl(_));
    if !ends_itself {
        signals::end_cleanly()?;
    }
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::run(arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        #[cfg(all(feature = "live", target_os = "linux"))]
        Command::Live(arguments) => live::run(&arguments),
        Command::Ctl(arguments) => ctl::run(&arguments),
        Command::Model(arguments) => model::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Bounds(arguments) => bounds::run(&arguments),
        Command::Admit(arguments) => admit::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Schema { kind } => check::print_schema(kind),
        Command::Disciplines => check::print_disciplines(),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions { shell } => manual::print_completions(Cli::command(), shell),
        Command::Man { folder } => manual::write_pages(Cli::command(), &folder),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
