//! Cost of a packet through a port whose class has an AQM: first in, first out, offered 5 % more than the link carries, in bursts of 32.
//!
//! `none` is the port without an AQM, whose buffer is full: what an AQM costs is the difference. Half of the packets can be marked. Targets
//! are a thousandth of the usual ones, as at 50 Gbit/s a packet of 64 bytes takes 10 ns. Packets go to queues at random.
//!
//! `fq-codel` has CoDel in each queue, sparse round robin among them, and a buffer that pushes out of the longest. Half of the packets go to 32 of
//! the queues, which CoDel keeps short, and half to all of them.

use crate::flows::Random;
use crate::{BURST, Benchmark, PACKET_BYTES, PICOSECONDS_PER_PACKET};
use tidegate_core::aqm::{AqmField, AqmParameters, AqmSetup, Gain, Probability, RedCurve};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::registry::{AnyAqm, AnyBufferManager, AnyScheduler, AqmKind, BufferKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

/// Packets in one round; few in the tests.
const ROUND_PACKETS: usize = if cfg!(any(test, debug_assertions)) { 1 << 14 } else { 1 << 20 };

/// The port without an AQM.
const NONE: &str = "none";

/// CoDel in each of many queues.
const FAIR: &str = "fq-codel";

/// The queues to which half of the packets go with `fq-codel`.
const HEAVY: u32 = 32;

/// The packets that the buffer holds: 20 us.
const BUFFER: u32 = 2000;

/// No AQM, every registered one, and fair queueing.
pub fn names() -> impl Iterator<Item = String> {
    [NONE, FAIR].into_iter().chain(AqmKind::ALL.iter().map(|kind| kind.name())).map(|name| format!("aqm/{name}"))
}

/// What makes up a port with the named AQM.
struct Parts {
    aqm: Option<AnyAqm>,
    scheduler: AnyScheduler,
    buffer: AnyBufferManager,
}

/// What the named AQM keeps of its queues: its state, and with fair queueing also its scheduler and buffer manager, to be measured by the memory
/// that it takes.
///
/// # Errors
/// As [`set_up`].
pub fn state(name: &str, flows: u32) -> Result<impl Sized, String> {
    let Parts { aqm, scheduler, buffer } = parts(name, flows)?;
    Ok((aqm, name.ends_with(FAIR).then_some((scheduler, buffer))))
}

/// The rate at which a packet takes [`PICOSECONDS_PER_PACKET`].
fn rate() -> Result<Rate, String> {
    Rate::new(u64::from(PACKET_BYTES) * 8 * 1_000_000_000_000 / PICOSECONDS_PER_PACKET).map_err(|error| error.to_string())
}

fn parts(name: &str, flows: u32) -> Result<Parts, String> {
    let unknown = || format!("there is no AQM \"{name}\"; there are {}", names().collect::<Vec<_>>().join(", "));
    let algorithm = name.strip_prefix("aqm/").ok_or_else(unknown)?;
    let rate = rate()?;
    let is_fair = algorithm == FAIR;
    let (manager, scheduler) =
        if is_fair { (BufferKind::FattestFlow, SchedulerKind::SparseRoundRobin) } else { (BufferKind::TailDrop, SchedulerKind::Fifo) };
    let aqm = if algorithm == NONE {
        None
    } else {
        let kind = if is_fair { AqmKind::CoDel } else { AqmKind::from_name(algorithm).ok_or_else(unknown)? };
        let setup = AqmSetup { flows: flows as usize, rate, longest_frame: 1522 };
        Some(kind.build(&setup, &quick(kind)).map_err(|error| format!("{name}: {error}"))?)
    };
    let buffer = BufferParameters { flows: flows as usize, packets: Some(BUFFER), ..BufferParameters::default() };
    let buffer = manager.build(&buffer).map_err(|error| error.to_string())?;
    let scheduler =
        scheduler.build(&Setup::new(rate, 1522), &vec![FlowParameters::default(); flows as usize]).map_err(|error| error.to_string())?;
    Ok(Parts { aqm, scheduler, buffer })
}

/// A port with the named AQM.
///
/// # Errors
/// An unknown name, or parameters that the AQM refuses.
pub fn set_up(name: &str, flows: u32) -> Result<Benchmark, String> {
    let Parts { aqm, scheduler, buffer } = parts(name, flows)?;
    let (rate, is_fair) = (rate()?, name.ends_with(FAIR));
    let setup = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: flows, rules: vec![] }], 0)
            .map_err(|error| error.to_string())?,
        policers: vec![None],
        aqms: vec![aqm],
        seed: 1,
        buffer,
        scheduler,
        packet_limit: BUFFER,
        longest_frame: 1522,
        remarks: Remarks::default(),
    };
    let mut random = Random::new();
    let heavy = if is_fair { flows.min(HEAVY) } else { flows };
    let order: Vec<(Flow, Ecn)> = (0..ROUND_PACKETS)
        .map(|packet| (Flow(random.below(if packet % 2 == 0 { heavy } else { flows })), [Ecn::NotEct, Ecn::Ect0][random.below(2) as usize]))
        .collect();
    let mut port: Port<u64> = Port::new(Time::ZERO, setup);
    let mut now = Time::ZERO;
    let gap = Duration::from_picoseconds(BURST as u64 * PICOSECONDS_PER_PACKET * 20 / 21);
    let mut round = move || {
        for burst in order.chunks(BURST) {
            now += gap;
            port.advance(now, &mut (), |transmission| {
                std::hint::black_box(transmission);
            });
            for &(flow, ecn) in burst {
                let packet = Packet { flow, length: PACKET_BYTES, arrival: now, colour: Colour::Green, part: Part::Whole, ecn, payload: 0 };
                port.offer_packet(packet, &mut ());
            }
        }
        let counters = port.counters();
        [counters.offered, counters.marked, counters.dropped[DropReason::Congestion as usize]].map(|volume| volume.packets as f64)
    };
    round();
    let [offered, marked, dropped] = round();
    Ok(Benchmark {
        operation: name.replace('/', "-"),
        flows,
        facts: format!(",marked={:.4},dropped={:.4}", marked / offered, dropped / offered),
        round: Box::new(move || {
            round();
            ROUND_PACKETS as u64
        }),
    })
}

/// A thousandth of the usual times, and gains of a thousand times.
fn quick(kind: AqmKind) -> AqmParameters {
    let uses = |field| kind.accepts().contains(&field) || kind.requires().contains(&field);
    let max_probability = Probability::from_millionths(20_000);
    let curve = max_probability.map(|max_probability| RedCurve { min: 32_000, max: 64_000, max_probability });
    let duration = |field, ns| uses(field).then(|| Duration::from_nanoseconds(ns));
    AqmParameters {
        target: duration(AqmField::Target, 5_000),
        interval: duration(AqmField::Interval, 100_000),
        update_period: duration(AqmField::UpdatePeriod, 100_000),
        max_burst: duration(AqmField::MaxBurst, 150_000),
        alpha: Gain::from_millihertz(125_000).filter(|_| uses(AqmField::Alpha)),
        beta: Gain::from_millihertz(1_000_000).filter(|_| uses(AqmField::Beta)),
        mark_above: uses(AqmField::MarkAbove).then_some(32_000),
        curve: curve.filter(|_| uses(AqmField::Curve) && !uses(AqmField::Target)),
        curves: [curve.filter(|_| uses(AqmField::Curves)), None, None],
        ..AqmParameters::default()
    }
}
