//! Accepts connections, reads lines within limits, and asks a handler.
//!
//! Each connection has a thread with a small stack. What a client may use up is limited ([`Limits`]), and every limit that was reached is counted.

use crate::protocol::{Answer, Answered, ClientCounts, ErrorKind, Refusal, Request, TakeOver};
use crate::writing::write_within;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind as IoError, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What clients may use up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: u64,
    /// The bytes of a line.
    pub line: usize,
    /// The bytes of all lines that are being received at a time.
    pub memory: u64,
    /// The time from the first byte of a line to its last, and for an answer to be read.
    pub patience: Duration,
    /// The time between an answer and the next line.
    pub idle: Duration,
    /// How often a client that waits for a change is told that the server works on it: by a space before the answer.
    pub sign: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 64,
            line: 64 << 20,
            memory: 128 << 20,
            patience: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            sign: Duration::from_secs(5),
        }
    }
}

/// The counters of a server.
#[derive(Debug, Default)]
pub struct Tally {
    connected: AtomicU64,
    accepted: AtomicU64,
    answered: AtomicU64,
    refused: AtomicU64,
    too_many: AtomicU64,
    over_limit: AtomicU64,
    idle: AtomicU64,
    defects: AtomicU64,
    /// Bytes of lines that are being received.
    received: AtomicU64,
}

impl Tally {
    /// The counts so far.
    pub fn counts(&self) -> ClientCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClientCounts {
            connected: read(&self.connected),
            accepted: read(&self.accepted),
            answered: read(&self.answered),
            refused: read(&self.refused),
            too_many: read(&self.too_many),
            over_limit: read(&self.over_limit),
            idle: read(&self.idle),
            defects: read(&self.defects),
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A bound socket. The file is removed when this is dropped.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file.
    identity: (u64, u64),
    /// Another process listens from now on.
    is_left: AtomicBool,
}

impl Server {
    /// Binds a socket at `path`, for the user of this process alone. A socket that a dead process has left there is replaced; anything else is not.
    ///
    /// # Errors
    /// As [`UnixListener::bind`]; [`io::ErrorKind::AddrInUse`] if a process listens there.
    pub fn bind(path: &Path) -> io::Result<Server> {
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::new(IoError::AlreadyExists, "there is a file of this name, and it is no socket"));
            }
            Ok(_) => match UnixStream::connect(path) {
                Err(error) if error.kind() == IoError::ConnectionRefused => fs::remove_file(path)?,
                _ => return Err(io::Error::new(IoError::AddrInUse, "another process listens there")),
            },
            Err(_) => {}
        }
        // Bound under another name and renamed, so that the socket is never open to others.
        let hidden = path.with_file_name(format!(".{}.{}", path.file_name().unwrap_or_default().to_string_lossy(), std::process::id()));
        let listener = UnixListener::bind(&hidden)?;
        let named = fs::set_permissions(&hidden, Permissions::from_mode(0o600)).and_then(|()| fs::rename(&hidden, path));
        if let Err(error) = named {
            let _hidden_stays = fs::remove_file(&hidden);
            return Err(error);
        }
        let file = fs::symlink_metadata(path)?;
        Ok(Server { listener, path: path.to_owned(), identity: (file.dev(), file.ino()), is_left: AtomicBool::new(false) })
    }

    /// The socket that another process has bound at `path`.
    ///
    /// # Errors
    /// There is no such file any more.
    pub fn inherited(listener: OwnedFd, path: &Path) -> io::Result<Server> {
        // Clients that ask the kernel who is there are told of this process from now on.
        rustix::net::listen(&listener, 128)?;
        let file = fs::symlink_metadata(path)?;
        let identity = (file.dev(), file.ino());
        Ok(Server { listener: listener.into(), path: path.to_owned(), identity, is_left: AtomicBool::new(false) })
    }

    /// The socket, for a process that goes on with it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Another process goes on with the socket: this one accepts no more clients, and leaves the file.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// Opens the socket to the group of its file, too: that of this process, unless its folder says otherwise.
    ///
    /// # Errors
    /// As [`fs::set_permissions`].
    pub fn share_with_group(&self) -> io::Result<()> {
        fs::set_permissions(&self.path, Permissions::from_mode(0o660))
    }

    /// Answers until `stop` is set, and gives connections of processes that take over to `take_over`; then returns when the last connection has ended, at most half a second later for those that wait.
    pub fn serve(
        &self,
        limits: Limits,
        tally: &Arc<Tally>,
        stop: &AtomicBool,
        handler: impl Fn(Request) -> Result<Answer, Refusal> + Sync,
        take_over: impl Fn(TakeOver, UnixStream) + Sync,
    ) {
        let (handler, take_over) = (&handler, &take_over);
        if self.listener.set_nonblocking(true).is_err() {
            return;
        }
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) && !self.is_left.load(Ordering::Relaxed) {
                let Ok((stream, _)) = self.listener.accept() else {
                    thread::sleep(Duration::from_millis(20));
                    continue;
                };
                count(&tally.accepted);
                if tally.connected.load(Ordering::Relaxed) >= limits.connections {
                    count(&tally.too_many);
                    let text = format!("error: {} clients are connected, which is the most", limits.connections);
                    let _gone = Connection { stream, limits, stop, tally, held: 0 }.say(Err(Refusal::new(ErrorKind::Limit, text)));
                    continue;
                }
                count(&tally.connected);
                let start = thread::Builder::new().name("tidegate-ctl".into()).stack_size(1 << 20).spawn_scoped(scope, move || {
                    Connection { stream, limits, stop, tally, held: 0 }.talk(handler, take_over);
                    tally.connected.fetch_sub(1, Ordering::Relaxed);
                });
                if start.is_err() {
                    count(&tally.too_many);
                    tally.connected.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Another process may have put its own there.
        let is_ours = !self.is_left.load(Ordering::Relaxed);
        if is_ours && fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.identity) {
            let _stays = fs::remove_file(&self.path);
        }
    }
}

