//! Tags and drops of the core's port, cell by cell, against the paper's pseudo-code of sections 3.1 and 3.2.
//!
//! The model is slow and shares no code with the port: it counts X, Yi, Li and Na anew for every frame, and keeps the leaky bucket in exact
//! integers. From the port it takes only the departures of cells.

use super::network::{CELL, CELLS, Case, LINK, Mechanisms};
use crate::figure::{Figure, Gate, Table};
use crate::prose;
use std::collections::VecDeque;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::port::Port;
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;
use tidegate_sim::random::Stream;

/// The buffer, in cells: small, so that every test of the rules decides often.
const BUFFER: u32 = 1200;
/// The loads of the three sources of a category, in multiples of their minimum rate.
const LOADS: [f64; 3] = [0.5, 1.5, 3.0];
/// The part of each source's frames that is tagged in the long run: `1 - 1/load`.
const TAGGED: [f64; 3] = [0.0, 1.0 / 3.0, 2.0 / 3.0];
/// Picoseconds of a run.
const LENGTH: u64 = 1_000_000_000_000;

/// The test that decided about a frame.
#[derive(Clone, Copy)]
enum Test {
    Below,
    Share,
    Excess,
    Refused,
}

/// The paper's rules, in cells.
#[derive(Clone, Copy)]
enum Rule {
    /// Tagged and untagged frames from these thresholds on.
    Thresholds(i128, i128),
    /// Selective drop with R, and Z in hundredths.
    Selective(i128, i128),
    /// Weighted buffer allocation with R, and Z in hundredths.
    Weighted(i128, i128),
}

/// The pseudo-code of section 3.1 for one connection. All amounts are in picoseconds times twice the product of both rates.
struct Bucket {
    minimum: i128,
    peak: i128,
    level: i128,
    last: i128,
    tagging: bool,
}

impl Bucket {
    fn tags(&mut self, now: u64, part: Part) -> bool {
        let (now, cell) = (i128::from(now), i128::from(CELL) * 8_000_000_000_000);
        let scale = 2 * self.minimum * self.peak;
        let interval = cell * 2 * self.peak;
        let half_tolerance = i128::from(2 * CELLS - 1) * cell * (self.peak - self.minimum);
        let drained = self.level - (now - self.last) * scale;
        if part.is_first() {
            self.tagging = drained > half_tolerance;
        }
        if !self.tagging {
            (self.level, self.last) = (drained.max(0) + interval, now);
        }
        self.tagging && !part.is_last()
    }
}

/// The model: a queue of cells per connection, true for a tagged cell.
struct Model {
    rule: Rule,
    link: i128,
    rates: Vec<i128>,
    buckets: Vec<Bucket>,
    tags: bool,
    queues: Vec<VecDeque<bool>>,
    refusing: Vec<bool>,
    /// The number of frames that each test decided.
    tests: [u32; 4],
}

impl Model {
    fn total(&self) -> i128 {
        self.queues.iter().map(|queue| queue.len() as i128).sum()
    }

    /// Section 3.2 for a frame that begins.
    fn judge(&self, flow: usize, is_tagged: bool) -> Test {
        let (x, y) = (self.total(), self.queues[flow].len() as i128);
        let untagged = self.queues[flow].iter().filter(|tagged| !**tagged).count() as i128;
        let active = self.queues.iter().filter(|queue| !queue.is_empty()).count() as i128;
        match self.rule {
            Rule::Thresholds(tagged, any) => {
                if x >= if is_tagged { tagged } else { any } {
                    Test::Refused
                } else {
                    Test::Below
                }
            }
            Rule::Selective(r, z) if x > r && 100 * y * active > z * x => Test::Refused,
            Rule::Selective(..) => Test::Below,
            Rule::Weighted(r, _) if x < r => Test::Below,
            // Wi is the rate over the link's; both sides are multiplied by the link's.
            Rule::Weighted(r, _) if untagged * self.link < r * self.rates[flow] && !is_tagged => Test::Share,
            Rule::Weighted(r, z) => {
                let beyond = (y * self.link - r * self.rates[flow]) * active * 100;
                if beyond < z * (x - r) * self.link { Test::Excess } else { Test::Refused }
            }
        }
    }

