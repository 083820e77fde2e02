//! Starting, signalling and awaiting `tidegate live` in the middle of a topology.

use crate::raw::ping;
use crate::topology::{Place, Topology};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const TIDEGATE: &str = env!("CARGO_BIN_EXE_tidegate");
const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/policies/home-gateway.toml");
pub const HOST2: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));

/// The longest wait for a line of the log, and for the end of a command that was told to end.
const LIMIT: Duration = Duration::from_secs(15);

/// A running `tidegate live`, which is killed when this is dropped.
pub struct Live {
    child: Child,
    output: JoinHandle<String>,
    /// The lines of standard error, if it is a pipe that the test reads.
    lines: Receiver<String>,
    log: String,
}

/// A `tidegate live` that has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub output: String,
    pub log: String,
    /// From the call of [`Live::wait`] to the end.
    pub elapsed: Duration,
}

impl Ended {
    pub fn report(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub fn command_line(options: &str) -> String {
    format!("{TIDEGATE} live {POLICY} {options}")
}

/// All notes of a report, one per line.
pub fn notes(report: &Value) -> String {
    report["notes"].as_array().expect("notes").iter().map(|note| note.as_str().expect("a note").to_owned() + "\n").collect()
}

impl Live {
    /// With a buffer manager that suits an end system, and a report as JSON.
    pub fn start(topology: &Topology, options: &str) -> Live {
        Live::start_with(topology, options, &["--json", "--set", "policy.uplink.buffer.manager=\"tail-drop\""])
    }

    pub fn start_with(topology: &Topology, options: &str, more: &[&str]) -> Live {
        Live::start_with_log(topology, options, more, Stdio::piped())
    }

    pub fn start_with_log(topology: &Topology, options: &str, more: &[&str], log: impl Into<Stdio>) -> Live {
        let mut command = topology.process(Place::Middle, &command_line(options));
        Live::spawn(command.args(more).stderr(log))
    }

    /// With this policy file, in its folder.
    pub fn start_policy(topology: &Topology, policy: &Path, options: &str) -> Live {
        let (folder, name) = policy.parent().zip(policy.file_name()).expect("a file in a folder");
        let mut command = topology.process(Place::Middle, &format!("{TIDEGATE} live {} {options}", name.display()));
        Live::spawn(command.current_dir(folder).stderr(Stdio::piped()))
    }

    /// Takes over a command that runs `tidegate live`.
    pub fn spawn(command: &mut std::process::Command) -> Live {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("ip starts");
        let mut stdout = child.stdout.take().expect("a pipe");
        let output = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).expect("text");
            text
        });
        let (send, lines) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            thread::spawn(move || lines_of(stderr).for_each(|line| drop(send.send(line))));
        }
        Live { child, output, lines, log: String::new() }
    }

    /// The process number, which `ip netns exec` keeps for the command.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        let sent = std::process::Command::new("kill").args([format!("-{signal}"), self.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the state of a child").is_none()
    }

    /// Reads the log up to a line that contains `text`, and returns that line.
    pub fn log_until(&mut self, text: &str) -> String {
        self.log_within(LIMIT, text)
    }

    /// As [`Live::log_until`], with another limit.
    pub fn log_within(&mut self, limit: Duration, text: &str) -> String {
        let start = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(limit.saturating_sub(start.elapsed())) {
            self.log += &(line.clone() + "\n");
            if line.contains(text) {
                return line;
            }
        }
        panic!("no line with \"{text}\" in the log: {}", self.log)
    }

    /// Waits for the end, which must come within 15 s.
    pub fn wait(mut self) -> Ended {
        let start = Instant::now();
        while self.is_running() {
            if start.elapsed() > LIMIT {
                let _ = self.child.kill();
                panic!("live does not end; log: {}", self.log);
            }
            thread::sleep(Duration::from_millis(10));
        }
        let elapsed = start.elapsed();
        let code = self.child.wait().expect("an exit status").code();
        let output = std::mem::replace(&mut self.output, thread::spawn(String::new)).join().expect("text");
        let mut log = std::mem::take(&mut self.log);
        log.extend(self.lines.iter().map(|line| line + "\n"));
        Ended { code, output, log, elapsed }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(stderr: ChildStderr) -> impl Iterator<Item = String> {
    BufReader::new(stderr).lines().map_while(Result::ok)
}

/// Waits until a ping from host 1 to host 2 is answered, and then for ten more.
pub fn pings_pass(topology: &Topology) {
    crate::eventually("a ping is answered", Duration::from_secs(10), || topology.call(Place::Host1, || !ping(HOST2, 2).is_empty()));
    let answers = topology.call(Place::Host1, || ping(HOST2, 10).len());
    assert!(answers >= 8, "{answers} of 10 pings were answered");
}
