//! `live --fail-open`: a guardian starts the bridge as a process of its own, and carries frames in its place while it has failed.
//!
//! The guardian is the process that the user starts. It passes signals on to the bridge, and ends with its exit code.

use crate::failure::Failure;
use crate::log;
use crate::signals;
use crate::supervision;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};
use tidegate_live::{Carried, Guardian, Heartbeat, Look};

/// The variable with the number of the descriptor that a bridge inherits from its guardian.
const HEARTBEAT: &str = "TIDEGATE_HEARTBEAT";

/// The wait before a failed bridge is started again. It doubles, up to the second, when the bridge fails within as long as the wait was.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How often the watchdog is fed in place of the bridge.
const FEEDING: Duration = Duration::from_secs(1);

/// The time for the last lines of the log at the end.
const LOG_FLUSH_LIMIT: Duration = Duration::from_millis(300);

/// The page of the guardian that started this process, if one did.
pub fn heartbeat() -> Result<Option<Heartbeat>, Failure> {
    let Some(number) = std::env::var_os(HEARTBEAT) else { return Ok(None) };
    let inherited = number.to_str().and_then(|number| number.parse().ok()).ok_or_else(|| std::io::ErrorKind::InvalidInput.into());
    inherited.and_then(Heartbeat::inherited).map(Some).map_err(|error| {
        Failure::BadInput(format!(
            "error: {HEARTBEAT}: no page of a guardian is inherited: {error}\n  unset it: `tidegate live --fail-open` sets it itself"
        ))
    })
}

/// True if a guardian has started this process.
pub fn is_guarded() -> bool {
    std::env::var_os(HEARTBEAT).is_some()
}

/// Starts the bridge that the command line asks for, and guards it until it ends.
pub fn guard(pairs: &[[String; 2]]) -> Result<ExitCode, Failure> {
    let environment = |what: &str, error: &dyn std::fmt::Display| Failure::Environment(format!("error: --fail-open: {what}: {error}"));
    if pairs.len() * 2 > Heartbeat::DIRECTIONS {
        let most = Heartbeat::DIRECTIONS / 2;
        return Err(Failure::BadInput(format!("error: --fail-open guards at most {most} pairs of interfaces\n  use several processes")));
    }
    let heartbeat = Heartbeat::new().map_err(|error| environment("no memory to share with the bridge", &error))?;
    let mut guardian = Guardian::open(pairs, heartbeat.clone())?;
    let forwarded = signals::forwarded()?;
    log::in_background();
    if let Err(error) = Guardian::come_first() {
        log::line(&format!("warning: the guardian has no real-time priority ({error}), so it may be late on a busy machine"));
    }
    let mut pause = FIRST_PAUSE;
    let mut was_ready = false;
    loop {
        let mut bridge = start(&heartbeat).map_err(|error| environment("the bridge cannot be started", &error))?;
        forwarded.to(Some(bridge.id()));
        let started = Instant::now();
        let status = watch(&mut guardian, &mut bridge, &heartbeat, &mut was_ready)?;
        forwarded.to(None);
        if !was_ready || forwarded.is_stopped() || !has_failed(status) && heartbeat.was_ready() {
            log::finish(LOG_FLUSH_LIMIT);
            return Ok(exit_code(status));
        }
        if heartbeat.was_ready() && started.elapsed() > pause {
            pause = FIRST_PAUSE;
        }
        guardian.take_over();
        let how = ended(status);
        log::line(&format!("error: the bridge {how}: packets pass unshaped, and it is started again in {} s", pause.as_secs()));
        supervision::status(&format!("failed open: the bridge {how}, and packets pass unshaped"));
        guardian.expect_another();
        let again = Instant::now() + pause;
        let mut fed = Instant::now();
        while Instant::now() < again {
            if forwarded.is_stopped() {
                log::finish(LOG_FLUSH_LIMIT);
                return Err(Failure::Environment(format!("error: stopped while the bridge was not there: it {how}")));
            }
            tell(&guardian.look());
            feed(&mut fed);
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The bridge, as this process was started.
fn start(heartbeat: &Heartbeat) -> std::io::Result<Child> {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let mut command = Command::new("/proc/self/exe");
    command.arg0(name).args(arguments).env(HEARTBEAT, heartbeat.descriptor().as_raw_fd().to_string());
    // The bridge feeds the watchdog in place of the process that the service manager has started.
    command.env_remove("WATCHDOG_PID");
    // Signals of a terminal come to the guardian, which passes them on.
    command.process_group(0).spawn()
}

/// Carries what the bridge does not, until it ends.
fn watch(guardian: &mut Guardian, bridge: &mut Child, heartbeat: &Heartbeat, was_ready: &mut bool) -> Result<ExitStatus, Failure> {
    let mut is_killed = false;
    let mut fed = Instant::now();
    loop {
        let look = guardian.look();
        tell(&look);
        if look.is_stuck && !is_killed {
            log::line("error: the bridge does not answer, and is ended");
            // It may have ended by itself.
            let _has_ended = bridge.kill();
            is_killed = true;
        }
        *was_ready |= heartbeat.was_ready();
        if *was_ready && !heartbeat.was_ready() {
            feed(&mut fed);
        }
        let ended = bridge.try_wait();
        if let Some(status) =
            ended.map_err(|error| Failure::Environment(format!("error: --fail-open: the bridge cannot be watched: {error}")))?
        {
            return Ok(status);
        }
    }
}

/// Feeds the watchdog while there is no bridge that does.
fn feed(fed: &mut Instant) {
    if fed.elapsed() >= FEEDING {
        supervision::alive();
        *fed = Instant::now();
    }
}

fn tell(look: &Look) {
    for name in &look.taken_over {
        log::line(&format!("error: {name}: the bridge does not answer, and packets pass unshaped"));
        supervision::status("failed open: the bridge does not answer, and packets pass unshaped");
    }
    for (name, Carried { sent, lost }) in &look.given_back {
        let lost = if lost.packets > 0 { format!(", and {} were lost", lost.packets) } else { String::new() };
        log::line(&format!(
            "{name}: the bridge carries packets again; {} frames ({} bytes) had passed unshaped{lost}",
            sent.packets, sent.bytes
        ));
        supervision::status("packets are carried");
    }
}

/// True if the bridge did not end because it was told to.
fn has_failed(status: ExitStatus) -> bool {
    match status.code() {
        Some(code) => code == 101,
        None => !matches!(status.signal(), Some(signal_hook::consts::SIGINT | signal_hook::consts::SIGTERM)),
    }
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("ended by signal {}", signal.unwrap_or_default()),
    }
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(101);
    ExitCode::from(u8::try_from(code).unwrap_or(101))
}
