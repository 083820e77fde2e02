//! Packets that come whatever is lost, through a port: transcripts of a separately written model, and promises that hold without TCP.

use super::bottleneck::Discipline;
use super::report::figure_of_floods;
use crate::figure::{Figure, Gate};
use tidegate_core::aqm::{AqmParameters, Probability, RedCurve};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::Port;
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::AqmKind;
use tidegate_core::units::{Duration, Rate, Time};

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Time,
    pub queue: u32,
    pub length: u32,
    pub ecn: Ecn,
}

/// Packets of one length, a gap apart.
#[derive(Clone, Copy, Debug)]
pub struct Train {
    pub queue: u32,
    pub length: u32,
    pub ecn: Ecn,
    pub gap: Duration,
}

impl Train {
    /// 12.5 Mbit/s of packets of 1250 bytes that cannot be marked.
    pub const FLOOD: Train = Train { queue: 0, length: 1250, ecn: Ecn::NotEct, gap: Duration::from_microseconds(800) };

    /// The packets from an instant on, until another.
    pub fn between(self, first: Time, end: Time) -> Vec<Arrival> {
        let Train { queue, length, ecn, gap } = self;
        let at = |number| first + Duration::from_picoseconds(gap.picoseconds() * number);
        (0..).map(at).take_while(|at| at.is_before(end)).map(|at| Arrival { at, queue, length, ecn }).collect()
    }
}

/// What happened to a packet; packets are numbered in the order of their arrival.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub at: Time,
    pub packet: u32,
    pub queue: u32,
    pub waited: Duration,
}

impl Event {
    fn new(at: Time, packet: &Packet<u32>) -> Event {
        Event { at, packet: packet.payload, queue: packet.flow.0, waited: at.since(packet.arrival) }
    }
}

/// Everything that was seen at a port.
#[derive(Default, Debug)]
pub struct Log {
    pub marked: Vec<Event>,
    /// What the AQM dropped.
    pub dropped: Vec<Event>,
    /// What was dropped otherwise.
    pub pushed_out: Vec<Event>,
    pub sent: Vec<Event>,
    /// The packets that the port counted as marked.
    pub counted_marks: u64,
}

impl Observer<u32> for Log {
    fn congestion_marked(&mut self, at: Time, packet: &Packet<u32>) {
        self.marked.push(Event::new(at, packet));
    }

    fn dropped(&mut self, at: Time, packet: Packet<u32>, reason: DropReason, _: &Occupancy) {
        let list = if reason == DropReason::Congestion { &mut self.dropped } else { &mut self.pushed_out };
        list.push(Event::new(at, &packet));
    }

    fn sent(&mut self, at: Time, packet: &Packet<u32>, _: Time, _: &Occupancy) {
        self.sent.push(Event::new(at, packet));
    }
}

impl Log {
    /// The wait in milliseconds that a part of a queue's packets did not exceed, from an instant on; those that were dropped count.
    fn wait(&self, queue: u32, from: Time, part: f64) -> f64 {
        let all = self.sent.iter().chain(&self.dropped).filter(|event| event.queue == queue && event.at.is_after(from));
        let mut waits: Vec<u64> = all.map(|event| event.waited.picoseconds()).collect();
        waits.sort_unstable();
        waits.get((waits.len() as f64 * part) as usize).map_or(0.0, |&wait| wait as f64 / 1e9)
    }

    /// The part of a queue among the packets that were sent.
    fn share(&self, queue: u32) -> f64 {
        self.sent.iter().filter(|event| event.queue == queue).count() as f64 / self.sent.len() as f64
    }
}

/// An instant in milliseconds.
pub const fn ms(ms: u64) -> Time {
    Time::from_picoseconds(ms * 1_000_000_000)
}