/// Why no further line is read.
enum End {
    Closed,
    Idle,
    TooLong,
    NoMemory,
    TooSlow,
}

/// One client.
struct Connection<'a> {
    stream: UnixStream,
    limits: Limits,
    stop: &'a AtomicBool,
    tally: &'a Tally,
    /// Its part of the bytes that are being received.
    held: u64,
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        self.tally.received.fetch_sub(self.held, Ordering::Relaxed);
    }
}

impl Connection<'_> {
    fn talk(mut self, handler: &impl Fn(Request) -> Result<Answer, Refusal>, take_over: &impl Fn(TakeOver, UnixStream)) {
        let (tally, Limits { line, patience, .. }) = (self.tally, self.limits);
        let mut buffer = Vec::new();
        loop {
            let asked = match self.line(&mut buffer) {
                Ok(asked) => asked,
                Err(End::Closed) => return,
                Err(End::Idle) => return count(&tally.idle),
                Err(end) => {
                    count(&tally.over_limit);
                    let text = match end {
                        End::TooLong => format!("error: a line has at most {line} bytes"),
                        End::NoMemory => "error: other clients send long lines at the moment; ask again".to_owned(),
                        _ => format!("error: a line has to arrive within {} s", patience.as_secs_f64()),
                    };
                    let _gone = self.say(Err(Refusal::new(ErrorKind::Limit, text)));
                    return;
                }
            };
            // A panic is a defect, which must not end the bridge; the hook has printed it.
            let read = Request::read(&asked);
            if let Ok(Request::TakeOver(asked)) = read {
                count(&tally.answered);
                if let Ok(stream) = self.stream.try_clone()
                    && catch_unwind(AssertUnwindSafe(|| take_over(asked, stream))).is_err()
                {
                    let _gone = self.say(Err(self.defect()));
                }
                return;
            }
            let answer = read.and_then(|request| {
                let changes = request.changes();
                let work = || catch_unwind(AssertUnwindSafe(|| handler(request))).unwrap_or_else(|_| Err(self.defect()));
                if changes { self.with_signs(work) } else { work() }
            });
            count(if answer.is_ok() { &tally.answered } else { &tally.refused });
            drop(asked);
            if self.say(answer).is_err() {
                return;
            }
        }
    }

    /// Does work that may take long, and meanwhile sends signs of it.
    fn with_signs<T>(&self, work: impl FnOnce() -> T) -> T {
        let (done, is_done) = channel::<()>();
        let (mut stream, sign) = (&self.stream, self.limits.sign);
        thread::scope(|scope| {
            let signs = move || {
                let is_ready = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(Duration::from_millis(100))));
                // A client that does not read gets no more of them.
                while is_ready.is_ok() && is_done.recv_timeout(sign) == Err(RecvTimeoutError::Timeout) && stream.write_all(b" ").is_ok() {}
            };
            // Without a thread there are no signs.
            let _signs = thread::Builder::new().name("tidegate-signs".into()).stack_size(1 << 16).spawn_scoped(scope, signs);
            let result = work();
            drop(done);
            result
        })
    }

    /// Counts the bytes of the line so far; false if all clients together have too many.
    fn hold(&mut self, bytes: u64) -> bool {
        let received = &self.tally.received;
        let before = if bytes >= self.held {
            received.fetch_add(bytes - self.held, Ordering::Relaxed)
        } else {
            received.fetch_sub(self.held - bytes, Ordering::Relaxed)
        };
        let all = before - self.held + bytes;
        self.held = bytes;
        all <= self.limits.memory
    }

    fn defect(&self) -> Refusal {
        count(&self.tally.defects);
        Refusal::new(ErrorKind::Defect, "error: a defect of tidegate kept it from answering; its log says where. Please report it")
    }

    /// The next line, without its end; what follows it stays in `buffer`.
    fn line(&mut self, buffer: &mut Vec<u8>) -> Result<Vec<u8>, End> {
        const LOOK: Duration = Duration::from_millis(500);
        let began = Instant::now();
        let mut first = (!buffer.is_empty()).then_some(began);
        let mut searched = 0;
        loop {
            if let Some(end) = buffer[searched..].iter().position(|&byte| byte == b'\n') {
                let rest = buffer.split_off(searched + end + 1);
                let mut line = std::mem::replace(buffer, rest);
                line.pop();
                self.hold(buffer.len() as u64);
                return Ok(line);
            }
            searched = buffer.len();
            if searched > self.limits.line {
                return Err(End::TooLong);
            }
            if !self.hold(searched as u64) {
                return Err(End::NoMemory);
            }
            match first {
                None if began.elapsed() > self.limits.idle => return Err(End::Idle),
                Some(first) if first.elapsed() > self.limits.patience => return Err(End::TooSlow),
                _ => {}
            }
            if self.stop.load(Ordering::Relaxed) || self.stream.set_read_timeout(Some(LOOK)).is_err() {
                return Err(End::Closed);
            }
            let mut part = [0; 16 << 10];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(End::Closed),
                Ok(read) => {
                    first.get_or_insert_with(Instant::now);
                    buffer.extend_from_slice(&part[..read]);
                }
                Err(error) if matches!(error.kind(), IoError::WouldBlock | IoError::TimedOut | IoError::Interrupted) => {}
                Err(_) => return Err(End::Closed),
            }
        }
    }

    /// Sends a line. A client that does not read it in time is left.
    fn say(&mut self, answer: Result<Answer, Refusal>) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Answered::from(answer))?;
        line.push(b'\n');
        self.stream.set_nonblocking(false)?;
        write_within(&mut self.stream, &line, self.limits.patience, self.stop)
    }
}
