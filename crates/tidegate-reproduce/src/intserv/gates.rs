//! The gates M to A: one or two ports under streams that tell the rules of the node apart. The paper's own runs are blind to most of them.

use super::bench::{Emits, MILLISECOND, Records, SECOND, Span, Stream, Tag, run, run_with};
use super::node::{LINK, Member, Options, node, parameters};
use super::packets::mbps;
use crate::figure::Gate;
use tidegate_core::admission::{Demand, Link, LinkSettings, TrafficSpec};
use tidegate_core::packet::Flow;
use tidegate_core::port::{Leaving, Port};
use tidegate_core::units::Time;
use tidegate_sim::random::Stream as Random;

/// A run of every scenario: the seed, and a factor on its loads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Draw {
    pub seed: u64,
    pub x: f64,
}

/// Eight seeds and three loads, or one each.
pub fn draws(short: bool) -> Vec<Draw> {
    if short {
        return [(1, 1.0), (2, 1.0), (3, 0.8), (4, 1.2)].map(|(seed, x)| Draw { seed, x }).to_vec();
    }
    (1..=8).flat_map(|seed| [0.8, 1.0, 1.2].map(|x| Draw { seed, x })).collect()
}

/// A second that is not counted, and nine that are.
fn span(draw: Draw) -> Span {
    Span { warm_up: SECOND, end: 10 * SECOND, seed: draw.seed }
}

const BEST_EFFORT: Member = Member::best_effort();

/// Exponential starts with this mean, as a scenario's own random numbers.
fn starts(draw: Draw, count: usize, mean: u64) -> Vec<u64> {
    let mut random = Random::new(draw.seed, 0, "starts");
    (0..count).map(|_| (random.exponential() * mean as f64) as u64).collect()
}

fn backlog() -> Stream {
    Stream::new(Emits::Backlog, 0)
}

/// One port with these flows.
fn one_port(flows: Vec<(Member, Stream)>, options: &Options, span: Span) -> Records {
    let (members, streams): (Vec<_>, Vec<_>) = flows.into_iter().map(|(member, stream)| (Some(member), stream)).unzip();
    run(node(&members, options), &streams, span)
}

/// One number per draw that a gate holds to limits.
struct Measure {
    id: &'static str,
    what: &'static str,
    unit: &'static str,
    measured: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

/// The numbers of all draws, by gate.
#[derive(Default)]
pub struct Measures(Vec<Measure>);

impl Measures {
    fn add(&mut self, id: &'static str, what: &'static str, unit: &'static str, measured: f64, low: f64, high: f64) {
        let measure = match self.0.iter().position(|measure| measure.id == id) {
            Some(place) => &mut self.0[place],
            None => {
                let (measured, low, high) = (Vec::new(), Vec::new(), Vec::new());
                self.0.push(Measure { id, what, unit, measured, low, high });
                let last = self.0.len() - 1;
                &mut self.0[last]
            }
        };
        measure.measured.push(measured);
        measure.low.push(low);
        measure.high.push(high);
    }

