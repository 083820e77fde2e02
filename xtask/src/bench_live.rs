//! `cargo xtask bench-live`: frames per second without loss, and processor time per frame, of `tidegate live` and its peers. These are the kernel's
//! bridge, the bridge with HTB, and a bare forwarder with packet sockets.
//!
//! Three network namespaces in a row, joined by veth pairs, as root. The sender is on core 0, and so is the receiving side of what is measured,
//! because veth receives in the sender's system call. The forwarder's thread is on core 1, and so is the receiving side of the far host. The kernel's
//! bridge does all its work on core 0. Contestants take turns, so that a disturbance hits all of them.

mod tcp;
mod workers;

use crate::cargo::{cargo, output, succeed, target_directory};
use crate::failure::Failure;
use clap::Parser;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What `cargo xtask bench-live` is told.
#[derive(Parser)]
pub struct Options {
    /// How long frames are sent at each rate that is tried
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    seconds: f64,
    /// How often every contestant has its turn
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The lengths of frames in bytes, from 60 to 1514, without the check sequence
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', default_values_t = [60, 1514], value_parser = clap::value_parser!(u32).range(60..=1514))]
    lengths: Vec<u32>,
    /// Only contestants whose name holds this
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Also the delay at 10, 50 and 90 % of each contestant's own rate
    #[arg(long)]
    delays: bool,
    /// Also TCP with offloads on and off, by iperf3
    #[arg(long)]
    tcp: bool,
    /// Also two workers against one, each fed by a sender on its own core
    #[arg(long)]
    workers: bool,
    /// A `tidegate` to measure in place of the one that is built here
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// The greatest part of frames that may be lost.
const LOSS_LIMIT: f64 = 1e-5;
/// How long a contestant may take until frames pass.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How often the interval of rates is halved.
const HALVINGS: u32 = 6;
const POLICY: &str = "[policy.fifo]\nrate = \"100 Gbit/s\"\npacket_limit = \"20000 packets\"\nbuffer = { limit = \"16 MB\" }\n";

/// What carries frames from the first host to the second.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contestant {
    /// The kernel's bridge, and HTB on its way out.
    Bridge { htb: bool },
    /// recvmmsg and sendmmsg.
    Bare,
    /// `tidegate live` with these arguments.
    Ours(&'static str),
}

const CONTESTANTS: [(&str, Contestant); 6] = [
    ("kernel bridge", Contestant::Bridge { htb: false }),
    ("kernel bridge, HTB", Contestant::Bridge { htb: true }),
    ("recvmmsg, sendmmsg", Contestant::Bare),
    ("tidegate packet", Contestant::Ours("--io packet")),
    ("tidegate xdp", Contestant::Ours("--io xdp")),
    ("tidegate xdp, spinning", Contestant::Ours("--io xdp --spin 1ms")),
];

/// What a contestant did at one rate.
#[derive(Clone, Copy)]
struct Trial {
    /// Frames that the sender's kernel took, and those that arrived.
    sent: u64,
    arrived: u64,
    /// Nanoseconds of the sender's thread, and of the contestant's.
    sender: u64,
    own: u64,
}

/// A contestant's figures of one round.
#[derive(Clone, Copy)]
struct Figures {
    /// Frames per second without loss.
    rate: f64,
    /// Nanoseconds per frame of the contestant's threads, and of the sender's, at nine tenths of that rate or below.
    own: f64,
    sender: f64,
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure::Environment`] without root, `ip`, `tc` or namespaces.
pub fn run(options: &Options) -> Result<(), Failure> {
    let release = target_directory()?.join("release");
    let load = release.join("examples/live_load");
    succeed(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-live", "--example", "live_load"]))?;
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            succeed(cargo().args(["build", "--quiet", "--release", "--package", "tidegate-cli"]))?;
            release.join("tidegate")
        }
    };
    let place = Place::new(load, program)?;
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| name.contains(only));
    let contestants: Vec<_> = CONTESTANTS.into_iter().filter(|(name, _)| wanted(name)).collect();
    println!(
        "loss-free: at most {LOSS_LIMIT:.0e} lost in {} s; medians of {} turns; load average {}",
        options.seconds,
        options.rounds,
        load_average()
    );
    println!(
        "core 0: sender and receiving side; core 1: the contestant's threads and the far host; the kernel's bridge is on core 0 alone\n"
    );
    for &length in &options.lengths {
        let alone = place.sender_alone(length, options.seconds)?;
        println!("{length} bytes; the sender alone takes {alone:.0} ns per frame");
        println!(
            "{:<24}{:>12}{:>12}{:>14}{:>10}{:>10}{:>10}{:>12}",
            "", "kframes/s", "own ns", "sender's ns", "net ns", "/ bridge", "/ HTB", "/ recvmmsg"
        );
        let mut turns: Vec<Vec<Figures>> = vec![Vec::new(); contestants.len()];
        for _ in 0..options.rounds {
            for ((_, contestant), figures) in contestants.iter().zip(&mut turns) {
                figures.push(place.figures(*contestant, length, options.seconds)?);
            }
        }
        let medians: Vec<Figures> = turns.iter().map(|turns| median_of(turns)).collect();
        let rate_of = |name: &str| contestants.iter().zip(&medians).find(|((found, _), _)| *found == name).map(|(_, figures)| figures.rate);
        for ((name, _), figures) in contestants.iter().zip(&medians) {
            let Figures { rate, own, sender } = figures;
            let ratio = |peer: &str| rate_of(peer).map_or("-".to_owned(), |peer| format!("{:.2}", rate / peer));
            let [bridge, htb, bare] = ["kernel bridge", "kernel bridge, HTB", "recvmmsg, sendmmsg"].map(ratio);
            let net = own + sender - alone;
            println!("{name:<24}{:>12.0}{own:>12.0}{sender:>14.0}{net:>10.0}{bridge:>10}{htb:>10}{bare:>12}", rate / 1e3);
        }
        if options.delays {
            println!("\n{:<24}{:>26}{:>26}{:>26}", "delay p50 / p99, us", "at 10 %", "at 50 %", "at 90 %");
            for ((name, contestant), figures) in contestants.iter().zip(&medians) {
                let mut line = format!("{name:<24}");
                for part in [0.1, 0.5, 0.9] {
                    let [middle, high, count] = place.delays(*contestant, length, figures.rate * part, options.seconds)?;
                    line += &format!("{:>26}", format!("{:.1} / {:.1} ({count})", middle as f64 / 1e3, high as f64 / 1e3));
                }
                println!("{line}");
            }
        }
        println!();
    }
    if options.workers {
        place.measure_workers((&options.lengths, options.rounds, options.seconds))?;
        println!();
    }
    if options.tcp {
        place.measure_tcp(&contestants)?;
    }
    Ok(())
}

fn median_of(turns: &[Figures]) -> Figures {
    let median = |of: fn(&Figures) -> f64| median(turns.iter().map(of).collect());
    Figures { rate: median(|turn| turn.rate), own: median(|turn| turn.own), sender: median(|turn| turn.sender) }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { f64::midpoint(values[middle - 1], values[middle]) } else { values[middle] }
}

fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
}

/// The three namespaces, with nothing in the middle; they are deleted when this is dropped.
struct Place {
    prefix: String,
    load: PathBuf,
    program: PathBuf,
    policy: PathBuf,
}

impl Place {
    fn new(load: PathBuf, program: PathBuf) -> Result<Place, Failure> {
        let prefix = format!("tidegate-bench-{}", std::process::id());
        let policy = std::env::temp_dir().join(format!("{prefix}.toml"));
        let place = Place { prefix, load, program, policy };
        for end in ["a", "m", "b"] {
            output(Command::new("ip").args(["netns", "add", &place.name(end)]))?;
        }
        place.link(1)?;
        Ok(place)
    }

    fn name(&self, end: &str) -> String {
        format!("{}-{end}", self.prefix)
    }

    /// Creates both pairs of interfaces with this number of queues, in place of earlier ones.
    fn link(&self, queues: usize) -> Result<(), Failure> {
        let queues = format!("numrxqueues {queues} numtxqueues {queues}");
        for (host, end, middle) in [("a", "ba", "bm"), ("b", "bb", "bn")] {
            let _ = Command::new("ip").args(["-n", &self.name(host), "link", "del", end]).stderr(Stdio::null()).status();
            let mut add = Command::new("ip");
            let line =
                format!("link add {end} {queues} netns {} type veth peer name {middle} {queues} netns {}", self.name(host), self.name("m"));
            add.args(line.split(' '));
            output(&mut add)?;
            for (name, interface) in [(host, end), ("m", middle)] {
                self.within(name, &format!("sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=1"))?;
                self.within(name, &format!("ip link set {interface} up"))?;
            }
        }
        for (host, address) in [("a", "10.77.0.1/24 dev ba"), ("b", "10.77.0.2/24 dev bb")] {
            self.within(host, &format!("ip addr add {address}"))?;
        }
        Ok(())
    }

    fn command(&self, end: &str, line: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(end)]).args(line.split_whitespace());
        command
    }

    fn within(&self, end: &str, line: &str) -> Result<String, Failure> {
        output(&mut self.command(end, line))
    }

    /// Starts a contestant.
    fn start(&self, contestant: Contestant) -> Result<Running<'_>, Failure> {
        self.start_on(contestant, POLICY, ("1", 1))
    }

    /// The same with this policy, threads on these cores, and interfaces of this number of queues.
    fn start_on(&self, contestant: Contestant, policy: &str, (cores, queues): (&str, usize)) -> Result<Running<'_>, Failure> {
        std::fs::write(&self.policy, policy).map_err(Failure::cannot("write", &self.policy))?;
        self.link(queues)?;
        let line = match contestant {
            Contestant::Bridge { htb } => {
                for line in [
                    "ip link add bridge0 type bridge",
                    "ip link set bm master bridge0",
                    "ip link set bn master bridge0",
                    "ip link set bridge0 up",
                    "bridge fdb replace 02:00:00:00:00:09 dev bn master static",
                ] {
                    self.within("m", line)?;
                }
                if htb {
                    self.within("m", "tc qdisc add dev bn root handle 1: htb default 1")?;
                    self.within("m", "tc class add dev bn parent 1: classid 1:1 htb rate 100gbit quantum 60000 burst 16mb")?;
                }
                return Ok(Running { place: self, child: None });
            }
            Contestant::Bare => format!("taskset -c 1 {} forward bm bn", self.load.display()),
            Contestant::Ours(arguments) => {
                let (program, policy) = (self.program.display(), self.policy.display());
                format!("taskset -c {cores} {program} live {policy} --in bm --out bn --quiet {}", arguments.replace("1ms", "1_ms"))
            }
        };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name("m")]);
        // A duration is one word with a space in it.
        command.args(line.split_whitespace().map(|word| word.replace("1_ms", "1 ms")));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| Failure::Environment(format!("cannot start `{line}`: {error}")))?;
        let running = Running { place: self, child: Some(child) };
        // Memory for frames is set aside, and interfaces are opened, before the first frame passes.
        let (before, start) = (self.arrived()?, Instant::now());
        while self.arrived()? == before {
            if start.elapsed() > START_LIMIT {
                return Err(Failure::Check(format!("nothing passes `{line}` after {START_LIMIT:?}")));
            }
            self.within("a", &format!("{} send ba 60 1000 0.02", self.load.display()))?;
        }
        Ok(running)
    }

    /// Sends for a while, as many as the sender can with a rate of 0.
    fn trial(&self, running: &mut Running, length: u32, rate: f64, seconds: f64) -> Result<Trial, Failure> {
        let (before, own_before) = (self.arrived()?, running.processor_time()?);
        let line = format!("taskset -c 0 {} send ba {length} {rate} {seconds}", self.load.display());
        let answer = self.within("a", &line)?;
        thread::sleep(Duration::from_millis(60));
        let numbers: Vec<u64> = answer.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let &[sent, sender] = &numbers[..] else {
            return Err(Failure::Check(format!("the sender says nothing that is understood: {answer}")));
        };
        Ok(Trial { sent, arrived: self.arrived()? - before, sender, own: running.processor_time()? - own_before })
    }

    /// The frames that the second host's interface has received.
    fn arrived(&self) -> Result<u64, Failure> {
        let text = self.within("b", "ip -s -j link show bb")?;
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| Failure::Environment(format!("`ip -s -j link` is not JSON: {error}")))?;
        json[0]["stats64"]["rx"]["packets"].as_u64().ok_or_else(|| Failure::Environment(format!("`ip -s -j link` has no counters: {text}")))
    }

    /// Nanoseconds per frame of a sender whose frames are dropped at once.
    fn sender_alone(&self, length: u32, seconds: f64) -> Result<f64, Failure> {
        self.link(1)?;
        let mut none = Running { place: self, child: None };
        let trial = self.trial(&mut none, length, 0.0, seconds)?;
        Ok(trial.sender as f64 / trial.sent.max(1) as f64)
    }

    /// Searches the greatest rate without loss, by halves.
    fn figures(&self, contestant: Contestant, length: u32, seconds: f64) -> Result<Figures, Failure> {
        let mut running = self.start(contestant)?;
        let is_free = |trial: &Trial| trial.sent.saturating_sub(trial.arrived) as f64 <= LOSS_LIMIT * trial.sent as f64;
        let most = self.trial(&mut running, length, 0.0, seconds)?;
        let (mut low, mut high) = (0.0, most.sent as f64 / seconds);
        let mut best = None;
        if is_free(&most) {
            (low, best) = (high, Some(most));
        }
        for _ in 0..HALVINGS {
            if low == high {
                break;
            }
            let rate = f64::midpoint(low, high);
            // Other work on the machine spoils a trial now and then.
            let first = self.trial(&mut running, length, rate, seconds)?;
            let trial = if is_free(&first) { first } else { self.trial(&mut running, length, rate, seconds)? };
            if is_free(&trial) {
                (low, best) = (rate, Some(trial));
            } else {
                high = rate;
            }
        }
        let trial = best.unwrap_or(most);
        let each = |nanoseconds: u64| nanoseconds as f64 / trial.arrived.max(1) as f64;
        Ok(Figures {
            rate: best.map_or(0.0, |best| best.sent as f64 / seconds),
            own: each(trial.own),
            sender: each(most.sender.min(trial.sender)),
        })
    }

    /// The median, the 99th percentile and the number of delays at a rate, in nanoseconds.
    fn delays(&self, contestant: Contestant, length: u32, rate: f64, seconds: f64) -> Result<[u64; 3], Failure> {
        let mut running = self.start(contestant)?;
        let meter = self.command("b", &format!("{} measure bb {}", self.load.display(), seconds + 0.4)).stdout(Stdio::piped()).spawn();
        let meter = meter.map_err(|error| Failure::Environment(format!("cannot start the meter: {error}")))?;
        thread::sleep(Duration::from_millis(200));
        self.trial(&mut running, length, rate, seconds)?;
        let answer = meter.wait_with_output().map_err(|error| Failure::Environment(format!("the meter has no answer: {error}")))?;
        let numbers: Vec<u64> =
            String::from_utf8_lossy(&answer.stdout).split_whitespace().filter_map(|number| number.parse().ok()).collect();
        <[u64; 3]>::try_from(numbers).map_err(|numbers| Failure::Check(format!("the meter says nothing that is understood: {numbers:?}")))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for end in ["a", "m", "b"] {
            let _ = Command::new("ip").args(["netns", "del", &self.name(end)]).status();
        }
        let _ = std::fs::remove_file(&self.policy);
    }
}

/// A contestant that carries frames until this is dropped.
struct Running<'a> {
    place: &'a Place,
    child: Option<Child>,
}

impl Running<'_> {
    /// Nanoseconds that the threads of this name have had so far.
    fn thread_time(&self, name: &str) -> u64 {
        let Some(child) = &self.child else { return 0 };
        let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
        let named = threads.filter(|thread| std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim() == name));
        let times = named.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
        times.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum()
    }

    /// Nanoseconds that its threads have had so far; 0 where it has none.
    fn processor_time(&mut self) -> Result<u64, Failure> {
        let Some(child) = &mut self.child else { return Ok(0) };
        if let Ok(Some(status)) = child.try_wait() {
            return Err(Failure::Check(format!("what was to carry frames has ended with {status}")));
        }
        let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).map_err(|error| Failure::Environment(error.to_string()))?;
        let each = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
        Ok(each.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // SIGTERM, so that interfaces are left as they were.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        } else {
            let _ = self.place.command("m", "ip link del bridge0").stderr(Stdio::null()).status();
        }
    }
}