/// Carries packets through a bottleneck of this rate in kbit/s until an instant, or as long as there are any.
pub fn drive(discipline: &Discipline, kilobits: u64, trains: &[Vec<Arrival>], until: Time) -> Log {
    let mut arrivals = trains.concat();
    arrivals.sort_by_key(|arrival| arrival.at.picoseconds());
    let mut setup = discipline.port(Rate::new(1000 * kilobits).expect("a rate of a link"));
    setup.seed = 1;
    let (mut port, mut log) = (Port::new(Time::ZERO, setup), Log::default());
    for (payload, Arrival { at, queue, length, ecn }) in (0..).zip(arrivals) {
        port.advance(at, &mut log, |_| {});
        let packet = Packet { flow: Flow(queue), length, arrival: at, colour: Colour::Green, part: Part::Whole, ecn, payload };
        port.offer_packet(packet, &mut log);
    }
    port.advance(until, &mut log, |_| {});
    log.counted_marks = port.counters().marked.packets;
    log
}

/// Instants in units of this many microseconds, rounded.
fn instants(events: &[Event], unit: u64) -> Vec<f64> {
    let rounded = |event: &Event| (event.at.picoseconds() + 500_000 * unit) / (1_000_000 * unit);
    events.iter().map(|event| rounded(event) as f64).collect()
}

fn packets(events: &[Event]) -> Vec<f64> {
    events.iter().map(|event| f64::from(event.packet)).collect()
}

fn count(events: &[Event]) -> f64 {
    events.len() as f64
}

/// The first of them.
fn first(mut values: Vec<f64>, number: usize) -> Vec<f64> {
    values.truncate(number);
    values
}

/// The rate of the link in kbit/s.
const LINK: u64 = 10_000;
/// Longer than any run.
const FOREVER: Duration = Duration::from_seconds(3600);

fn codel() -> Discipline {
    Discipline { packets: 100_000, ..Discipline::one("codel", AqmKind::CoDel) }
}

/// C3 to C8: one queue under CoDel.
fn codel_gates() -> Vec<Gate> {
    let overload = |discipline: &Discipline, ecn, seconds: u64| {
        let end = ms(1000 * seconds + 1);
        drive(discipline, LINK, &[Train { ecn, ..Train::FLOOD }.between(Time::ZERO, end)], ms(1000 * seconds))
    };
    let dropped = overload(&codel(), Ecn::NotEct, 2);
    let drops = [125.0, 225.0, 296.0, 354.0, 404.0, 449.0, 489.0, 527.0, 563.0, 596.0];
    let numbers = [125.0, 226.0, 298.0, 357.0, 408.0, 454.0, 495.0, 534.0, 571.0, 605.0];
    let limit = |mark_limit| codel().with(AqmParameters { mark_limit: Some(mark_limit), ..AqmParameters::default() });
    let unlimited = overload(&limit(FOREVER), Ecn::Ect0, 2);
    let long: Vec<f64> = [FOREVER, Duration::from_milliseconds(100)]
        .iter()
        .flat_map(|&mark_limit| {
            let log = overload(&limit(mark_limit), Ecn::Ect0, 10);
            let last = log.marked.iter().chain(&log.dropped).max_by_key(|event| event.at.picoseconds());
            let waited = last.map_or(0, |event| event.waited.picoseconds() / 1_000_000_000);
            [count(&log.marked), count(&log.dropped), waited as f64]
        })
        .collect();
    let slow = AqmParameters {
        target: Some(Duration::from_milliseconds(5)),
        interval: Some(Duration::from_milliseconds(100)),
        ..AqmParameters::default()
    };
    let rare = Train { length: 1500, gap: Duration::from_milliseconds(90), ..Train::FLOOD };
    let rare = drive(&codel().with(slow), 128, &[rare.between(Time::ZERO, ms(4000))], ms(4000));
    let burst = |start| Train { gap: Duration::from_microseconds(100), ..Train::FLOOD }.between(ms(start), ms(start + 40));
    let bursts = drive(&codel(), LINK, &[burst(0), burst(1200)], ms(4000));
    let at = [106.0, 206.0, 277.0, 335.0, 385.0, 1306.0, 1356.0, 1401.0, 1442.0, 1480.0, 1515.0, 1549.0, 1580.0];
    let longest = rare.wait(0, Time::ZERO, 0.999_999);
    vec![
        Gate::exactly("C3, codel: instants of the first drops", "ms", first(instants(&dropped.dropped, 1000), 10), &drops),
        Gate::exactly("C3, codel: the packets", "number", first(packets(&dropped.dropped), 10), &numbers),
        Gate::exactly("C3, codel: drops in 2 s", "packets", vec![count(&dropped.dropped)], &[102.0]),
        Gate::exactly(
            "C4, codel: marks in place of drops, no limit",
            "packets, ms",
            [vec![count(&unlimited.marked), count(&unlimited.dropped)], first(instants(&unlimited.marked, 1000), 5)].concat(),
            &[102.0, 0.0, 125.0, 225.0, 296.0, 354.0, 404.0],
        ),
        Gate::exactly("C5, codel: drops of a slow link, longest wait", "packets, ms", vec![count(&rare.dropped), longest], &[0.0, 157.5]),
        Gate::exactly("C6, codel: drops of two bursts", "ms", instants(&bursts.dropped, 1000), &at),
        Gate::exactly(
            "C8, codel: marks, drops and last wait without and with `mark_limit`",
            "packets, ms",
            long,
            &[2511.0, 0.0, 2000.0, 136.0, 2375.0, 100.0],
        ),
    ]
}

