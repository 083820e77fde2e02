//! The kernel's TCP over a link of known rate, delay and buffer, for comparison with a simulated TCP.
//!
//! Bulk transfers go from host 1 to host 2 through a FIFO; acknowledgements return through the same kind of port.

use super::topology::{Place, Topology};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration as PortDuration, Overhead, Rate};
use tidegate_live::{Link, LiveConfig};

/// In bit/s, counting frames without overhead.
pub const RATE: u64 = 20_000_000;
/// From one end of a link to the other, in milliseconds.
pub const DELAY: u64 = 15;
/// In bytes of frames.
pub const BUFFER: u64 = 81_800;
pub const FLOWS: u64 = 5;

const LONGEST_FRAME: u32 = 1518;

/// The results of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// The TCP that was measured.
    pub source: String,
    pub congestion_control: String,
    pub seconds: u64,
    /// Payload received in all, in bit/s.
    pub goodput: f64,
    /// Payload sent in all, in bit/s, including what was in flight at the end.
    pub sent: f64,
    /// Payload received by each flow, in bit/s.
    pub flows: Vec<f64>,
    /// Packets dropped by the FIFO.
    pub drops: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// How late packets were at the end of their link, at the 99th percentile, in seconds; 0 in a simulation.
    pub lateness: f64,
}

impl Measured {
    /// Jain's index of fairness: 1 if all flows got the same, 1/n if one of n got everything.
    pub fn fairness(&self) -> f64 {
        let sum: f64 = self.flows.iter().sum();
        let squares: f64 = self.flows.iter().map(|flow| flow * flow).sum();
        sum * sum / (self.flows.len() as f64 * squares)
    }

    pub fn to_json(&self) -> Value {
        json!({
            "source": self.source,
            "congestion_control": self.congestion_control,
            "rate_bps": RATE,
            "round_trip_s": 2.0 * DELAY as f64 / 1e3,
            "buffer_bytes": BUFFER,
            "seconds": self.seconds,
            "goodput_bps": self.goodput,
            "sent_bps": self.sent,
            "flows_bps": self.flows,
            "jain": self.fairness(),
            "drops": self.drops,
            "retransmissions": self.retransmissions,
            "lateness_p99_s": self.lateness,
        })
    }

    /// The inverse of [`Measured::to_json`]; `None` if a field is missing.
    #[allow(dead_code, reason = "the tests only write")]
    pub fn from_json(value: &Value) -> Option<Measured> {
        Some(Measured {
            source: value["source"].as_str()?.to_owned(),
            congestion_control: value["congestion_control"].as_str()?.to_owned(),
            seconds: value["seconds"].as_u64()?,
            goodput: value["goodput_bps"].as_f64()?,
            sent: value["sent_bps"].as_f64()?,
            flows: value["flows_bps"].as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?,
            drops: value["drops"].as_u64()?,
            retransmissions: value["retransmissions"].as_u64()?,
            lateness: value["lateness_p99_s"].as_f64().unwrap_or(0.0),
        })
    }
}

/// A FIFO of [`BUFFER`] bytes.
fn fifo() -> PortSetup {
    let rate = Rate::new(RATE).expect("a rate in range");
    let buffer = BufferParameters { flows: 1, bytes: Some(BUFFER), ..BufferParameters::default() };
    let rules = ClassRules { name: "all".into(), queues: 1, rules: Vec::new() };
    PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![rules], 1).expect("the class is right"),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&buffer).expect("the limit is right"),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, LONGEST_FRAME), &[FlowParameters::default()]).expect("nothing is asked for"),
        packet_limit: 2000,
        longest_frame: LONGEST_FRAME,
        remarks: Default::default(),
    }
}

/// The congestion controls that this kernel has.
pub fn available() -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a kernel with TCP");
    names.split_whitespace().map(str::to_owned).collect()
}

/// Lets the flows run for `seconds`.
pub fn measure(congestion_control: &str, seconds: u64) -> Measured {
    let topology = Topology::new();
    let link = Link { delay: PortDuration::from_milliseconds(DELAY), ..Link::default() };
    let mut config = LiveConfig { links: [link.clone(), link], ..LiveConfig::new("tgb", "tgc", fifo(), fifo()) };
    // A machine that loses its processors for a while must not appear as a slower link. The buffer lasts longer than this.
    config.options.catch_up = PortDuration::from_milliseconds(20);
    let bridge = topology.bridge(config);
    let _server = topology.start(Place::Host2, "iperf3 --server --one-off");
    thread::sleep(Duration::from_millis(300));
    let line = format!("iperf3 --client 10.77.0.2 --time {seconds} --parallel {FLOWS} --congestion {congestion_control} --json");
    let written = topology.start(Place::Host1, &line).output();
    let outcome = bridge.finish();
    let report: Value = serde_json::from_str(&written).expect("iperf3 writes JSON");
    let end = &report["end"];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("iperf3 reported no number: {written}"));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let there = &outcome.directions[0];
    Measured {
        source: format!("Linux {}", release.trim()),
        congestion_control: congestion_control.to_owned(),
        seconds,
        goodput: number(&end["sum_received"]["bits_per_second"]),
        sent: number(&end["sum_sent"]["bits_per_second"]),
        flows: end["streams"].as_array().into_iter().flatten().map(|flow| number(&flow["receiver"]["bits_per_second"])).collect(),
        drops: there.counters.port.dropped.iter().map(|volume| volume.packets).sum(),
        retransmissions: number(&end["sum_sent"]["retransmits"]) as u64,
        lateness: there.lateness.quantile_seconds(0.99).unwrap_or(0.0),
    }
}
