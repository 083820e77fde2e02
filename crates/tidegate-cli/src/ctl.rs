//! `tidegate ctl`: asks and changes a running `tidegate live` through its control socket.

use crate::failure::Failure;
use crate::log;
use crate::present::print;
use clap::{Args, Subcommand};
use std::fmt::Write;
use std::io::ErrorKind as IoError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tidegate_control::protocol::{
    Amount, Applied, Apply, AskedClasses, AskedWhy, ClassStatus, Classes, DelayQuantiles, DirectionApplied, DirectionStatus, How, Met, Set,
    Status, Why,
};
use tidegate_control::{Answer, Client, ClientError, ErrorKind, Request};
use tidegate_report::{format_rate, format_time};
use tidegate_scenario::units;

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
    /// What classes got since the start, and their rate in the last second
    Classes {
        /// Only names that match, such as "home-*"
        names: Option<String>,
        /// At most this many in each direction, those with the highest rate first
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
    },
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

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut client = Client::connect(&arguments.control, PATIENCE).map_err(|error| unreachable_socket(&arguments.control, &error))?;
    let request = request(&arguments.command)?;
    let watch = matches!(arguments.command, Command::Classes { watch: true, .. });
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
        if !watch {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn request(command: &Command) -> Result<Request, Failure> {
    Ok(match command {
        Command::Status => Request::Status,
        Command::Classes { names, most, all, .. } => Request::Classes(AskedClasses { names: names.clone(), most: (!all).then_some(*most) }),
        Command::Apply { file, set, how } => {
            let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, "read", &error))?;
            Request::Apply(Apply { name: file.display().to_string(), text, set: set.clone(), how: how.into() })
        }
        Command::Set { values, how } => Request::Set(Set { values: values.clone(), how: how.into() }),
        Command::Confirm => Request::Confirm,
        Command::Rollback => Request::Rollback,
        Command::Why { address, frame, protocol, port, dscp } => Request::Why(AskedWhy {
            address: address.clone(),
            frame: frame.clone(),
            protocol: address.is_some().then_some(*protocol),
            port: *port,
            dscp: *dscp,
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

/// An answer as text.
fn shown(answer: &Answer) -> String {
    let text = match answer {
        Answer::Status(status) => status_text(status),
        Answer::Classes(classes) => classes_text(classes),
        Answer::Applied(applied) => applied_text(applied),
        Answer::Confirmed => "confirmed: the change stays".to_owned(),
        Answer::Why(why) => why_text(why),
        _ => "an answer that this version does not know; --json shows it".to_owned(),
    };
    text.trim_end().to_owned()
}

fn status_text(status: &Status) -> String {
    let mut text = format!("tidegate {}, up {}, {}\n", status.program, format_time(status.uptime_s), log::printable(&status.file));
    let _infallible = match status.changes {
        0 => writeln!(text, "no changes so far"),
        changes => writeln!(text, "{changes} changes so far"),
    };
    if let Some(left) = status.to_confirm_s {
        let _infallible = writeln!(text, "the latest change is taken back in {} unless `ctl confirm` comes", format_time(left));
    }
    status.warnings.iter().for_each(|warning| _ = writeln!(text, "{}", log::printable(warning)));
    for direction in &status.directions {
        let DirectionStatus { from, to, policy, rate_bps, classes, receiving, sending, .. } = direction;
        let _infallible = writeln!(text, "\n{from} -> {to}: policy `{policy}`, {}, {classes} classes", format_rate(*rate_bps as f64));
        for (name, up) in [(from, receiving), (to, sending)].into_iter().filter(|(_, up)| !**up) {
            let _infallible = writeln!(text, "  {name} is down (up: {up})");
        }
        let mut rows = vec![
            ("received", direction.received),
            ("delivered", direction.delivered),
            ("queued", direction.queued),
            ("in flight", direction.in_flight),
        ];
        rows.extend(direction.dropped.iter().map(|(reason, amount)| (reason.as_str(), *amount)));
        let (kept, dropped) = rows.split_at(4);
        kept.iter().for_each(|(name, amount)| line(&mut text, name, *amount));
        dropped.iter().for_each(|(name, amount)| line(&mut text, &format!("dropped: {name}"), *amount));
        if direction.ecn_marked > 0 {
            let _infallible = writeln!(text, "  {:<28} {:>12} packets", "marked (CE)", direction.ecn_marked);
        }
        if direction.lost_in_kernel > 0 {
            let _infallible = writeln!(text, "  {:<28} {:>12} frames, in no other figure", "lost in the kernel", direction.lost_in_kernel);
        }
    }
    let clients = &status.clients;
    let _infallible = writeln!(
        text,
        "\nclients: {} now, {} connections, {} requests answered, {} refused; closed: {} for too many, {} over a limit, {} idle",
        clients.connected, clients.accepted, clients.answered, clients.refused, clients.too_many, clients.over_limit, clients.idle
    );
    let pages = &status.pages;
    let _infallible = writeln!(
        text,
        "pages: {} served, {} refused; closed: {} for too many, {} over a limit, {} broken off",
        pages.served, pages.refused, pages.too_many, pages.over_limit, pages.broken
    );
    text
}

fn line(text: &mut String, name: &str, Amount { packets, bytes }: Amount) {
    let _infallible = writeln!(text, "  {name:<28} {packets:>12} packets {bytes:>15} bytes");
}

fn classes_text(classes: &Classes) -> String {
    let mut text = String::new();
    for direction in &classes.directions {
        let _infallible = writeln!(text, "{} -> {} (rates over {})", direction.from, direction.to, format_time(classes.rates_over_s));
        let width = direction.classes.iter().map(|class| class.name.chars().count()).max().unwrap_or(0).max(5);
        let _infallible = writeln!(
            text,
            "  {:<width$} {:>13} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9}  guaranteed",
            "class", "rate", "sent", "dropped", "queued", "p50", "p99", "max"
        );
        for class in &direction.classes {
            let ClassStatus { name, rate_bps, sent, queued, dropped, delay, guarantee, .. } = class;
            let dropped: u64 = dropped.values().map(|amount| amount.packets).sum();
            let delays = delay.map_or(["-".to_owned(), "-".to_owned(), "-".to_owned()], |DelayQuantiles { p50_s, p99_s, max_s }| {
                [p50_s, p99_s, max_s].map(format_time)
            });
            let [p50, p99, max] = delays;
            let _infallible = writeln!(
                text,
                "  {:<width$} {:>13} {:>10} {dropped:>10} {:>9} {p50:>9} {p99:>9} {max:>9}  {guarantee}",
                log::printable(name),
                format_rate(*rate_bps),
                sent.packets,
                queued.packets
            );
        }
        if direction.left_out > 0 {
            let _infallible = writeln!(text, "  and {} more with lower rates (--most N, --all)", direction.left_out);
        }
        text.push('\n');
    }
    text
}

fn applied_text(applied: &Applied) -> String {
    const SHOWN: usize = 20;
    let mut text = if applied.dry_run { "nothing was changed; this would be:\n".to_owned() } else { String::new() };
    for direction in &applied.directions {
        let DirectionApplied { from, to, added, removed, changed, same, queues } = direction;
        let _infallible = writeln!(text, "{from} -> {to}: {same} classes as before");
        for (verb, names) in
            [("added", added), ("removed", removed), ("changed", changed)].into_iter().filter(|(_, names)| !names.is_empty())
        {
            let rest = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
            let names: Vec<_> = names.iter().take(SHOWN).map(|name| log::printable(name)).collect();
            let _infallible = writeln!(text, "  {verb}: {}{rest}", names.join(", "));
        }
        if let Some(queues) = queues {
            let _infallible = writeln!(
                text,
                "  of the queued packets {} stayed, {} moved, {} were dropped; the port stood still for {}",
                queues.kept.packets,
                queues.moved.packets,
                queues.dropped.packets,
                format_time(queues.gap_s)
            );
        }
    }
    if let Some(time) = applied.to_confirm_s {
        let _infallible = writeln!(text, "taken back in {} unless `ctl confirm` comes", format_time(time));
    }
    text
}

fn why_text(why: &Why) -> String {
    let mut text = String::new();
    for Met { from, to, packet, class, rule, queue: [queue, queues], groups, contract, queued, dropped, delay } in &why.packets {
        let _infallible = writeln!(text, "{from} -> {to}: {packet}");
        let rule = rule.as_deref().map_or("no rule matches, and the class takes the rest".to_owned(), |rule| format!("rule {rule}"));
        let _infallible = writeln!(text, "  class `{}`: {rule}", log::printable(class));
        groups.iter().for_each(|group| _ = writeln!(text, "  below {group}"));
        let _infallible = writeln!(text, "  {}", contract.join(", "));
        if *queues > 1 {
            let _infallible = writeln!(text, "  queue {queue} of {queues}");
        }
        let dropped: Vec<String> = dropped.iter().map(|(reason, amount)| format!("{} {reason}", amount.packets)).collect();
        let dropped = if dropped.is_empty() { "none".to_owned() } else { dropped.join(", ") };
        let delay = delay.map_or_else(
            || "no packet sent yet".to_owned(),
            |DelayQuantiles { p50_s, p99_s, max_s }| {
                format!(
                    "delays {} in the median, {} at the 99th percentile, {} at most",
                    format_time(p50_s),
                    format_time(p99_s),
                    format_time(max_s)
                )
            },
        );
        let _infallible = writeln!(text, "  waiting now: {} packets; dropped: {dropped}; {delay}\n", queued.packets);
    }
    text
}
