//! What `live` tells the service manager that started it (systemd's `sd_notify` protocol), and the watchdog.
//!
//! | message | when |
//! |---|---|
//! | READY=1 | all interfaces are open, and packets are carried |
//! | WATCHDOG=1 | the threads of all directions have answered since the message before |
//! | RELOADING=1, then READY=1 | a hang-up applies the file anew |
//! | MAINPID=n | another process takes over |
//! | STOPPING=1 | no more packets are read, and the queues are emptied |
//!
//! Without a service manager (`NOTIFY_SOCKET`) nothing is sent and no thread is started.

use sd_notify::NotifyState;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tidegate_live::{Control, ControlError};

/// How often the end and the stop are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// True if a service manager waits for messages.
pub fn is_supervised() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

/// The watchdog that the service manager has set: messages come more often than that.
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

/// Packets are carried, or the file has been applied.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The interfaces of one more pair are open, of those that are `starting`: with the last, the bridge is ready. True then.
pub fn one_is_ready(starting: &AtomicUsize) -> bool {
    let is_last = starting.fetch_sub(1, Ordering::Relaxed) == 1;
    if is_last {
        ready();
    }
    is_last
}

/// Another process is the service from now on.
pub fn followed_by(process: u32) {
    tell(&[NotifyState::MainPid(process)]);
}

/// What is shown beside the state of the service.
pub fn status(text: &str) {
    tell(&[NotifyState::Status(text)]);
}

/// Feeds the watchdog in place of a bridge that is not there.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// The file is being applied anew, until [`ready`].
pub fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// Says that `stop` is set, and feeds the watchdog if there is one, until `is_over`.
///
/// A direction that is stuck does not answer. This thread then waits for it, so that the watchdog runs out and the manager starts the bridge anew. The
/// directions answer nothing while they empty their queues, which takes no longer than `--drain`.
pub fn supervise(
    controls: &[Control],
    limit: Option<Duration>,
    (stop, is_followed): (&AtomicBool, &AtomicBool),
    is_over: impl Fn() -> bool,
) {
    let directions = controls.iter().flat_map(|control| [(control, 0), (control, 1)]);
    let answers = || directions.clone().all(|(control, direction)| matches!(control.counters(direction), Ok(_) | Err(ControlError::Ended)));
    watch(limit, answers, stop, is_over, |state| {
        // The service goes on in another process.
        if !is_followed.load(Ordering::Relaxed) {
            tell(state);
        }
    });
}

fn watch(
    limit: Option<Duration>,
    answers: impl Fn() -> bool,
    stop: &AtomicBool,
    is_over: impl Fn() -> bool,
    mut tell: impl FnMut(&[NotifyState<'_>]),
) {
    let (mut due, mut is_stopping) = (Instant::now(), false);
    while !is_over() {
        if !is_stopping && stop.load(Ordering::Relaxed) {
            is_stopping = true;
            tell(&[NotifyState::Stopping]);
        }
        if let Some(limit) = limit
            && Instant::now() >= due
            && answers()
        {
            tell(&[NotifyState::Watchdog]);
            // Three messages fit into the limit, so that one that is late does no harm.
            due = Instant::now() + limit / 3;
        }
        thread::sleep(LOOK);
    }
    // Empty queues end a bridge before the next look.
    if !is_stopping {
        tell(&[NotifyState::Stopping]);
    }
}

/// A manager that cannot be reached is no reason to stop.
fn tell(state: &[NotifyState<'_>]) {
    let _not_told = sd_notify::notify(state);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The messages of a run that is over after this many looks, of which the watchdog sees `answers`.
    fn messages(limit: Option<Duration>, looks: u32, answers: impl Fn() -> bool, stop: bool) -> Vec<String> {
        let (left, mut told) = (Cell::new(looks), Vec::new());
        let is_over = || left.replace(left.get().saturating_sub(1)) == 0;
        watch(limit, answers, &AtomicBool::new(stop), is_over, |state| told.extend(state.iter().map(ToString::to_string)));
        told
    }

    #[test]
    fn the_watchdog_is_fed_only_while_the_directions_answer() {
        let always = Some(Duration::ZERO);
        let (fed, stopped) = ("WATCHDOG=1", "STOPPING=1");
        assert_eq!(messages(always, 2, || true, false), [fed, fed, stopped]);
        assert_eq!(messages(always, 2, || false, false), [stopped]);
        let asked = Cell::new(0);
        let once = || asked.replace(asked.get() + 1) == 0;
        assert_eq!(messages(always, 3, once, false), [fed, stopped]);
        assert_eq!(messages(None, 3, || unreachable!("there is no watchdog"), false), [stopped]);
    }

    #[test]
    fn the_watchdog_is_fed_three_times_within_its_limit_and_not_at_every_look() {
        assert_eq!(messages(Some(Duration::from_secs(3600)), 4, || true, false), ["WATCHDOG=1", "STOPPING=1"]);
    }

    #[test]
    fn the_stop_is_said_once() {
        assert_eq!(messages(None, 4, || true, true), ["STOPPING=1"]);
    }
}
