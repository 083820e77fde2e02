//! Three network namespaces in a row, host 1 - middle - host 2, and a bridge between the two interfaces in the middle.
//!
//! ```text
//! host 1: tga  ----veth----  tgb :middle: tgc  ----veth----  tgd :host 2
//! 10.77.0.1, fd77::1                                   10.77.0.2, fd77::2
//! ```
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tidegate_live::{Control, DirectionCounters, LiveConfig, LiveError, LiveOutcome, StageObserver, Tick, run_observed};

/// One of the three namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Host1,
    Middle,
    Host2,
}

pub const TOOLS: [&str; 3] = ["ip", "iperf3", "ethtool"];

/// The three namespaces, which are deleted when this is dropped.
pub struct Topology {
    prefix: String,
    /// The queues of each interface.
    queues: u32,
    /// One topology at a time on the machine, so that timing tests do not disturb each other.
    _lock: File,
}

impl Topology {
    /// What this machine lacks for namespaces that carry packets, and how to get it.
    pub fn missing() -> Option<String> {
        // SAFETY: asks for a number.
        let user = unsafe { libc::geteuid() };
        if user != 0 {
            return Some("the namespace tests carry real packets and must run as root: `sudo -E cargo test`".to_owned());
        }
        let found = |tool: &str| {
            let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).stdout(Stdio::null()).status();
            found.is_ok_and(|status| status.success())
        };
        if let Some(tool) = TOOLS.into_iter().find(|tool| !found(tool)) {
            return Some(format!("the namespace tests need `{tool}`: apt-get install iproute2 iperf3 ethtool"));
        }
        // SAFETY: moves a thread of its own, which ends at once, to a new namespace.
        let refused = thread::spawn(|| unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0).join().unwrap_or(true);
        refused.then(|| "the kernel does not let this process make network namespaces: use a container with --privileged".to_owned())
    }

    pub fn new() -> Topology {
        Topology::of_queues(1)
    }

    /// Whose interfaces have this number of queues each way.
    pub fn of_queues(queues: u32) -> Topology {
        if let Some(missing) = Topology::missing() {
            panic!("{missing}");
        }
        let lock = File::create(std::env::temp_dir().join("tidegate-namespaces.lock")).expect("a lock file");
        lock.lock().expect("a lock");
        let topology = Topology { prefix: format!("tidegate-{}", std::process::id()), queues, _lock: lock };
        for place in [Place::Host1, Place::Middle, Place::Host2] {
            let name = topology.name(place);
            // A killed test with the same process number may have left it.
            let _ = Command::new("ip").args(["netns", "del", &name]).stderr(Stdio::null()).status();
            command("ip", &["netns", "add", &name]);
        }
        // The middle is a cable, so it must not send packets of its own.
        topology.within(Place::Middle, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
        topology.connect_host1();
        topology.link("tgd", Place::Host2, "tgc");
        topology.within(Place::Host2, "ip addr add 10.77.0.2/24 dev tgd");
        topology.within(Place::Host2, "ip addr add fd77::2/64 dev tgd nodad");
        topology
    }

    /// Creates the pair of interfaces between host 1 and the middle.
    pub fn connect_host1(&self) {
        self.link("tga", Place::Host1, "tgb");
        self.within(Place::Host1, "ip addr add 10.77.0.1/24 dev tga");
        self.within(Place::Host1, "ip addr add fd77::1/64 dev tga nodad");
    }

    /// Creates a pair of interfaces between a host and the middle.
    pub fn link(&self, host_end: &str, host: Place, middle_end: &str) {
        let (host_name, middle) = (self.name(host), self.name(Place::Middle));
        let queues = format!("numrxqueues {0} numtxqueues {0}", self.queues);
        let add = format!("link add {host_end} {queues} netns {host_name} type veth peer name {middle_end} {queues} netns {middle}");
        command("ip", &add.split(' ').collect::<Vec<_>>());
        self.within(host, &format!("ip link set {host_end} up"));
        self.within(Place::Middle, &format!("ip link set {middle_end} up"));
    }

    pub fn name(&self, place: Place) -> String {
        format!("{}-{}", self.prefix, ["host1", "middle", "host2"][place as usize])
    }

    /// Runs a command in a namespace; it must succeed.
    pub fn within(&self, place: Place, line: &str) -> String {
        let mut arguments = vec!["netns".to_owned(), "exec".to_owned(), self.name(place)];
        arguments.extend(line.split_whitespace().map(str::to_owned));
        command("ip", &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A command that runs in a namespace, under the process number of the child.
    pub fn process(&self, place: Place, line: &str) -> Command {
        let mut process = Command::new("ip");
        process.args(["netns", "exec", &self.name(place)]).args(line.split_whitespace());
        process
    }

    /// Starts a command in a namespace.
    pub fn start(&self, place: Place, line: &str) -> Running {
        let mut process = self.process(place, line);
        let child = process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("ip starts");
        Running { child: Some(child), line: line.to_owned() }
    }

    /// Runs a closure on a thread that lives in a namespace.
    pub fn inside<T: Send + 'static>(&self, place: Place, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let namespace = File::open(format!("/run/netns/{}", self.name(place))).expect("the namespace is there");
        thread::spawn(move || {
            // SAFETY: moves this thread, which is ours, to the namespace of an open descriptor.
            let refused = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(refused, 0, "setns: {}", std::io::Error::last_os_error());
            work()
        })
    }

    /// As [`Topology::inside`], and waits for the result.
    pub fn call<T: Send + 'static>(&self, place: Place, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.inside(place, work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Starts a bridge in the middle and returns once it carries packets.
    pub fn bridge(&self, config: LiveConfig) -> Bridge<()> {
        self.bridge_observed(config, [(), ()])
    }

    /// As [`Topology::bridge`], with an observer of each direction.
    pub fn bridge_observed<O: StageObserver + Send + 'static>(&self, config: LiveConfig, observers: [O; 2]) -> Bridge<O> {
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(Default::default()));
        let (tell, ticks) = mpsc::channel();
        let (their_stop, their_state) = (stop.clone(), state.clone());
        let on_tick = move |tick: &Tick| {
            *their_state.lock().unwrap() = *tick.directions;
            let _ = tell.send(());
        };
        let control = config.control.clone();
        let thread = self.inside(Place::Middle, move || run_observed(config, &their_stop, on_tick, observers));
        let mut bridge = Bridge { stop, state, control, ticks, thread: Some(thread) };
        if bridge.ticks.recv_timeout(Duration::from_secs(10)).is_err() {
            panic!("the bridge does not start: {:?}", bridge.join().err());
        }
        bridge
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        for place in [Place::Host1, Place::Middle, Place::Host2] {
            let _ = Command::new("ip").args(["netns", "del", &self.name(place)]).status();
        }
    }
}