    fn gates(self) -> Vec<Gate> {
        let gate = |Measure { id, what, unit, measured, low, high }: Measure| {
            let high = high.iter().all(|high| high.is_finite()).then_some(high);
            let low = low.iter().all(|low| low.is_finite()).then_some(low);
            Gate::between(format!("{id}: {what}"), unit, measured, low, high)
        };
        self.0.into_iter().map(gate).collect()
    }
}

/// No lower limit.
const NONE: f64 = f64::NEG_INFINITY;
/// No upper limit.
const ANY: f64 = f64::INFINITY;

/// One scenario: what it adds to the measures of a draw.
type Scenario = fn(Draw, &mut Measures);

/// The scenarios by letter.
pub const SCENARIOS: [(&str, Scenario); 8] = [
    ("M", marking),
    ("S", shaping),
    ("P", push_out),
    ("Q", push_out_plus),
    ("L", longest_queue),
    ("W", weights),
    ("D", threshold),
    ("A", adaptive_rates),
];

/// All gates of a scenario over these draws.
pub fn gates(scenario: Scenario, draws: &[Draw]) -> Vec<Gate> {
    let mut measures = Measures::default();
    draws.iter().for_each(|&draw| scenario(draw, &mut measures));
    measures.gates()
}

/// M: one flow of controlled load at twice its rate, and a second node with room for it.
fn marking(draw: Draw, measures: &mut Measures) {
    let (span, rate) = (span(draw), 2.0 * draw.x);
    let options = Options::literal();
    let first = one_port(vec![(Member::controlled(1.0, 0), Stream::new(Emits::Constant(rate), 0))], &options, span);
    let between = |&(at, colour): &(u64, _)| (at + 9 * MILLISECOND / 1000, colour);
    let given = Emits::Given(first.flows[0].departures.iter().map(between).collect());
    let second = one_port(vec![(Member::controlled(2.6 * draw.x, 1), Stream::new(given, 0))], &options, span);
    let (first_flow, second_flow) = (&first.flows[0], &second.flows[0]);
    let marked = first_flow.marked as f64 / (first_flow.marked + first_flow.unmarked) as f64;
    let share = 1.0 - 1.0 / rate.ceil();
    measures.add("M1", "marked on arrival at the second node", "of all", marked, share - 0.01, share + 0.01);
    measures.add("M2", "marked behind it", "packets", second_flow.marked as f64, 0.0, 0.0);
    let in_profile = rate / rate.ceil();
    measures.add("M3", "in profile at the first node", "Mbit/s", first.in_profile(0, span), in_profile - 0.01, in_profile + 0.01);
    measures.add("order M", "reordered", "packets", (first.reordered() + second.reordered()) as f64, 0.0, 0.0);
}

/// S: four guaranteed flows in one phase above a backlogged flow of controlled load.
fn shaping(draw: Draw, measures: &mut Measures) {
    let (span, rate) = (span(draw), 1.5 * draw.x.min(1.0));
    // The way to the node takes 109 us: their packets come while one of lower priority is being sent.
    let start = MILLISECOND + 109 * MILLISECOND / 1000;
    let mut flows = vec![(Member::guaranteed(rate, 15, 0), Stream::new(Emits::Constant(rate), start)); 4];
    flows.push((Member::controlled(3.9, 0), backlog()));
    flows.extend([(BEST_EFFORT, backlog()), (BEST_EFFORT, backlog())]);
    let records = one_port(flows, &Options::literal(), span);
    measures.add("S1", "controlled load in profile", "Mbit/s", records.in_profile(4, span), 3.88, 3.92);
    let longest = records.flows[..4].iter().map(|flow| flow.longest_ms).fold(0.0, f64::max);
    measures.add("S2", "longest delay of guaranteed flows", "ms", longest, NONE, 0.72);
    measures.add("order S", "reordered", "packets", records.reordered() as f64, 0.0, 0.0);
}

/// P: four guaranteed flows in bursts, and three whose marked packets flood the partition of 50.
fn push_out(draw: Draw, measures: &mut Measures) {
    let span = span(draw);
    let (bursts, floods) = (starts(draw, 4, 10 * MILLISECOND), starts(draw, 7, MILLISECOND));
    let burst = |start: &u64| (Member::guaranteed(1.2, 10, 0), Stream::new(Emits::Bursts { packets: 10, rate: 0.95 }, *start));
    let flood = |start: &u64| (Member::guaranteed(0.5, 10, 0), Stream::marked(Emits::Bursts { packets: 1, rate: 2.0 * draw.x }, *start));
    let mut flows: Vec<_> = bursts.iter().map(burst).chain(floods[4..].iter().map(flood)).collect();
    flows.extend([(BEST_EFFORT, backlog()), (BEST_EFFORT, backlog())]);
    let options = Options { partitions: [50, 500, 1000], ..Options::literal() };
    let records = one_port(flows, &options, span);
    let lost: u64 = records.flows[..4].iter().map(|flow| flow.lost_unmarked).sum();
    measures.add("P1", "unmarked packets lost", "packets", lost as f64, 0.0, 0.0);
    let again = records.same_again as f64 / records.pushed_out as f64;
    measures.add("P2", "the same flow pushed out twice running", "of all", again, 0.29, 0.38);
    let losses: Vec<f64> = records.flows[4..7].iter().map(|flow| 100.0 * flow.lost_marked as f64 / flow.offered as f64).collect();
    let (least, most) = (losses.iter().copied().fold(ANY, f64::min), losses.iter().copied().fold(0.0, f64::max));
    measures.add("P3", "losses of the flooding flows apart", "percent", most - least, NONE, 6.0);
    measures.add("P4", "the least of them", "percent", least, 5.0, ANY);
    let in_profile = (4..7).map(|flow| records.in_profile(flow, span)).fold(0.0, f64::max);
    measures.add("P5", "in profile of each flooding flow", "Mbit/s", in_profile, NONE, 0.51);
}

/// Q: four flows of controlled load in bursts, and one that does not conform.
fn push_out_plus(draw: Draw, measures: &mut Measures) {
    let span = span(draw);
    let begin = starts(draw, 4, 10 * MILLISECOND);
    let burst = |(flow, start): (usize, &u64)| {
        let start = if flow == 0 { 0 } else { *start };
        (Member::controlled(1.2, 0), Stream::new(Emits::Bursts { packets: 15, rate: 0.95 }, start))
    };
    let mut flows: Vec<_> = begin.iter().enumerate().map(burst).collect();
    flows.push((Member::controlled(1.0, 0), Stream::new(Emits::Bursts { packets: 1, rate: 9.0 }, 50 * MILLISECOND)));
    flows.extend([(BEST_EFFORT, backlog()), (BEST_EFFORT, backlog())]);
    let options = Options { partitions: [500, (100.0 * draw.x) as u32, 1000], ..Options::literal() };
    let records = one_port(flows, &options, span);
    let lost: u64 = records.flows[..4].iter().map(|flow| flow.lost_unmarked).sum();
    measures.add("Q1", "packets of conforming flows lost unmarked", "packets", lost as f64, 0.0, 0.0);
    measures.add("Q2", "in profile of the flow that does not conform", "Mbit/s", records.in_profile(4, span), 0.99, 1.01);
    let drained = 100.0 * draw.x / records.sent(4, span).max(1e-9);
    measures.add("Q3", "its longest delay", "times buffer / rate", records.flows[4].longest_ms / drained, NONE, 0.55);
    let (best, excess) = (records.sent(5, span) + records.sent(6, span), records.sent_marked(0..5, span));
    measures.add("Q4", "best effort beside out of profile", "of both", best / (best + excess).max(1e-9), 0.49, 0.51);
}

/// L: eight bursty flows of controlled load of different rates.
fn longest_queue(draw: Draw, measures: &mut Measures) {
    let begin = starts(draw, 8, 10 * MILLISECOND);
    let flow = |(flow, start): (usize, &u64)| {
        let rate = 0.3 + 0.2 * flow as f64;
        (Member::controlled(rate, 0), Stream::new(Emits::Bursts { packets: 25, rate: 1.25 * rate }, *start))
    };
    let mut flows: Vec<_> = begin.iter().enumerate().map(flow).collect();
    flows.extend([(BEST_EFFORT, backlog()), (BEST_EFFORT, backlog())]);
    let options = Options { partitions: [500, (100.0 * draw.x) as u32, 1000], ..Options::literal() };
    let records = one_port(flows, &options, span(draw));
    let hits = records.from_a_longest as f64 / records.pushed_unmarked as f64;
    measures.add("L1", "packets pushed out of a longest queue", "of all", hits, 0.42, ANY);
}

/// W: weights 3:1 between a backlogged flow of controlled load and eight of best effort; then one that begins late.
fn weights(draw: Draw, measures: &mut Measures) {
    let span = span(draw);
    let mut flows = vec![(Member::controlled(1.5 * draw.x, 0), backlog())];
    flows.extend(vec![(BEST_EFFORT, backlog()); 8]);
    let records = one_port(flows, &Options::literal().weights(3, 1), span);
    let best: Vec<f64> = (1..9).map(|flow| records.sent(flow, span)).collect();
    let (excess, all) = (records.sent_marked(0..1, span), best.iter().sum::<f64>());
    measures.add("W1", "out of profile beside best effort", "of both", excess / (excess + all).max(1e-9), 0.745, 0.755);
    let rate = 1.5 * draw.x;
    measures.add("W2", "in profile", "Mbit/s", records.in_profile(0, span), rate - 0.01, rate + 0.01);
    let (least, most) = (best.iter().copied().fold(ANY, f64::min), best.iter().copied().fold(0.0, f64::max));
    measures.add("W3", "best-effort flows apart", "most / least", most / least, NONE, 1.02);
    let late = Span { warm_up: 2 * SECOND, end: 2 * SECOND + 20 * MILLISECOND, seed: draw.seed };
    let flows = vec![(Member::controlled(0.1, 0), Stream::new(Emits::Backlog, 2 * SECOND)), (BEST_EFFORT, backlog())];
    let records = one_port(flows, &Options::literal(), late);
    let (excess, best) = (records.sent_marked(0..1, late), records.sent(1, late));
    measures.add("W4", "out of profile after best effort was alone", "of both", excess / (excess + best).max(1e-9), 0.48, 0.52);
}

/// D: four best-effort flows that send ten times what they can get.
fn threshold(draw: Draw, measures: &mut Measures) {
    let flow = |flow: u64| (BEST_EFFORT, Stream::new(Emits::Constant(10.0 * draw.x), flow * MILLISECOND / 1000));
    let records = one_port((0..4).map(flow).collect(), &Options::literal(), span(draw));
    measures.add("D1", "mean queue", "packets", records.queue_sum / records.samples as f64, 199.0, 201.0);
}

/// A: controlled load shares what guaranteed flows leave, which come and go.
fn adaptive_rates(draw: Draw, measures: &mut Measures) {
    let span = Span { warm_up: 0, end: 20 * SECOND, seed: draw.seed };
    let phases = starts(draw, 6, MILLISECOND);
    let guaranteed = |start: u64, stop: u64| {
        let stream = Stream { stop, ..Stream::new(Emits::Constant(1.5), start) };
        (Some(Member::guaranteed(1.5, 15, 0)), stream)
    };
    let controlled = |start: u64| (Some(Member::controlled(1.0, 0)), Stream::new(Emits::Backlog, start));
    let (mut members, mut streams) = (Vec::new(), Vec::new());
    let returned = 15 * SECOND + MILLISECOND;
    let flows = [
        guaranteed(phases[0], 5 * SECOND),
        guaranteed(phases[1], 5 * SECOND),
        guaranteed(phases[2], u64::MAX),
        guaranteed(phases[3], u64::MAX),
        controlled(MILLISECOND),
        controlled(MILLISECOND),
        controlled(10 * SECOND + MILLISECOND),
        guaranteed(returned + phases[4], u64::MAX),
        guaranteed(returned + phases[5], u64::MAX),
        (Some(BEST_EFFORT), backlog()),
    ];
    for (member, stream) in flows {
        members.push(member);
        streams.push(stream);
    }
    let options = Options::literal();
    let mut link = Link::new(LinkSettings::new(mbps(LINK), 1000, 500_000)).expect("the settings are the paper's");
    let controlled_load = Demand::ControlledLoad(TrafficSpec::new(1000, 20_000, mbps(1.0), mbps(3.0)).expect("a bucket of 20 packets"));
    let reserved = Demand::Guaranteed { rate: 1_500_000, buffer: 15_000 };
    let demand = |flow: usize| if members[flow].is_some_and(|member| member.rate == 1.5) { reserved } else { controlled_load };
    let mut act = |now: u64, port: &mut Port<Tag>| {
        let at = Time::from_picoseconds(now);
        let (comes, goes): (&[usize], &[usize]) = match now / SECOND {
            0 => (&[0, 1, 2, 3, 4, 5], &[6, 7, 8]),
            5 => (&[], &[0, 1]),
            10 => (&[6], &[]),
            _ => (&[7, 8], &[]),
        };
        for &flow in goes {
            link.release(flow as u64);
            port.remove_flow(at, Flow(flow as u32), Leaving::Drain, &mut ());
        }
        for &flow in comes {
            link.provision(flow as u64, demand(flow)).expect("a link has room for nine flows");
        }
        for (flow, member) in members.iter().enumerate() {
            let Some(rate) = link.rate_of(flow as u64) else { continue };
            let member = Member { rate: rate as f64 / 1e6, ..member.expect("every flow is a member") };
            port.change_flow(at, Flow(flow as u32), &parameters(&member, &options)).expect("rates are given");
        }
        match now / SECOND {
            0 => Some(5 * SECOND + 20 * MILLISECOND),
            5 => Some(10 * SECOND),
            10 => Some(15 * SECOND),
            _ => None,
        }
    };
    // Places are filled as flows come; the rates before do not matter.
    let places: Vec<Option<Member>> = members.iter().map(|member| member.map(|member| Member { rate: 0.001, ..member })).collect();
    let records = run_with(node(&places, &options), &streams, span, &mut act);
    for (phase, expected) in [2.0, 3.0, 7.0 / 3.0, 4.0 / 3.0].into_iter().enumerate() {
        let (from, to) = ((5 * phase as u64 + 1) * SECOND, (5 * phase as u64 + 5) * SECOND - MILLISECOND);
        for flow in [4, 5] {
            let is_in = |&&(at, colour): &&(u64, _)| (from..to).contains(&at) && colour == tidegate_core::packet::Colour::Green;
            let sent = records.flows[flow].departures.iter().filter(is_in).count();
            let rate = sent as f64 * 1e-3 / ((to - from) as f64 * 1e-12);
            measures.add("A1", "in profile of each flow of controlled load", "of its rate", rate / expected, 0.99, 1.01);
        }
    }
}