    /// The tag of a cell that arrives, and whether it stays.
    fn arrive(&mut self, now: u64, flow: usize, part: Part) -> (bool, bool) {
        let is_tagged = self.tags && self.buckets[flow].tags(now, part);
        if part.is_first() {
            let test = self.judge(flow, is_tagged);
            self.tests[test as usize] += 1;
            self.refusing[flow] = matches!(test, Test::Refused);
        }
        let has_room = self.total() < i128::from(BUFFER);
        let stays = has_room && (!self.refusing[flow] || part.is_last());
        self.refusing[flow] |= !has_room;
        if stays {
            self.queues[flow].push_back(is_tagged);
        }
        (is_tagged, stays)
    }
}

/// The port's decisions beside the model's.
struct Beside {
    model: Model,
    /// The port's decision on the cell that arrived: its tag, and whether it stays.
    decision: (bool, bool),
    /// Cells with another tag, cells accepted by one of the two only, and cells that left with another tag than the model's first.
    differing: [u32; 3],
}

impl Observer<()> for Beside {
    fn queued(&mut self, _now: Time, cell: &Packet<()>, _occupancy: &Occupancy) {
        self.decision = (cell.colour != Colour::Green, true);
    }

    fn dropped(&mut self, _now: Time, cell: Packet<()>, _reason: DropReason, _occupancy: &Occupancy) {
        self.decision = (cell.colour != Colour::Green, false);
    }

    fn sent(&mut self, _now: Time, cell: &Packet<()>, _finish: Time, _occupancy: &Occupancy) {
        let left = self.model.queues[cell.flow.index()].pop_front();
        self.differing[2] += u32::from(left != Some(cell.colour != Colour::Green));
    }
}

/// The cells of one source's frames: the time, the source and the part.
fn cells(source: usize, rate: f64) -> impl Iterator<Item = (u64, usize, Part)> {
    let mut random = Stream::new(1, source as u32, "decisions");
    let slot = f64::from(CELL) * 8e6 / LINK;
    let interval = f64::from(CELL * CELLS) * 8e6 / (rate * LOADS[source % 3]);
    let mut next = interval * random.uniform();
    std::iter::from_fn(move || {
        let start = next;
        next = (start + interval * (0.5 + random.uniform())).max(start + slot * f64::from(CELLS));
        Some(start)
    })
    .take_while(|&start| start < LENGTH as f64)
    .flat_map(move |start| {
        (0..CELLS).map(move |cell| ((start + slot * f64::from(cell)) as u64, source, Part::of(cell == 0, cell + 1 == CELLS)))
    })
}

/// One policy: the differences, the frames by test, and the tagged part of the frames by load.
fn compare(case: &Case, rule: Rule) -> ([u32; 3], [u32; 4], [f64; 3]) {
    let mut port: Port<()> = Port::new(Time::ZERO, case.bottleneck());
    let sources = case.targets.len();
    let link = i128::from(port.rate().bits_per_second());
    let rates: Vec<i128> = (0..sources).map(|source| i128::from(case.cell_rate(source).bits_per_second())).collect();
    let bucket = |&minimum: &i128| Bucket { minimum, peak: link, level: 0, last: 0, tagging: false };
    let model = Model {
        rule,
        link,
        buckets: rates.iter().map(bucket).collect(),
        rates,
        tags: case.mechanisms.is_some_and(|mechanisms| mechanisms.tagging),
        queues: vec![VecDeque::new(); sources],
        refusing: vec![true; sources],
        tests: [0; 4],
    };
    let mut arrivals: Vec<_> =
        (0..sources).flat_map(|source| cells(source, case.cell_rate(source).bits_per_second() as f64 / 1e6)).collect();
    arrivals.sort_by_key(|&(time, ..)| time);
    let mut beside = Beside { model, decision: (false, false), differing: [0; 3] };
    let (mut frames, mut tagged) = ([0.0; 3], [0.0; 3]);
    for (at, source, part) in arrivals {
        let now = Time::ZERO + tidegate_core::units::Duration::from_picoseconds(at);
        port.advance(now, &mut beside, |_| {});
        let cell =
            Packet { flow: Flow(source as u32), length: CELL, arrival: now, colour: Colour::Green, part, ecn: Ecn::NotEct, payload: () };
        port.offer_packet(cell, &mut beside);
        let (ours, expected) = (beside.decision, beside.model.arrive(at, source, part));
        beside.differing[0] += u32::from(ours.0 != expected.0);
        beside.differing[1] += u32::from(ours.1 != expected.1);
        if part.is_first() {
            frames[source % 3] += 1.0;
            tagged[source % 3] += f64::from(u8::from(ours.0));
        }
    }
    (beside.differing, beside.model.tests, [0, 1, 2].map(|load| tagged[load] / frames[load]))
}

