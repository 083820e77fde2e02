//! Lines on standard error, which never end or stall a command.
//!
//! Lines are lost if they cannot be written: on a stopped terminal, a pipe that is not read, a full disk or a closed descriptor. `live` passes
//! its lines to a thread ([`in_background`]) and never waits. Other commands write them, and wait up to 500 ms. Control characters are printed
//! as escapes, except by [`styled`]. For journald every line begins with its priority.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
pub use tidegate_scenario::diagnostic::printable;

/// The capacity of the thread's queue in lines.
const QUEUE_LINES: usize = 256;

/// How long a command other than `live` waits for a slow reader.
const WRITE_LIMIT: Duration = Duration::from_millis(500);

/// The room, in bytes, of a pipe that is ready for writing (POSIX: `PIPE_BUF`).
const PIPE_ROOM: usize = 4096;

/// The thread's queue, and the channel that closes when the thread ends.
static BACKGROUND: Mutex<Option<(SyncSender<String>, Receiver<()>)>> = Mutex::new(None);

/// The number of lines lost: the queue was full, or the line could not be written.
static LOST: AtomicU64 = AtomicU64::new(0);

/// True if journald reads standard error: its device and inode are those that systemd names (systemd.exec(5), `JOURNAL_STREAM`).
static IS_JOURNAL: LazyLock<bool> = LazyLock::new(|| {
    let Ok(named) = std::env::var("JOURNAL_STREAM") else { return false };
    let file = std::io::stderr().as_fd().try_clone_to_owned().map(File::from).and_then(|file| file.metadata());
    file.is_ok_and(|file| named == format!("{}:{}", file.dev(), file.ino()))
});

/// Writes a line, its control characters as escapes.
pub fn line(text: &str) {
    styled(&(printable(text).into_owned() + "\n"));
}

/// Writes text unchanged, including colours and line ends.
pub fn styled(text: &str) {
    match &*background() {
        Some((queue, _)) => {
            if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.try_send(text.to_owned()) {
                LOST.fetch_add(1, Ordering::Relaxed);
            }
        }
        None => write_or_count(text, WRITE_LIMIT),
    }
}

/// Starts a thread that writes the lines until [`finish`]. It has the current rights of its creator.
pub fn in_background() {
    let (queue, lines) = mpsc::sync_channel::<String>(QUEUE_LINES);
    let (ended, has_ended) = mpsc::channel();
    let started = std::thread::Builder::new().name("tidegate-log".into()).spawn(move || {
        let mut reported = 0;
        for text in lines {
            let lost = LOST.load(Ordering::Relaxed);
            // Reports lost lines as soon as the log is read again.
            if lost > reported
                && write(&format!("{} lines of the log were lost, because it was not read\n", lost - reported), Duration::ZERO)
            {
                reported = lost;
            }
            write_or_count(&text, Duration::ZERO);
        }
        let _ = ended.send(());
    });
    // Without a thread, the command writes its lines itself.
    if started.is_ok() {
        *background() = Some((queue, has_ended));
    }
}

/// The number of lines lost so far.
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Ends the thread, which has `limit` to write the lines in its queue.
pub fn finish(limit: Duration) {
    let thread = background().take();
    if let Some((queue, has_ended)) = thread {
        drop(queue);
        // A thread that is stuck ends with the process.
        let _ = has_ended.recv_timeout(limit);
    }
}

fn write_or_count(text: &str, limit: Duration) {
    if !write(text, limit) {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

/// The text with a priority before each line, as journald reads it (sd-daemon(3)): 3 for errors, 4 for warnings, 6 for the rest. Lines that follow an error or
/// a warning in one text belong to it.
fn with_priorities(text: &str) -> String {
    let mut priority = 6;
    let prioritised = |line: &str| {
        if line.starts_with("error") {
            priority = 3;
        } else if line.starts_with("warning") {
            priority = 4;
        }
        format!("<{priority}>{line}")
    };
    text.split_inclusive('\n').map(prioritised).collect()
}

/// Writes `text`, and waits at most `limit` each time there is no room. False if a part was not written.
fn write(text: &str, limit: Duration) -> bool {
    let text = if *IS_JOURNAL { Cow::Owned(with_priorities(text)) } else { Cow::Borrowed(text) };
    // Without the lock of the standard library, which a stalled writer would hold and a panic's message needs.
    let stderr = std::io::stderr();
    let Ok(descriptor) = stderr.as_fd().try_clone_to_owned() else { return false };
    let mut file = File::from(descriptor);
    let timeout = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    for part in text.as_bytes().chunks(PIPE_ROOM) {
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

#[cfg(test)]
mod tests {
    use super::with_priorities;

    #[test]
    fn every_line_has_the_priority_of_its_message() {
        assert_eq!(with_priorities("carrying packets\n"), "<6>carrying packets\n");
        assert_eq!(with_priorities("warning: odd\n --> a.toml:1:1\n"), "<4>warning: odd\n<4> --> a.toml:1:1\n");
        let text = "error[x]: no\n\nwarning: odd\n  help\nerror: no";
        assert_eq!(with_priorities(text), "<3>error[x]: no\n<3>\n<4>warning: odd\n<4>  help\n<3>error: no");
        assert_eq!(with_priorities(""), "");
    }
}