/// F1 to F4, and what RFC 8290 says of flows: a queue per flow under CoDel.
fn fair_queueing_gates() -> Vec<Gate> {
    let drops_only = AqmParameters { ecn: Some(false), ..AqmParameters::default() };
    let fq_codel = Discipline::per_flow("fq-codel", AqmKind::CoDel).with(drops_only);
    // F2: queues of eight and two packets of 1000 bytes behind the one on the link, and one for a third.
    let at_once = |queue, packets| vec![Arrival { at: Time::ZERO, queue, length: 1000, ecn: Ecn::NotEct }; packets];
    let small = Discipline { packets: 10, ..fq_codel.clone() };
    let full = drive(&small, LINK, &[at_once(0, 9), at_once(1, 2), at_once(2, 1)], Time::ZERO);
    let gap = Duration::from_picoseconds(833_333_333);
    let sparse = Train { queue: 1, length: 64, gap: Duration::from_milliseconds(20), ..Train::FLOOD };
    let end = ms(4000);
    let beside = drive(&fq_codel, LINK, &[Train { gap, ..Train::FLOOD }.between(Time::ZERO, end), sparse.between(ms(7), end)], ms(14_000));
    let of = |queue| beside.sent.iter().filter(|event| event.queue == queue).count() as f64;
    // A flow of 4 Mbit/s that comes to two floods: one packet at a time, always to an empty queue.
    let more = Train { queue: 2, gap: Duration::from_microseconds(2500), ..Train::FLOOD };
    let floods = [0, 1].map(|queue| Train { queue, ..Train::FLOOD }.between(Time::ZERO, end));
    let [one, other] = floods;
    let shared = drive(&fq_codel, LINK, &[one, other, more.between(ms(100), end)], end);
    // One flood is dropped, the other marked.
    let marks = AqmParameters { mark_limit: Some(FOREVER), ..AqmParameters::default() };
    let marked = Train { queue: 1, ecn: Ecn::Ect0, ..Train::FLOOD };
    let pair = [Train::FLOOD.between(Time::ZERO, end), marked.between(Time::ZERO, end)];
    let pair = drive(&fq_codel.clone().with(marks), LINK, &pair, end);
    vec![
        Gate::exactly("F2, fq-codel: packets pushed out of the fattest queue", "number", packets(&full.pushed_out), &[1.0, 2.0, 3.0, 4.0]),
        Gate::exactly(
            "F4, fq-codel: a sparse flow beside a flood: packets sent, drops, sparse packets sent, worst wait",
            "packets, ms",
            vec![of(0), count(&beside.dropped), of(1), (beside.wait(1, Time::ZERO, 0.999_999) * 1000.0).round() / 1000.0],
            &[4328.0, 473.0, 200.0, 1.0],
        ),
        Gate::within(
            "fq-codel: share of a flow that runs empty beside two floods",
            "of the link",
            vec![shared.share(2)],
            &[1.0 / 3.0],
            0.01,
        ),
        Gate::within(
            "fq-codel: share of a flood that is dropped beside one that is marked",
            "of the link",
            vec![pair.share(0)],
            &[0.5],
            0.005,
        ),
    ]
}

