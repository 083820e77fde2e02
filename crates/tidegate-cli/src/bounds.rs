//! `tidegate bounds`: what flows, queues and ports are guaranteed before a packet is sent.

use crate::failure::Failure;
use crate::present::print;
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use tidegate_scenario::bounds::{Method, Question, Report};
use tidegate_scenario::summary::Detail;

/// What `tidegate bounds` takes.
#[derive(Args)]
pub struct Arguments {
    /// The scenario or policy file
    file: PathBuf,
    /// Change a value of the file first, such as policy.access.rate="5 Mbit/s"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print all that is proven of one flow, or of the flows of one table: each method, and hop by hop
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Print the bounds of this method, in place of each flow's least one
    #[arg(long, value_enum, value_name = "METHOD")]
    method: Option<MethodName>,
    /// Print everything: without it, long tables are cut after the first twenty rows
    #[arg(long)]
    all: bool,
    /// Print as JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Methods to bound the delay of a flow along its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum MethodName {
    /// Total flow analysis (TFA++): the sum of the delays at the hops
    Tfa,
    /// Separated flow analysis (SFA): what the other flows leave, hop by hop
    Sfa,
    /// Pay multiplexing only once (PMOO): for any order of service within a queue
    Pmoo,
    /// Polynomial-size linear program (PLP) of the path, with its proof
    Plp,
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Method {
        match name {
            MethodName::Tfa => Method::TotalFlow,
            MethodName::Sfa => Method::SeparatedFlow,
            MethodName::Pmoo => Method::PayMultiplexingOnce,
            MethodName::Plp => Method::Program,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scenario = crate::check::load(&arguments.file, &arguments.set)?;
    let question = Question {
        flow: arguments.flow.clone(),
        method: arguments.method.map(Method::from),
        detail: if arguments.all || arguments.json { Detail::All } else { Detail::First },
    };
    let progress = Progress::new(1000, "proving bounds {wide_bar} {percent} %  {left}");
    let report = Report::of(&scenario, question, &|done| progress.at((done * 1000.0) as u64));
    drop(progress);
    let report = report.map_err(|problem| Failure::BadInput(format!("error: {problem}")))?;
    let text = if arguments.json { format!("{:#}", report.json()) } else { report.text() };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
