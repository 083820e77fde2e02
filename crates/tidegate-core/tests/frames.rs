//! The policies for frames beside slow models of their definitions. The models count a list of the queued packets anew for every decision,
//! compare in exact rational arithmetic, and treat frames as wholes.

use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_core::buffer::{BufferField, BufferParameters, Guarantee, Reading, Scaling};
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::policer::{Contract, Policer, Verdict};
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::queue::Occupancy;
use tidegate_core::registry::{BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate, Time};

const FLOWS: usize = 5;
const KINDS: [BufferKind; 6] = [
    BufferKind::PartialPacketDiscard,
    BufferKind::EarlyPacketDiscard,
    BufferKind::TagSensitive,
    BufferKind::SelectiveDrop,
    BufferKind::FairBufferAllocation,
    BufferKind::WeightedBufferAllocation,
];

/// A rational number with a positive denominator.
#[derive(Clone, Copy)]
struct Ratio(i128, i128);

impl Ratio {
    fn of(number: u64) -> Ratio {
        Ratio(number.into(), 1)
    }
    fn plus(self, other: Ratio) -> Ratio {
        Ratio(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }
    fn minus(self, other: Ratio) -> Ratio {
        self.plus(Ratio(-other.0, other.1))
    }
    fn times(self, other: Ratio) -> Ratio {
        Ratio(self.0 * other.0, self.1 * other.1)
    }
    fn over(self, other: Ratio) -> Ratio {
        assert!(other.0 > 0);
        Ratio(self.0 * other.1, self.1 * other.0)
    }
    fn is_below(self, other: Ratio) -> bool {
        self.0 * other.1 < other.0 * self.1
    }
}

/// What a port did with a packet.
type Fate = Result<Colour, DropReason>;

/// A buffer by the book.
struct Model {
    kind: BufferKind,
    parameters: BufferParameters,
    /// Everything queued, in no particular structure: flow, length, colour.
    queued: Vec<(usize, u32, Colour)>,
    /// What was decided of each flow's present frame.
    frames: [Frame; FLOWS],
}

#[derive(Clone, Copy, PartialEq)]
enum Frame {
    None,
    Accepted,
    Refused,
    Broken,
}

impl Model {
    fn amount(&self, which: impl Fn(&(usize, u32, Colour)) -> bool) -> u64 {
        let chosen = self.queued.iter().filter(|packet| which(packet));
        if self.parameters.bytes.is_some() { chosen.map(|packet| u64::from(packet.1)).sum() } else { chosen.count() as u64 }
    }

    /// True if the rule refuses a frame of `flow` that begins with this colour.
    fn refuses(&self, flow: usize, colour: Colour) -> bool {
        let p = &self.parameters;
        let size = p.bytes.unwrap_or(p.packets.unwrap().into());
        let usual = if self.kind == BufferKind::WeightedBufferAllocation { 5 } else { 9 };
        let r = p.threshold.unwrap_or(size * usual / 10);
        let z = p.scaling.unwrap_or_default();
        let z = Ratio(z.numerator().into(), z.denominator().into());
        let x = self.amount(|_| true);
        let y = self.amount(|packet| packet.0 == flow);
        let l = self.amount(|packet| packet.0 == flow && packet.2 == Colour::Green);
        let na = (0..FLOWS).filter(|&flow| self.queued.iter().any(|packet| packet.0 == flow)).count() as u64;
        let [size, r_, x_, y_, l_, na] = [size, r, x, y, l, na].map(Ratio::of);
        let tagged = colour != Colour::Green;
        match self.kind {
            BufferKind::PartialPacketDiscard => false,
            BufferKind::EarlyPacketDiscard => x >= r,
            BufferKind::TagSensitive => {
                let low = p.tagged_threshold.unwrap_or((p.bytes.unwrap_or(p.packets.unwrap().into()) * 5 / 10).min(r));
                x >= r || tagged && x >= low
            }
            // Yi / (X / Na) > Z
            BufferKind::SelectiveDrop => x > r && z.is_below(y_.over(x_.over(na))),
            BufferKind::FairBufferAllocation => x > r && z.times(size.minus(r_)).over(x_.minus(r_)).is_below(y_.times(na).over(x_)),
            BufferKind::WeightedBufferAllocation => {
                let rate = p.guarantees.iter().find(|g| (g.first_flow.0..g.first_flow.0 + g.flows).contains(&(flow as u32)));
                let rate = rate.map_or(0, |guarantee| guarantee.rate.bits_per_second());
                let share = r_.times(Ratio(rate.into(), p.capacity.unwrap().bits_per_second().into()));
                let beyond = || !y_.minus(share).times(na).is_below(z.times(x_.minus(r_)));
                match (x < r, l_.is_below(share), tagged) {
                    (true, ..) | (false, true, false) => false,
                    (false, true, true) if p.reading == Some(Reading::Prose) => true,
                    _ => beyond(),
                }
            }
            other => panic!("{other:?} knows no frames"),
        }
    }