/// Fifteen sources that send 0.5, 1.5 and 3 times their minimum rates regardless of losses.
pub(super) fn decisions(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = prose::figure(prose::GFR, "decisions");
    figure.note(&[&format!(
        "Fifteen sources in five categories send frames of {CELLS} cells at {}, {} and {} times their minimum rates for a second, to a buffer of {BUFFER} cells. \
         A slow model runs the pseudo-code on the same arrivals, with exact integers; it takes from the port only the order in which cells leave.",
        LOADS[0], LOADS[1], LOADS[2]
    )]);
    let whole = i128::from(BUFFER);
    let weighted = Rule::Weighted(whole / 2, 80);
    let unequal = |accounting, tagging, queueing| Case::unequal(Mechanisms::new(accounting, tagging, queueing), BUFFER);
    let runs = [
        ("weighted buffer allocation, tags", unequal(true, true, false), weighted),
        ("weighted buffer allocation, no tags", unequal(true, false, false), weighted),
        ("weighted buffer allocation, tags, queueing", unequal(true, true, true), weighted),
        ("thresholds, tags", unequal(false, true, false), Rule::Thresholds(whole / 2, whole * 9 / 10)),
        ("early packet discard, queueing", unequal(false, false, true), Rule::Thresholds(whole * 9 / 10, whole * 9 / 10)),
        ("selective drop, equal rates", Case::equal(15, BUFFER), Rule::Selective(whole * 9 / 10, 80)),
    ];
    let mut rows = Vec::new();
    for (number, (name, case, rule)) in runs.iter().enumerate() {
        let (differing, tests, tagged) = compare(case, *rule);
        let cells = |gate: &str| format!("{name}: cells with {gate} than the model's");
        for (gate, count) in ["another tag", "another fate", "another tag as they leave"].iter().zip(differing) {
            figure.gates.push(Gate::exactly(cells(gate), "cells", vec![f64::from(count)], &[0.0]));
        }
        let is_tagging = case.mechanisms.is_some_and(|mechanisms| mechanisms.tagging);
        let expected = if is_tagging { TAGGED } else { [0.0; 3] };
        figure.gates.push(Gate::within(format!("{name}: frames tagged at each load"), "of the source's", tagged.to_vec(), &expected, 0.01));
        let decided: Vec<usize> = if matches!(rule, Rule::Weighted(..)) { vec![0, 1, 2, 3] } else { vec![0, 3] };
        let decided = decided.into_iter().map(|test| f64::from(tests[test])).collect();
        figure.gates.push(Gate::all_at_least(format!("{name}: frames decided by each test"), "frames", decided, 50.0));
        let mut row = vec![(*name).to_owned()];
        row.extend(tests.map(|count| count.to_string()));
        row.extend(tagged.map(|part| format!("{part:.3}")));
        rows.push(row);
        progress((number + 1) as f64 / runs.len() as f64);
    }
    let head = ["policy", "X < R", "Li < R*Wi", "third test", "refused", "tagged at 0.5", "at 1.5", "at 3"];
    figure.tables.push(Table::new("Frames by the test that decided, and the part tagged at each load", &head, rows));
    figure
}
