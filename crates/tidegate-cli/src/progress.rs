//! Progress on the terminal: nothing for work that is done within a second, a bar for anything longer.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A bar that appears on standard error after a second, if that is a terminal.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Progress {
    /// A bar for work that counts from 0 to `total`; `template` is indicatif's.
    pub fn new(total: u64, template: &str) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Progress { bar, started: Instant::now(), shown: AtomicBool::new(false) }
    }

    /// Work stands at `position`.
    pub fn at(&self, position: u64) {
        if !self.shown.load(Ordering::Relaxed) && self.started.elapsed() > Duration::from_secs(1) && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            self.shown.store(true, Ordering::Relaxed);
        }
        self.bar.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
