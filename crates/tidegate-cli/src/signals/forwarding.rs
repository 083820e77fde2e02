//! Signals that are passed on to another process.

use super::listen;
use crate::failure::Failure;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The process that signals are passed on to.
#[derive(Clone, Default)]
pub struct Forwarded {
    process: Arc<AtomicU32>,
    stopped: Arc<AtomicBool>,
}

impl Forwarded {
    /// From now on to this process, or to none.
    pub fn to(&self, process: Option<u32>) {
        self.process.store(process.unwrap_or(0), Ordering::SeqCst);
    }

    /// Whether a signal has asked for the end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Passes signals on, in a thread with the current rights of its creator.
pub fn forwarded() -> Result<Forwarded, Failure> {
    let forwarded = Forwarded::default();
    let Forwarded { process, stopped } = forwarded.clone();
    listen([SIGINT, SIGTERM, SIGHUP], move |signal| {
        if signal != SIGHUP {
            stopped.store(true, Ordering::Relaxed);
        }
        let process = i32::try_from(process.load(Ordering::SeqCst)).ok().and_then(Pid::from_raw);
        if let (Some(process), Some(signal)) = (process, Signal::from_named_raw(signal)) {
            // It may have ended by itself.
            let _has_ended = kill_process(process, signal);
        }
    })?;
    Ok(forwarded)
}
