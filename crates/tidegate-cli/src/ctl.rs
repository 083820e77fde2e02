//! `tidegate ctl`: asks and changes a running `tidegate live` through its control socket.

use crate::ctl_capture::{self, CaptureArguments};
use crate::ctl_text::shown;
use crate::failure::Failure;
use crate::log;
use crate::present::print;
use crate::signals;
use clap::{Args, Subcommand};
use std::io::ErrorKind as IoError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tidegate_control::protocol::{Add, Applied, Apply, AskedClasses, AskedWhy, How, Named, Remove, Reserve, Set};
use tidegate_control::{Answer, Client, ClientError, ErrorKind, Request};
use tidegate_scenario::{FileSet, units};

/// An answer takes longer only if the bridge stands still.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `tidegate ctl` takes.
#[derive(Args)]
pub struct Arguments {
    /// The socket that `tidegate live --control SOCKET` listens on
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    #[command(subcommand)]
    command: Command,
    /// Print the answer as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// How the bridge is: rates, counters, changes, clients
    Status,
    /// Show classes, queues, the flows that send most, or rules
    Show {
        /// What to show
        what: What,
        /// Only classes whose names match, such as "home-*"
        names: Option<String>,
        /// At most this many in each direction
        #[arg(long, value_name = "N", default_value_t = 50)]
        most: usize,
        /// Show all
        #[arg(long, conflicts_with = "most")]
        all: bool,
        /// Show them again every second, until Ctrl-C
        #[arg(long)]
        watch: bool,
    },
    /// Let a file take the place of the present one, without losing a packet that has a class
    Apply {
        /// The policy file
        file: PathBuf,
        /// Change a value of the file first, such as policy.access.rate="5 Mbit/s"
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
        #[command(flatten)]
        how: HowArguments,
    },
    /// Change values of the present file
    Set {
        /// Such as policy.access.rate="5 Mbit/s"
        #[arg(required = true, value_name = "KEY=VALUE")]
        values: Vec<String>,
        #[command(flatten)]
        how: HowArguments,
    },
    /// Add a class, a group or a subscriber to the present file
    Add {
        /// What it is
        kind: Kind,
        /// Its table, such as '{ name = "guests", match = [{ source = "10.9.0.0/16" }] }'
        table: String,
        /// The policy, if the file has several
        #[arg(long, value_name = "NAME")]
        policy: Option<String>,
        /// Put it before this one; otherwise it is the last, but for a class that takes what no rule matches
        #[arg(long, value_name = "NAME")]
        before: Option<String>,
        #[command(flatten)]
        how: HowArguments,
    },
    /// Remove a class, a group or a subscriber from the present file
    Remove {
        /// Its name
        name: String,
        /// The policy, if the file has several
        #[arg(long, value_name = "NAME")]
        policy: Option<String>,
        #[command(flatten)]
        how: HowArguments,
    },
    /// Ask for a rate and a bound on the delay; the exit code is 1 if the request is refused
    Reserve {
        /// The name of the reservation, which is that of its class
        name: String,
        /// The rule for its packets, such as '{ destination = "10.0.0.7", destination_port = 5004 }'
        #[arg(long = "match", value_name = "RULE")]
        rule: String,
        /// What it sends in the long run, on the wire
        #[arg(long, value_parser = rate)]
        rate: u64,
        /// The most bytes that come ahead of the rate after a silence, on the wire
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        burst: u64,
        /// The bound on the delay; without it the rate is reserved, and the answer has the bound that follows
        #[arg(long, value_name = "DURATION", value_parser = seconds)]
        delay: Option<f64>,
        /// The policy, if the directions have different ones
        #[arg(long, value_name = "NAME")]
        policy: Option<String>,
        /// Keep the reservation as long as this command runs, and at most 10 s longer
        #[arg(long, conflicts_with = "dry_run")]
        hold: bool,
        /// Only say what would be answered
        #[arg(long)]
        dry_run: bool,
    },
    /// End a reservation
    Release {
        /// Its name
        name: String,
    },
    /// Copy the packets of a class, as they leave or are dropped, into a capture file, or as JSON lines with --json
    Capture(CaptureArguments),
    /// Keep the latest change, which was made with --confirm
    Confirm,
    /// Take the latest change back
    Rollback,
    /// Which rule, class, contract and queue packets of an address, or a whole frame, meet
    Why {
        /// An address: looked up as source and as destination
        #[arg(required_unless_present = "frame", conflicts_with = "frame")]
        address: Option<String>,
        /// A frame from its Ethernet header on, in hexadecimal digits
        #[arg(long, value_name = "HEX")]
        frame: Option<String>,
        /// The number of the protocol
        #[arg(long, value_name = "NUMBER", default_value_t = 6, conflicts_with = "frame")]
        protocol: u8,
        /// The port on the other side
        #[arg(long, value_name = "PORT", conflicts_with = "frame")]
        port: Option<u16>,
        /// The DSCP, as a number
        #[arg(long, value_name = "DSCP", conflicts_with = "frame", value_parser = clap::value_parser!(u8).range(0..64))]
        dscp: Option<u8>,
        /// The length of the frame in bytes, 1514 if it is left out
        #[arg(long, value_name = "BYTES", conflicts_with = "frame")]
        length: Option<u32>,
    },
}

/// What `ctl show` shows.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// What classes got since the start, their rate in the last second, and their delays
    Classes,
    /// What the queues of classes hold
    Queues,
    /// The flows that sent most in the last five seconds
    Flows,
    /// The rules of classes, and what they matched
    Rules,
}

/// What `ctl add` adds.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    Class,
    Group,
    Subscriber,
}

