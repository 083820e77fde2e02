//! Progress on the terminal: nothing for work that is done within a second, a bar for anything longer.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work that is done within this time shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears on standard error after a second, if that is a terminal, however seldom the work reports its position.
pub struct Progress {
    bar: ProgressBar,
    /// Ends the thread that waits for the second to pass.
    done: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Progress {
    /// A bar for work that counts from 0 to `total`; `template` is indicatif's, with `{left}` for the time that is left.
    pub fn new(total: u64, template: &str) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─").with_key("left", left));
        }
        let (done, is_done) = mpsc::channel::<()>();
        let shown = bar.clone();
        let waiting = std::io::stderr().is_terminal().then(|| {
            std::thread::spawn(move || {
                if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    shown.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
                    shown.enable_steady_tick(Duration::from_millis(200));
                }
            })
        });
        Progress { bar, done: Some(done), waiting }
    }

    /// Sets the position of the work.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
    }
}

/// The time that is left, once it can be estimated.
fn left(state: &ProgressState, text: &mut dyn Write) {
    if state.pos() > 0 {
        let _ = write!(text, "{:#} left", HumanDuration(state.eta()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(waiting) = self.waiting.take() {
            // The thread does nothing that can panic.
            let _ended = waiting.join();
        }
        self.bar.finish_and_clear();
    }
}