    fn offer(&mut self, flow: usize, length: u32, colour: Colour, part: Part) -> Fate {
        if part.is_first() {
            self.frames[flow] = if self.refuses(flow, colour) { Frame::Refused } else { Frame::Accepted };
        }
        let packets = self.queued.len() as u64;
        let bytes: u64 = self.queued.iter().map(|packet| u64::from(packet.1)).sum();
        let fits = packets < u64::from(self.parameters.packets.unwrap())
            && self.parameters.bytes.is_none_or(|size| bytes + u64::from(length) <= size);
        let is_end = part == Part::Last;
        let fate = match self.frames[flow] {
            _ if !fits => Err(DropReason::SharedLimit),
            Frame::Accepted => Ok(colour),
            _ if is_end => Ok(colour),
            Frame::Refused => Err(DropReason::EarlyDiscard),
            Frame::Broken | Frame::None => Err(DropReason::PartialFrame),
        };
        if !fits && self.frames[flow] == Frame::Accepted {
            self.frames[flow] = Frame::Broken;
        }
        if part.is_last() {
            self.frames[flow] = Frame::None;
        }
        if fate.is_ok() {
            self.queued.push((flow, length, colour));
        }
        fate
    }

    fn sent(&mut self, flow: usize, length: u32, colour: Colour) {
        let at = self.queued.iter().position(|packet| *packet == (flow, length, colour)).expect("what is sent was queued");
        self.queued.swap_remove(at);
    }
}

/// What the port has just done.
#[derive(Default)]
struct Watch {
    fate: Option<Fate>,
    sent: Vec<(usize, u32, Colour)>,
}

impl Observer<()> for Watch {
    fn queued(&mut self, _now: Time, packet: &Packet<()>, _occupancy: &Occupancy) {
        self.fate = Some(Ok(packet.colour));
    }
    fn dropped(&mut self, _now: Time, _packet: Packet<()>, reason: DropReason, _occupancy: &Occupancy) {
        self.fate = Some(Err(reason));
    }
    fn sent(&mut self, _now: Time, packet: &Packet<()>, _finish: Time, _occupancy: &Occupancy) {
        self.sent.push((packet.flow.index(), packet.length, packet.colour));
    }
}

fn rate() -> Rate {
    Rate::new(10_000_000).unwrap()
}

fn port(parameters: &BufferParameters, kind: BufferKind, scheduler: SchedulerKind) -> Port<()> {
    let all = ClassRules { name: "all".into(), queues: FLOWS as u32, rules: vec![] };
    Port::new(
        Time::ZERO,
        PortSetup {
            rate: rate(),
            overhead: Overhead::None,
            classifier: Classifier::new(vec![all], 0).unwrap(),
            policers: vec![None],
            aqms: Vec::new(),
            seed: 0,
            buffer: kind.build(parameters).unwrap(),
            scheduler: scheduler.build(&Setup::new(rate(), 1500), &[FlowParameters::default(); FLOWS]).unwrap(),
            packet_limit: parameters.packets.unwrap(),
            longest_frame: 1500,
            remarks: Default::default(),
        },
    )
}

/// One frame: flow, packets, colour of the first, time before each packet in sixteenths of a full one's.
#[derive(Clone, Debug)]
struct Sent {
    flow: usize,
    packets: usize,
    tagged: bool,
    pace: u8,
    /// True if all packets are cells, false if lengths vary.
    cells: bool,
}

fn frames() -> impl Strategy<Value = Vec<Vec<Sent>>> {
    let frame = |flow| {
        (1usize..8, any::<bool>(), prop_oneof![3 => 0u8..8, 1 => 8u8..40], prop::bool::weighted(0.8))
            .prop_map(move |(packets, tagged, pace, cells)| Sent { flow, packets, tagged, pace, cells })
    };
    (0..FLOWS).map(|flow| prop::collection::vec(frame(flow), 0..40)).collect::<Vec<_>>()
}

fn parameters() -> impl Strategy<Value = (BufferKind, BufferParameters)> {
    let kind = prop::sample::select(KINDS.to_vec());
    let guarantees = prop::collection::vec(0u64..=2_000_000, FLOWS);
    let scaling = (0u32..=10).prop_map(|tenths| Scaling::new(tenths, 10).unwrap());
    let thresholds = (prop::option::of(0.0..=1.0f64), prop::option::of(0.0..=1.0f64));
    (kind, 4u32..60, any::<bool>(), thresholds, prop::option::of(scaling), guarantees, any::<bool>()).prop_map(
        |(kind, packets, in_bytes, (threshold, tagged), scaling, rates, prose)| {
            let takes = |field| kind.accepts().contains(&field);
            let size = if in_bytes { u64::from(packets) * 53 } else { packets.into() };
            let threshold = threshold.filter(|_| takes(BufferField::Threshold)).map(|part| (part * size as f64) as u64);
            let highest = threshold.unwrap_or(size * 9 / 10);
            let tagged = tagged.filter(|_| takes(BufferField::TaggedThreshold)).map(|part| (part * highest as f64) as u64);
            let guarantee = |(flow, rate)| Some(Guarantee { first_flow: Flow(flow), flows: 1, rate: Rate::new(rate).ok()? });
            let guarantees = if takes(BufferField::Guarantees) { (0..).zip(rates).filter_map(guarantee).collect() } else { vec![] };
            let parameters = BufferParameters {
                flows: FLOWS,
                packets: Some(if in_bytes { 1000 } else { packets }),
                bytes: in_bytes.then_some(size.max(1500)),
                threshold,
                tagged_threshold: tagged,
                scaling: scaling.filter(|_| takes(BufferField::Scaling)),
                guarantees,
                capacity: Some(rate()),
                reading: (prose && takes(BufferField::Reading)).then_some(Reading::Prose),
                ..BufferParameters::default()
            };
            (kind, parameters)
        },
    )
}

/// What became of a frame's packets, and whether any of them found the buffer full.
struct Story {
    tagged: bool,
    flow: usize,
    fates: Vec<Fate>,
    /// What the flow had untagged in the buffer when the frame began.
    untagged: u64,
}

/// Plays all frames, the flows' packets interleaved by the order drawn, on port and model.
fn play(
    kind: BufferKind,
    parameters: &BufferParameters,
    scheduler: SchedulerKind,
    frames: &[Vec<Sent>],
    order: &[prop::sample::Index],
) -> Result<Vec<Story>, TestCaseError> {
    let mut port = port(parameters, kind, scheduler);
    let mut model = Model { kind, parameters: parameters.clone(), queued: Vec::new(), frames: [Frame::None; FLOWS] };
    let packets = |frame: &Sent| {
        let Sent { flow, packets, tagged, pace, cells } = *frame;
        (0..packets).map(move |number| {
            let length = if cells { 53 } else { 40 + (number as u32 * 997 + u32::from(pace) * 31) % 1460 };
            let colour = if tagged != (number % 5 == 4) { Colour::Yellow } else { Colour::Green };
            (flow, length, colour, Part::of(number == 0, number + 1 == packets), pace)
        })
    };
    let mut waiting: Vec<VecDeque<_>> = frames.iter().map(|frames| frames.iter().flat_map(packets).collect()).collect();
    let mut now = Time::ZERO;
    let mut watch = Watch::default();
    let mut stories: Vec<Story> = Vec::new();
    let mut present: [Option<Story>; FLOWS] = Default::default();
    for turn in 0.. {
        let left: Vec<usize> = (0..FLOWS).filter(|&flow| !waiting[flow].is_empty()).collect();
        if left.is_empty() {
            break;
        }
        let (flow, length, colour, part, pace) = waiting[left[order[turn % order.len()].index(left.len())]].pop_front().unwrap();
        now += Duration::from_picoseconds(rate().time_per_byte().ceil(53).picoseconds() * u64::from(pace) / 16);
        port.advance(now, &mut watch, |_| {});
        watch.sent.drain(..).for_each(|(flow, length, colour)| model.sent(flow, length, colour));
        let untagged = model.amount(|packet| packet.0 == flow && packet.2 == Colour::Green);
        let expected = model.offer(flow, length, colour, part);
        port.offer_packet(
            Packet { flow: Flow(flow as u32), length, arrival: now, colour, part, ecn: Ecn::NotEct, payload: () },
            &mut watch,
        );
        let fate = watch.fate.take().unwrap();
        prop_assert_eq!(fate, expected, "{} of {} bytes of flow {} as {:?} at packet {}", colour.name(), length, flow, part, turn);
        prop_assert!(port.check().is_ok());
        if part.is_first() {
            present[flow] = Some(Story { tagged: colour != Colour::Green, flow, fates: vec![], untagged });
        }
        let story = present[flow].as_mut().unwrap();
        story.fates.push(fate);
        if part.is_last() {
            stories.extend(present[flow].take());
        }
    }
    Ok(stories)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6 * ProptestConfig::default().cases))]

    #[test]
    fn managers_of_frames_do_what_their_definitions_say(
        (kind, parameters) in parameters(),
        scheduler in prop::sample::select(vec![SchedulerKind::Fifo, SchedulerKind::SelfClocked]),
        frames in frames(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let stories = play(kind, &parameters, scheduler, &frames, &order)?;
        for Story { tagged, flow, fates, untagged } in stories {
            let is_full = |fate: &Fate| *fate == Err(DropReason::SharedLimit);
            let (end, body) = fates.split_last().unwrap();
            if !fates.iter().any(is_full) {
                // Whole but for a full buffer; the end of several is kept whatever became of the rest.
                prop_assert!(body.windows(2).all(|pair| pair[0].is_ok() == pair[1].is_ok()), "{:?}", fates);
                prop_assert!(body.is_empty() || end.is_ok(), "{:?}", fates);
            }
            // Nothing but the end follows a loss.
            if let Some(loss) = body.iter().position(Result::is_err) {
                prop_assert!(body[loss..].iter().all(Result::is_err), "{:?}", fates);
            }
            let guarantee = parameters.guarantees.iter().find(|guarantee| guarantee.first_flow.index() == flow);
            if let (BufferKind::WeightedBufferAllocation, Some(guarantee)) = (kind, guarantee) {
                let size = parameters.bytes.unwrap_or(parameters.packets.unwrap().into());
                let threshold = parameters.threshold.unwrap_or(size * 5 / 10);
                let share = u128::from(threshold) * u128::from(guarantee.rate.bits_per_second());
                if !tagged && u128::from(untagged) * u128::from(rate().bits_per_second()) < share {
                    prop_assert!(fates[0] != Err(DropReason::EarlyDiscard), "a flow below its share was refused");
                }
            }
        }
    }

    /// The frame test of the paper, cell by cell in exact arithmetic; X and LCT of the paper in units of 1 / (MCR * PCR).
    #[test]
    fn the_gfr_policer_is_the_papers(
        slots in (2u64..2000, 1u64..100),
        maximum in 1u32..20,
        burst in 1u32..60,
        tolerance in 0u64..5000,
        frames in prop::collection::vec((1u32..20, prop::bool::weighted(0.8), 0u64..200, 0u64..8), 1..60),
    ) {
        // Cells of four bytes in nanoseconds: one cell in n at the minimum and at the peak rate, which divide 32 Gbit/s.
        let (minimum, peak) = (divisor(slots.0), divisor(slots.1.min(slots.0)));
        let interval = |every: u64| Rate::new(32_000_000_000 / every).unwrap();
        let contract = Contract {
            peak_rate: Some(interval(peak)),
            maximum_frame: Some(4 * maximum),
            burst: Some(4 * burst.max(maximum)),
            delay_variation_tolerance: Some(Duration::from_nanoseconds(tolerance)),
            ..Contract::new(interval(minimum), 4)
        };
        let mut policer = PolicerKind::Gfr.build(&contract).unwrap();
        // Twice all times, for BT / 2.
        let limit = 2 * tolerance + u64::from(burst.max(maximum) - 1) * (minimum - peak);
        let (mut x, mut lct, mut tagging, mut now) = (0i128, 0i128, false, 0u64);
        for (cells, green, pause, pace) in frames {
            now += pause;
            for cell in 0..cells {
                now += pace;
                let (t, increment) = (2 * i128::from(now), 2 * i128::from(minimum));
                let mut x1 = x - (t - lct);
                if cell == 0 {
                    if x1 < 0 {
                        (x1, tagging) = (0, false);
                    } else {
                        tagging = x1 > i128::from(limit);
                    }
                    // The paper's sources do not tag; one that does has its frame tagged.
                    tagging |= !green;
                }
                if !tagging {
                    (x, lct) = (x1.max(0) + increment, t);
                }
                let colour = if green { Colour::Green } else { Colour::Yellow };
                let tags = tagging && green && (cell + 1 < cells || cells == 1);
                let expected = if tags { Verdict::Mark(Colour::Yellow) } else { Verdict::Conform };
                let part = Part::of(cell == 0, cell + 1 == cells);
                prop_assert_eq!(policer.police_part(Time::from_nanoseconds(now), 4, colour, part), expected);
            }
            tagging = false;
        }
    }

    /// Traffic Management 4.1: three tests for each cell, F-GCRA for the frame; what conforms not, or follows it in its frame, is dropped but for
    /// the end of a frame of which something has passed.
    #[test]
    fn the_tm41_policer_keeps_its_tests(
        slots in (2u64..2000, 1u64..100),
        maximum in 1u32..12,
        burst in 1u32..60,
        tolerance in 0u64..5000,
        frames in prop::collection::vec((1u32..14, prop::bool::weighted(0.8), prop::option::weighted(0.1, 0u32..14), 0u64..200, 0u64..8), 1..60),
    ) {
        let (minimum, peak) = (divisor(slots.0), divisor(slots.1.min(slots.0)));
        let interval = |every: u64| Rate::new(32_000_000_000 / every).unwrap();
        let burst = burst.max(maximum);
        let contract = Contract {
            peak_rate: Some(interval(peak)),
            maximum_frame: Some(4 * maximum),
            burst: Some(4 * burst),
            delay_variation_tolerance: Some(Duration::from_nanoseconds(tolerance)),
            ..Contract::new(interval(minimum), 4)
        };
        let mut policer = PolicerKind::GfrTm41.build(&contract).unwrap();
        let limit = i128::from(tolerance + u64::from(burst - 1) * (minimum - peak));
        // Theoretical arrival times, the other form of both buckets.
        let (mut of_peak, mut of_minimum, mut now) = (0i128, 0i128, 0u64);
        for (cells, green, odd_cell, pause, pace) in frames {
            now += pause;
            let (mut broken, mut passed, mut eligible) = (false, false, false);
            for cell in 0..cells {
                now += pace;
                let t = i128::from(now);
                let is_last = cell + 1 == cells;
                let clp0 = green != (cell > 0 && odd_cell == Some(cell));
                let in_peak = of_peak - t <= i128::from(tolerance);
                let fits = if is_last { cell < maximum } else { cell + 1 < maximum };
                broken |= !(in_peak && clp0 == green && fits);
                if cell == 0 {
                    eligible = !broken && clp0 && of_minimum - t <= limit;
                }
                let passes = !broken || is_last && cells > 1 && in_peak && passed;
                let expected = match (passes, broken, eligible) {
                    (false, ..) => Verdict::Discard,
                    (true, false, false) if clp0 => Verdict::Mark(Colour::Yellow),
                    _ => Verdict::Conform,
                };
                if passes {
                    passed = true;
                    of_peak = of_peak.max(t) + i128::from(peak);
                }
                if eligible && !broken {
                    of_minimum = of_minimum.max(t) + i128::from(minimum);
                }
                let colour = if clp0 { Colour::Green } else { Colour::Yellow };
                let part = Part::of(cell == 0, is_last);
                prop_assert_eq!(policer.police_part(Time::from_nanoseconds(now), 4, colour, part), expected, "cell {} of {}", cell, cells);
            }
        }
    }
}

/// The largest divisor of 32,000 that is not above `most`: a rate whose cells take a whole number of ticks.
fn divisor(most: u64) -> u64 {
    (1..=most).rev().find(|divisor| 32_000 % divisor == 0).unwrap()
}