/// P6, and the allowance for bursts: one queue under PIE.
fn pie_gates() -> Vec<Gate> {
    let pie = Discipline { packets: 100_000, ..Discipline::one("pie", AqmKind::Pie) };
    let end = ms(20_000);
    let log = drive(&pie, LINK, &[Train::FLOOD.between(Time::ZERO, ms(20_001))], end);
    let half = ms(10_000);
    let sent: Vec<Event> = log.sent.iter().filter(|event| event.at.is_after(half)).copied().collect();
    let sent = Log { sent, ..Log::default() };
    let hundredths = |part| (sent.wait(0, half, part) * 100.0).round() / 100.0;
    let pause = drive(&pie, LINK, &[Train::FLOOD.between(Time::ZERO, ms(5000)), Train::FLOOD.between(ms(15_000), end)], end);
    let next = pause
        .dropped
        .iter()
        .find(|event| event.at.is_after(half))
        .map_or(0.0, |event| event.at.since(ms(15_000)).picoseconds() as f64 / 1e9);
    vec![
        Gate::exactly(
            "P6, pie: instants of the first drops",
            "0.1 ms",
            first(instants(&log.dropped, 100), 6),
            &[3688.0, 4152.0, 4360.0, 4704.0, 4816.0, 5088.0],
        ),
        Gate::exactly(
            "P6, pie: drops in 20 s, median and 99 % of the wait",
            "packets, ms",
            vec![count(&log.dropped), hundredths(0.5), hundredths(0.99)],
            &[4981.0, 15.2, 24.4],
        ),
        Gate::at_least("pie: time without a drop after a pause", "ms", next, 150.0),
    ]
}

/// RED, COBALT and a step.
fn other_gates() -> Vec<Gate> {
    let end = ms(10_000);
    let marked = Train { ecn: Ecn::Ect0, ..Train::FLOOD };
    let curve = RedCurve { min: 12_500, max: 37_500, max_probability: Probability::from_millionths(20_000).unwrap_or_default() };
    let curve = AqmParameters { curve: Some(curve), ..AqmParameters::default() };
    let red = Discipline { packets: 100_000, ..Discipline::one("red", AqmKind::Red).with(curve) };
    let red = drive(&red, LINK, &[marked.between(Time::ZERO, end)], end);
    let cobalt = Discipline { packets: 100_000, ..Discipline::one("cobalt", AqmKind::Cobalt) };
    let early = drive(&cobalt, LINK, &[Train::FLOOD.between(Time::ZERO, ms(2001))], ms(2000));
    let short = Train { gap: Duration::from_microseconds(100), ..Train::FLOOD };
    let spells: Vec<_> = (0..10).map(|number| short.between(ms(450 * number), ms(450 * number + 40))).collect();
    let spells = drive(&cobalt, LINK, &spells, end);
    let twice = Train { gap: Duration::from_microseconds(500), ..Train::FLOOD };
    let [cobalt_flood, codel_flood] = [AqmKind::Cobalt, AqmKind::CoDel].map(|kind| {
        let discipline = Discipline { packets: 100, ..Discipline::per_flow("per flow", kind) };
        drive(&discipline, LINK, &[twice.between(Time::ZERO, end)], end)
    });
    let step = AqmParameters { mark_above: Some(12_500), ..AqmParameters::default() };
    let step = Discipline::one("step", AqmKind::Step).with(step);
    let burst = |ecn| vec![Arrival { at: Time::ZERO, queue: 0, length: 1250, ecn }; 20];
    let step = [Ecn::Ect0, Ecn::NotEct, Ecn::Ce].map(|ecn| drive(&step, LINK, &[burst(ecn)], ms(30)).counted_marks as f64);
    vec![
        Gate::at_least("red: drops of a flood that can be marked", "of the packets", count(&red.dropped) / 12_500.0, 0.15),
        Gate::at_most("red: its 99 % of the wait", "ms", red.wait(0, ms(5000), 0.99), 60.0),
        Gate::exactly(
            "K1, cobalt: instants of the first drops, drops in 2 s",
            "ms, packets",
            [first(instants(&early.dropped, 1000), 5), vec![count(&early.dropped)]].concat(),
            &[126.0, 197.0, 255.0, 305.0, 350.0, 111.0],
        ),
        Gate::exactly("cobalt: drops of ten bursts", "packets", vec![count(&spells.dropped)], &[275.0]),
        Gate::exactly(
            "cobalt, fq-codel: early drops of a flood of twice the link, which overflows",
            "packets",
            vec![count(&cobalt_flood.dropped), count(&codel_flood.dropped)],
            &[5791.0, 6589.0],
        ),
        Gate::exactly("step: marks of 20 packets at once: ECT(0), Not-ECT, CE", "packets", step.to_vec(), &[9.0, 0.0, 0.0]),
    ]
}

