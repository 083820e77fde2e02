//! Signals: a command that is told to end removes its unfinished files first; `live` stops and reports.
//!
//! | signal | every command | `live` |
//! |---|---|---|
//! | SIGINT, SIGTERM | removes unfinished files, ends by the signal | stops and reports; another one, at least a second later, ends it at once |
//! | SIGHUP | as above | applies its file anew and carries on; log and report say so |
//!
//! A signal that is ignored at the start, such as SIGHUP under `nohup`, stays ignored, except in `live`.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[cfg(all(feature = "live", target_os = "linux"))]
mod forwarding;

#[cfg(all(feature = "live", target_os = "linux"))]
pub use forwarding::forwarded;

/// Signals within this time are one request to stop: `timeout` signals the command and then its group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Makes the first of these signals end the command.
pub fn end_cleanly() -> Result<(), Failure> {
    listen([SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)), end)
}

/// The requests that `live` gets by signals.
#[derive(Clone, Default)]
pub struct Requests {
    /// Set when it is to stop.
    pub stop: Arc<AtomicBool>,
    /// The number of hang-ups.
    pub hang_ups: Arc<AtomicU64>,
}

/// Turns signals into requests, in a thread with the current rights of its creator.
pub fn requests() -> Result<Requests, Failure> {
    let requests = Requests::default();
    let shared = requests.clone();
    let mut asked: Option<Instant> = None;
    listen([SIGINT, SIGTERM, SIGHUP], move |signal| {
        if signal == SIGHUP {
            shared.hang_ups.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if asked.get_or_insert_with(Instant::now).elapsed() > ONE_REQUEST {
            end(signal);
        }
        shared.stop.store(true, Ordering::Relaxed);
    })?;
    Ok(requests)
}

fn end(signal: i32) {
    tidegate_report::remove_unfinished();
    let _default = emulate_default_handler(signal);
    // Reached only if the default action did not end the process.
    std::process::exit(128 + signal);
}

fn listen(signals: impl IntoIterator<Item = i32>, mut act: impl FnMut(i32) + Send + 'static) -> Result<(), Failure> {
    let failed = |error| Failure::Environment(format!("error: signals cannot be caught: {error}"));
    let mut signals = Signals::new(signals).map_err(failed)?;
    let thread = std::thread::Builder::new().name("tidegate-signal".into());
    thread.spawn(move || signals.forever().for_each(&mut act)).map_err(failed)?;
    Ok(())
}

/// True if the process was started with this signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