/// The result of a bridge.
type BridgeResult<O> = Result<(LiveOutcome, [O; 2]), LiveError>;

/// A running bridge, which stops when this is dropped.
pub struct Bridge<O> {
    stop: Arc<AtomicBool>,
    state: Arc<Mutex<[DirectionCounters; 2]>>,
    pub control: Control,
    ticks: mpsc::Receiver<()>,
    thread: Option<JoinHandle<BridgeResult<O>>>,
}

impl<O> Bridge<O> {
    /// The counters of both directions at the last tick.
    pub fn state(&self) -> [DirectionCounters; 2] {
        *self.state.lock().unwrap()
    }

    /// Waits for the next tick, and returns the counters then.
    pub fn next_tick(&self) -> [DirectionCounters; 2] {
        while self.ticks.try_recv().is_ok() {}
        self.ticks.recv_timeout(Duration::from_secs(10)).expect("the bridge ticks once a second");
        self.state()
    }

    /// Stops the bridge; the conservation law must hold in both directions.
    pub fn finish(self) -> LiveOutcome {
        self.finish_observed().0
    }

    /// As [`Bridge::finish`], with the observers.
    pub fn finish_observed(mut self) -> (LiveOutcome, [O; 2]) {
        let (outcome, observers) = self.join().expect("the bridge ran");
        for direction in &outcome.directions {
            assert_eq!(direction.counters.check(), Ok(()), "{:?}", direction.counters);
        }
        (outcome, observers)
    }

    fn join(&mut self) -> BridgeResult<O> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("a bridge is finished once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl<O> Drop for Bridge<O> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A process that is killed when this is dropped.
pub struct Running {
    child: Option<Child>,
    line: String,
}

impl Running {
    /// Waits for the end, which must be a success, and returns the standard output.
    pub fn output(mut self) -> String {
        let child = self.child.take().expect("a process is waited for once");
        checked(&self.line, child.wait_with_output().expect("a process that can be waited for"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until `holds` returns true.
pub fn eventually(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn command(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("the command starts");
    checked(&format!("{program} {}", arguments.join(" ")), output)
}

fn checked(line: &str, output: Output) -> String {
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "`{line}` failed: {out}{errors}");
    out.into_owned()
}