/// D5: what DualPI2 does to floods, classic ones, low-latency ones, and both.
fn dual_gates() -> Vec<Gate> {
    let end = ms(20_000);
    let run = |[classic, low]: [u64; 2]| {
        let train = |queue: u32, gap: u64| {
            let ecn = [Ecn::NotEct, Ecn::Ect1][queue as usize];
            let train = Train { queue, ecn, gap: Duration::from_microseconds(gap), ..Train::FLOOD };
            if gap == 0 { Vec::new() } else { train.between(Time::from_picoseconds(queue.into()), end) }
        };
        let discipline = Discipline { packets: 100_000, ..Discipline::dual_pi2() };
        drive(&discipline, LINK, &[train(0, classic), train(1, low)], end)
    };
    let side = |log: &Log, queue| {
        let half = ms(10_000);
        let of = |events: &[Event]| events.iter().filter(|event| event.queue == queue && event.at.is_after(half)).count() as f64;
        let all = of(&log.sent) + of(&log.dropped);
        let percent = |number: f64| (number / all * 1e4).round() / 1e2;
        let wait = |part| (log.wait(queue, half, part) * 100.0).round() / 100.0;
        vec![percent(of(&log.dropped)), percent(of(&log.marked)), wait(0.5), wait(0.99)]
    };
    let [classic, low, both, little] = [[800, 0], [0, 800], [1250, 1250], [5000, 800]].map(run);
    let unit = "% dropped, % marked, ms";
    let gate = |name: &str, measured, expected: &[f64]| Gate::exactly(format!("D5, dualpi2: {name}"), unit, measured, expected);
    vec![
        gate("a classic flood", side(&classic, 0), &[20.0, 0.0, 14.8, 15.2]),
        gate("a low-latency flood", side(&low, 1), &[19.99, 80.01, 14.8, 17.0]),
        gate("two floods", [side(&both, 0), side(&both, 1)].concat(), &[37.5, 0.0, 15.0, 16.5, 37.5, 62.5, 0.75, 2.0]),
        gate(
            "classic traffic beside a low-latency flood",
            [side(&little, 0), side(&little, 1)].concat(),
            &[29.76, 0.0, 17.0, 24.0, 31.24, 68.29, 1.2, 2.4],
        ),
    ]
}

fn gates() -> Vec<Gate> {
    [codel_gates(), fair_queueing_gates(), pie_gates(), other_gates(), dual_gates()].concat()
}

/// All transcripts.
pub fn rules(_: &dyn Fn(f64)) -> Figure {
    let source = "RFC 8033, 8289, 8290 and 9332, step by step";
    let mut figure = figure_of_floods("rules", "What AQMs do to packets that come whatever is lost", source);
    figure.note(&[
        "C, F, P, K and D are transcripts of a separately written model of the algorithms, packet by packet. COBALT's other numbers are ours.",
        "Floods have 12.5 Mbit/s in packets of 1250 bytes, on a link of 10 Mbit/s.",
    ]);
    figure.gates = gates();
    figure
}
