//! A server under clients of every kind: what they may use up, and what others notice of it.

use proptest::prelude::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tidegate_control::protocol::{AskedClasses, ClientCounts, Named, Set};
use tidegate_control::{Answer, Answered, Client, ClientError, ErrorKind, Limits, Refusal, Request, Server, Tally};

/// How long the server works on a release.
const LONG_WORK: Duration = Duration::from_secs(4);

/// A server in a thread.
struct Running {
    socket: PathBuf,
    tally: Arc<Tally>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(limits: Limits) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("control");
        let server = Server::bind(&socket).unwrap();
        let (tally, stop) = (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)));
        let (theirs, until) = (tally.clone(), stop.clone());
        let handler = |request| match request {
            Request::Confirm => Ok(Answer::Confirmed),
            Request::Rollback => panic!("a defect"),
            Request::Release(_) => {
                thread::sleep(LONG_WORK);
                Ok(Answer::Confirmed)
            }
            Request::Set(Set { values, .. }) => Err(Refusal::new(ErrorKind::BadInput, values.concat())),
            _ => Err(Refusal::new(ErrorKind::NotNow, "later")),
        };
        let thread = thread::spawn(move || server.serve(limits, &theirs, &until, handler, |_, _| panic!("a defect")));
        Running { socket, tally, stop, thread: Some(thread), _folder: folder }
    }

    fn client(&self) -> Client {
        Client::connect(&self.socket, Duration::from_secs(20)).unwrap()
    }

    fn stream(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn answers(&self) {
        assert!(matches!(self.client().ask(Request::Confirm), Ok(Answer::Confirmed)));
    }

    /// Waits until the counts are as they should be.
    fn counted(&self, what: impl Fn(&ClientCounts) -> bool) -> ClientCounts {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let counts = self.tally.counts();
            if what(&counts) {
                return counts;
            }
            assert!(Instant::now() < deadline, "{counts:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        assert!(!self.socket.exists(), "the socket is removed");
    }
}

fn quick() -> Limits {
    Limits {
        connections: 4,
        line: 1000,
        memory: 3000,
        patience: Duration::from_millis(300),
        idle: Duration::from_millis(600),
        ..Limits::default()
    }
}

fn line(stream: &UnixStream) -> Option<Answered> {
    let mut text = String::new();
    BufReader::new(stream).read_line(&mut text).ok().filter(|&bytes| bytes > 0)?;
    Some(serde_json::from_str(&text).unwrap())
}

fn kind(stream: &UnixStream) -> Option<ErrorKind> {
    line(stream)?.error.map(|refusal| refusal.kind)
}

#[test]
fn requests_are_answered_in_order_on_one_connection() {
    let server = Running::start(Limits::default());
    let mut client = server.client();
    assert!(matches!(client.ask(Request::Confirm), Ok(Answer::Confirmed)));
    let set = Set { values: vec!["a=1".into()], how: Default::default() };
    assert!(matches!(client.ask(Request::Set(set)), Err(ClientError::Refused(refusal)) if refusal.text == "a=1"));
    assert!(matches!(client.ask(Request::Classes(AskedClasses::default())), Err(ClientError::Refused(_))));
    // Several at once, and one in pieces.
    let mut stream = server.stream();
    stream.write_all(b"{\"version\":1,\"request\":\"confirm\"}\n{\"version\":1,\"request\":\"status\"}\n{\"version\":1,").unwrap();
    thread::sleep(Duration::from_millis(50));
    stream.write_all(b"\"request\":\"confirm\"}\n").unwrap();
    let lines: Vec<Answered> = BufReader::new(&stream).lines().take(3).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(lines[0].answer.is_some() && lines[1].error.is_some() && lines[2].answer.is_some(), "{lines:?}");
    let counts = server.tally.counts();
    assert_eq!((counts.answered, counts.refused), (3, 3));
}

#[test]
fn what_is_no_request_is_refused_and_the_connection_goes_on() {
    let server = Running::start(Limits::default());
    let mut stream = server.stream();
    for (text, expected) in [
        ("", ErrorKind::BadInput),
        ("nonsense", ErrorKind::BadInput),
        ("{\"version\":1}", ErrorKind::BadInput),
        ("{\"version\":1,\"request\":\"unheard-of\"}", ErrorKind::BadInput),
        ("{\"version\":1,\"request\":\"status\",\"more\":1}", ErrorKind::BadInput),
        ("{\"version\":1,\"request\":{\"classes\":{\"mots\":3}}}", ErrorKind::BadInput),
        ("{\"version\":2,\"request\":\"status\"}", ErrorKind::Version),
        ("{\"version\":1,\"request\":\"rollback\"}", ErrorKind::Defect),
    ] {
        stream.write_all(text.as_bytes()).unwrap();
        stream.write_all(b"\n").unwrap();
        assert_eq!(kind(&stream), Some(expected), "{text}");
    }
    server.answers();
    assert_eq!(server.tally.counts().defects, 1);
}

#[test]
fn a_defect_in_a_take_over_is_answered_and_leaves_no_client_behind() {
    let server = Running::start(Limits { connections: 1, ..Limits::default() });
    let mut stream = server.stream();
    stream.write_all(b"{\"version\":1,\"request\":{\"take-over\":{\"snapshot\":1,\"process\":1}}}\n").unwrap();
    assert_eq!(kind(&stream), Some(ErrorKind::Defect));
    assert_eq!(server.counted(|counts| counts.connected == 0).defects, 1);
    server.answers();
}

/// A client waits longer than it has patience, because it sees that the server works.
#[test]
fn a_server_that_works_on_a_change_gives_signs_of_it() {
    let server = Running::start(Limits { sign: Duration::from_millis(50), ..Limits::default() });
    let mut client = Client::connect(&server.socket, LONG_WORK / 3).unwrap();
    let release = || Request::Release(Named { name: "call".into() });
    assert!(matches!(client.ask(release()), Ok(Answer::Confirmed)));
    let silent = Running::start(Limits { sign: LONG_WORK * 2, ..Limits::default() });
    let mut client = Client::connect(&silent.socket, LONG_WORK / 3).unwrap();
    assert!(matches!(client.ask(release()), Err(ClientError::Io(_))));
}

#[test]
fn lines_without_end_too_slow_or_too_many_close_their_connection_alone() {
    let server = Running::start(quick());
    let mut long = server.stream();
    long.write_all(&[b'a'; 2000]).unwrap();
    assert_eq!(kind(&long), Some(ErrorKind::Limit));
    let mut slow = server.stream();
    slow.write_all(b"{").unwrap();
    assert_eq!(kind(&slow), Some(ErrorKind::Limit));
    assert_eq!(slow.read(&mut [0; 10]).unwrap(), 0);
    let silent = server.stream();
    assert_eq!(line(&silent), None, "closed without a word");
    let counts = server.counted(|counts| counts.connected == 0);
    assert_eq!((counts.over_limit, counts.idle), (2, 1), "{counts:?}");

    let held: Vec<UnixStream> = (0..4).map(|_| server.stream()).collect();
    server.counted(|counts| counts.connected == 4);
    assert_eq!(kind(&server.stream()), Some(ErrorKind::Limit));
    drop(held);
    server.counted(|counts| counts.connected == 0);
    server.answers();
    assert_eq!(server.tally.counts().too_many, 1);
}

#[test]
fn all_lines_together_have_a_limit() {
    let server = Running::start(Limits { patience: Duration::from_secs(20), ..quick() });
    let mut streams: Vec<UnixStream> = (0..4).map(|_| server.stream()).collect();
    for stream in &mut streams {
        stream.write_all(&[b' '; 900]).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(kind(&streams[3]), Some(ErrorKind::Limit));
    // The others go on.
    streams[0].write_all(b"{\"version\":1,\"request\":\"confirm\"}\n").unwrap();
    assert!(line(&streams[0]).unwrap().answer.is_some());
}

#[test]
fn a_socket_of_the_dead_is_replaced_and_one_of_the_living_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control");
    let first = Server::bind(&socket).unwrap();
    assert_eq!(Server::bind(&socket).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    std::mem::forget(first);
    // A listener that is closed and left behind.
    let left = folder.path().join("left");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    drop(Server::bind(&left).unwrap());
    assert!(!left.exists());
    let file = folder.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    assert_eq!(Server::bind(&file).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    std::os::unix::fs::symlink(&file, folder.path().join("link")).unwrap();
    assert!(Server::bind(&folder.path().join("link")).is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_bytes_end_the_server(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'{'), Just(b'"'), any::<u8>()], 0..3000)) {
        let server = Running::start(quick());
        let mut stream = server.stream();
        let _closed = stream.write_all(&bytes);
        drop(stream);
        server.answers();
    }
}