#[derive(Args)]
struct HowArguments {
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    /// Take the change back after this long unless `ctl confirm` comes, such as "60 s"
    #[arg(long, value_name = "DURATION", value_parser = seconds, conflicts_with = "dry_run")]
    confirm: Option<f64>,
}

impl From<&HowArguments> for How {
    fn from(&HowArguments { dry_run, confirm }: &HowArguments) -> How {
        How { dry_run, confirm_s: confirm }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    units::duration(text).map(|time| time.picoseconds() as f64 / 1e12).map_err(|error| error.to_string())
}

fn rate(text: &str) -> Result<u64, String> {
    units::rate(text).map(tidegate_core::units::Rate::bits_per_second)
}

/// The time after which a reservation ends that its command no longer renews.
const LEASE: Duration = Duration::from_secs(10);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut client = Client::connect(&arguments.control, PATIENCE).map_err(|error| unreachable_socket(&arguments.control, &error))?;
    if !matches!(arguments.command, Command::Capture(_)) {
        signals::end_cleanly()?;
    }
    if let Command::Capture(capture) = &arguments.command {
        let ask = |request| client.ask(request).map_err(|error| failure(&arguments.control, error));
        return ctl_capture::run(capture, arguments.json, ask);
    }
    let request = request(&arguments.command)?;
    let watch = matches!(arguments.command, Command::Show { watch: true, .. });
    let hold = matches!(arguments.command, Command::Reserve { hold: true, .. });
    loop {
        let answer = client.ask(request.clone()).map_err(|error| failure(&arguments.control, error))?;
        let text = if arguments.json {
            serde_json::to_string(&answer).map_err(|error| Failure::Defect(error.to_string()))?
        } else {
            shown(&answer)
        };
        print(&text)?;
        if let Answer::Applied(Applied { warnings: Some(warnings), .. }) = &answer {
            log::line(warnings);
        }
        if let Answer::Reserved(reserved) = &answer {
            if reserved.promise.is_none() {
                return Ok(ExitCode::from(1));
            }
            if hold {
                let renew = Request::Renew(Named { name: reserved.name.clone() });
                loop {
                    std::thread::sleep(LEASE / 4);
                    client.ask(renew.clone()).map_err(|error| failure(&arguments.control, error))?;
                }
            }
        }
        if !watch {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn request(command: &Command) -> Result<Request, Failure> {
    Ok(match command {
        Command::Status => Request::Status,
        Command::Show { what, names, most, all, .. } => {
            let asked = AskedClasses { names: names.clone(), most: (!all).then_some(*most) };
            match what {
                What::Classes => Request::Classes(asked),
                What::Queues => Request::Queues(asked),
                What::Flows => Request::Flows(asked),
                What::Rules => Request::Rules(asked),
            }
        }
        Command::Apply { file, set, how } => {
            let FileSet { name, text, files } = crate::check::gather(file, set)?;
            let files = files.iter().map(|(name, text)| (name.clone(), text.to_string())).collect();
            Request::Apply(Apply { name, text: text.to_string(), files, set: set.clone(), how: how.into() })
        }
        Command::Set { values, how } => Request::Set(Set { values: values.clone(), how: how.into() }),
        Command::Add { kind, table, policy, before, how } => {
            let kind = match kind {
                Kind::Class => "class",
                Kind::Group => "group",
                Kind::Subscriber => "subscriber",
            };
            let (policy, before) = (policy.clone(), before.clone());
            Request::Add(Add { kind: kind.to_owned(), table: table.clone(), policy, before, how: how.into() })
        }
        Command::Remove { name, policy, how } => Request::Remove(Remove { name: name.clone(), policy: policy.clone(), how: how.into() }),
        Command::Reserve { name, rule, rate, burst, delay, policy, hold, dry_run } => Request::Reserve(Reserve {
            name: name.clone(),
            rule: rule.clone(),
            rate_bps: *rate,
            burst_bytes: *burst,
            delay_s: *delay,
            policy: policy.clone(),
            lease_s: hold.then_some(LEASE.as_secs_f64()),
            dry_run: *dry_run,
        }),
        Command::Release { name } => Request::Release(Named { name: name.clone() }),
        Command::Capture(_) => unreachable!("a capture asks more than once"),
        Command::Confirm => Request::Confirm,
        Command::Rollback => Request::Rollback,
        Command::Why { address, frame, protocol, port, dscp, length } => Request::Why(AskedWhy {
            address: address.clone(),
            frame: frame.clone(),
            protocol: address.is_some().then_some(*protocol),
            port: *port,
            dscp: *dscp,
            length: *length,
        }),
    })
}

fn unreachable_socket(socket: &Path, error: &std::io::Error) -> Failure {
    let socket = socket.display();
    match error.kind() {
        IoError::NotFound => Failure::BadInput(format!(
            "error: {socket}: there is no such socket\n  start a bridge with `tidegate live ... --control {socket}`, or name the socket of a running one"
        )),
        IoError::ConnectionRefused => Failure::BadInput(format!("error: {socket}: nothing listens there; the bridge has ended")),
        IoError::PermissionDenied => {
            Failure::Environment(format!("error: {socket}: not permitted: the socket is for the user who started the bridge"))
        }
        _ => Failure::Environment(format!("error: {socket}: cannot be reached: {error}")),
    }
}

fn failure(socket: &Path, error: ClientError) -> Failure {
    match error {
        ClientError::Refused(refusal) if matches!(refusal.kind, ErrorKind::BadInput) => Failure::BadInput(refusal.text),
        ClientError::Refused(refusal) => Failure::Environment(refusal.text),
        other => Failure::Environment(format!("error: {}: {other}", socket.display())),
    }
}
