//! Writes an answer to a client which may read slowly, or not at all.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a blocked write looks at the stop flag.
const LOOK: Duration = Duration::from_millis(500);

/// A stream whose writes can be limited in time.
pub(crate) trait Stream: Write {
    fn limit(&self, time: Duration) -> io::Result<()>;
}

impl Stream for UnixStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(time))
    }
}

impl Stream for TcpStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(time))
    }
}

/// Writes all bytes within `patience`, or half of it once `stop` is set.
///
/// # Errors
/// [`ErrorKind::TimedOut`] if the client has not read them by then; else as [`Write::write`].
pub(crate) fn write_within(stream: &mut impl Stream, mut bytes: &[u8], patience: Duration, stop: &AtomicBool) -> io::Result<()> {
    let deadline = Instant::now() + patience;
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stop.load(Ordering::Relaxed) && left < patience / 2 {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.limit(left.min(LOOK))?;
        match stream.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
