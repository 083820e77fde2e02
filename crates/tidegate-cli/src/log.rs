//! Lines on standard error, which never end, stall or spoil a command.
//!
//! A line is written only as far as the other end takes it: a terminal that was stopped, a pipe that is not read, a full disk or a closed
//! descriptor loses lines, and nothing waits for it. `live` hands its lines to a thread ([`in_background`]); every other command writes them
//! itself. Control characters in a line are printed as escapes; [`styled`] is for text that was drawn here.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
pub use tidegate_scenario::diagnostic::printable;

/// Lines that may wait for the thread.
const WAITING: usize = 256;

/// How long a command waits for a reader that is slow; `live` waits for none.
const PATIENCE: Duration = Duration::from_millis(500);

/// A pipe that can be written to has room for this many bytes (POSIX: `PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// The thread's queue, and what tells that the thread has ended.
static BACKGROUND: Mutex<Option<(SyncSender<String>, Receiver<()>)>> = Mutex::new(None);

/// Lines that were lost because the thread's queue was full, or because the other end did not take them.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Writes a line, its control characters as escapes.
pub fn line(text: &str) {
    styled(&(printable(text).into_owned() + "\n"));
}

/// Writes text as it is, with the colours and line ends that it holds.
pub fn styled(text: &str) {
    match &*background() {
        Some((queue, _)) => {
            if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.try_send(text.to_owned()) {
                LOST.fetch_add(1, Ordering::Relaxed);
            }
        }
        None => write_or_count(text, PATIENCE),
    }
}

/// From here on a thread writes the lines, until [`finish`]. The thread has the rights that its creator has now.
pub fn in_background() {
    let (queue, lines) = mpsc::sync_channel::<String>(WAITING);
    let (ended, has_ended) = mpsc::channel();
    let started = std::thread::Builder::new().name("tidegate-log".into()).spawn(move || {
        let mut told = 0;
        for text in lines {
            let lost = LOST.load(Ordering::Relaxed);
            // Of lines that were lost it tells as soon as it is read again.
            if lost > told && write(&format!("{} lines of the log were lost, because it was not read\n", lost - told), Duration::ZERO) {
                told = lost;
            }
            write_or_count(&text, Duration::ZERO);
        }
        let _nobody_waits = ended.send(());
    });
    // Without a thread lines are written as before.
    if started.is_ok() {
        *background() = Some((queue, has_ended));
    }
}

/// The number of lines that were lost so far.
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Ends the thread, which has this long to write what waits.
pub fn finish(patience: Duration) {
    let thread = background().take();
    if let Some((queue, has_ended)) = thread {
        drop(queue);
        // A thread that the other end keeps waiting ends with the process.
        let _ended_or_not = has_ended.recv_timeout(patience);
    }
}

fn write_or_count(text: &str, patience: Duration) {
    if !write(text, patience) {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes what the other end takes, waiting at most `patience` each time it is full. False if something was not written.
fn write(text: &str, patience: Duration) -> bool {
    // Past the lock of the standard library, which a stalled writer would hold, also against a panic's message.
    let stderr = std::io::stderr();
    let Ok(descriptor) = stderr.as_fd().try_clone_to_owned() else { return false };
    let mut file = File::from(descriptor);
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    for part in text.as_bytes().chunks(AT_ONCE) {
        let mut entry = [PollFd::new(&file, PollFlags::OUT)];
        let ready = poll(&mut entry, Some(&timeout)).is_ok() && entry[0].revents().contains(PollFlags::OUT);
        if !ready || file.write_all(part).is_err() {
            return false;
        }
    }
    true
}

fn background() -> MutexGuard<'static, Option<(SyncSender<String>, Receiver<()>)>> {
    BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner)
}
