//! The engine for many streams against the scan: both take the same decisions.

extern crate std;

use crate::dwcs::{Choice, Dwcs, Early, GroupedDwcs, Missed, Order, Request, Rules, Scan, Service, Stream, Window, resolve};
use crate::packet::Flow;
use alloc::vec::Vec;
use proptest::prelude::*;

/// An event at an engine; streams are taken modulo their number.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet arrives.
    Arrive(u32),
    /// This many decisions are taken and carried out; each service takes this many ticks.
    Serve(u32, u64),
    /// A queue loses its head.
    Lose(u32),
    /// Time passes.
    Pause(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => any::<u32>().prop_map(Step::Arrive),
        6 => (1u32..8, prop_oneof![6 => Just(1u64), 1 => 0u64..5]).prop_map(|(times, long)| Step::Serve(times, long)),
        1 => any::<u32>().prop_map(Step::Lose),
        1 => prop_oneof![3 => 0u64..4, 1 => 0u64..200, 1 => 0u64..1 << 45].prop_map(Step::Pause),
    ];
    prop::collection::vec(step, 0..400)
}

fn streams() -> impl Strategy<Value = Vec<Stream>> {
    let window = (0u32..9, 0u32..9).prop_map(|(one, other)| Window::new(one.min(other), one.max(other)));
    let period = prop_oneof![4 => Just(1u64), 3 => 1u64..5, 1 => 1u64..40, 1 => Just(1000u64)];
    let stream = (window, period, prop::option::weighted(0.2, 0u64..20), 0u32..3, 0u32..20).prop_map(
        |(window, period, first_deadline, penalty, sort)| {
            let stream = Stream { first_deadline, penalty, droppable: sort < 3, ..Stream::windowed(window, period) };
            match sort {
                3 => Stream::static_priority(penalty),
                4 => Stream::without_deadline(window),
                5 => Stream::earliest_deadline(period),
                _ => stream,
            }
        },
    );
    prop::collection::vec(stream, 1..24)
}

fn rules() -> impl Strategy<Value = Rules> {
    let missed = prop_oneof![Just(Missed::Complete), Just(Missed::Start)];
    let early = prop_oneof![3 => Just(Early::Allow), 1 => Just(Early::Hold), 1 => Just(Early::Clamp)];
    (missed, early).prop_map(|(missed, early)| Rules { missed, early })
}

/// Queues of arrivals in front of the two engines.
struct Pair {
    scan: Scan,
    fast: GroupedDwcs,
    queues: Vec<alloc::collections::VecDeque<u64>>,
    now: u64,
    arrivals: u64,
    decisions: u64,
}

impl Pair {
    fn new(rules: Rules, streams: &[Stream]) -> Pair {
        let queues = alloc::vec![Default::default(); streams.len()];
        let (scan, fast) = (Scan::new(rules, Order::default(), streams).unwrap(), GroupedDwcs::new(rules, streams).unwrap());
        Pair { scan, fast, queues, now: 0, arrivals: 0, decisions: 0 }
    }

    fn arrive(&mut self, index: usize) {
        // Three arrive at a time: then the number decides.
        self.arrivals += 1;
        let arrival = self.arrivals / 3;
        self.queues[index].push_back(arrival);
        if self.queues[index].len() == 1 {
            self.scan.activate(self.now, Flow(index as u32), arrival);
            self.fast.activate(self.now, Flow(index as u32), arrival);
        }
    }

    fn lose(&mut self, index: usize) {
        if self.queues[index].pop_front().is_some() {
            let next = self.queues[index].front().copied();
            self.scan.lost(Flow(index as u32), next);
            self.fast.lost(Flow(index as u32), next);
        }
    }

    fn decide(&mut self, long: u64) -> Result<(), TestCaseError> {
        self.decisions += 1;
        let (choice, again) = (self.scan.select(self.now), self.fast.select(self.now));
        prop_assert_eq!(choice, again, "decision {} at {}", self.decisions, self.now);
        prop_assert_eq!(choice, self.fast.select(self.now), "asked twice");
        match choice {
            Choice::Serve(stream) => {
                self.queues[stream.index()].pop_front();
                let next = self.queues[stream.index()].front().copied();
                self.scan.served(stream, self.now + long, next);
                self.fast.served(stream, self.now + long, next);
                self.now += long;
            }
            Choice::Discard(stream) => self.lose(stream.index()),
            Choice::WaitUntil(tick) => self.now = tick,
            Choice::Idle => {}
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        // Deadlines are accounted for by the next decision.
        prop_assert_eq!(self.scan.select(self.now), self.fast.select(self.now));
        for stream in (0..self.queues.len() as u32).map(Flow) {
            prop_assert_eq!(self.scan.standing(stream), self.fast.standing(stream), "{:?} at {}", stream, self.now);
        }
        Ok(())
    }

    fn run(&mut self, steps: &[Step]) -> Result<(), TestCaseError> {
        for &step in steps {
            match step {
                Step::Arrive(stream) => self.arrive(stream as usize % self.queues.len()),
                Step::Serve(times, long) => (0..times).try_for_each(|_| self.decide(long))?,
                Step::Lose(stream) => self.lose(stream as usize % self.queues.len()),
                Step::Pause(span) => self.now += span,
            }
            self.compare()?;
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn engines_decide_alike(rules in rules(), streams in streams(), steps in steps()) {
        Pair::new(rules, &streams).run(&steps)?;
    }
}

/// Numbers by splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ (mixed >> 31)) * u128::from(bound)) >> 64) as u64
    }

    fn streams(&mut self, count: u64, largest: u64, longest: u64) -> Vec<Stream> {
        let sort = self.below(6);
        if sort == 0 {
            // Shares: all deadlines fall together.
            let requests: Vec<Request> = (0..count).map(|_| Request::of(Service::FairShare(1 + self.below(largest) as u32))).collect();
            return resolve(&requests).unwrap();
        }
        let same = 1 + self.below(longest);
        let stream = |_| {
            let deadlines = self.below(largest + 1);
            let window = Window::new(self.below(deadlines + 1) as u32, deadlines as u32);
            // One period for all, a few, any.
            let period = match sort {
                1 | 2 => same,
                3 => same * (1 + self.below(3)),
                _ => 1 + self.below(longest),
            };
            Stream { penalty: self.below(3) as u32, droppable: sort == 5 && self.below(4) == 0, ..Stream::windowed(window, period) }
        };
        (0..count).map(stream).collect()
    }
}

/// Runs one random set of streams; at each of the `decisions` packets may arrive and queues may lose packets.
fn long_run(random: &mut Random, count: u64, decisions: u64) {
    let early = [Early::Allow, Early::Allow, Early::Allow, Early::Hold, Early::Clamp][random.below(5) as usize];
    let missed = [Missed::Complete, Missed::Start][random.below(2) as usize];
    let mut magnitude = || {
        let bits = 1 + random.below(9);
        1 + random.below(1 << bits)
    };
    let (largest, longest) = (magnitude(), magnitude());
    let streams = random.streams(count, largest, longest);
    let mut pair = Pair::new(Rules { missed, early }, &streams);
    (0..count).for_each(|stream| pair.arrive(stream as usize));
    let always_backlogged = random.below(2) == 0;
    while pair.decisions < decisions {
        if always_backlogged {
            // A stream that might run empty gets another packet first.
            if let Choice::Serve(stream) | Choice::Discard(stream) = pair.scan.select(pair.now) {
                pair.arrive(stream.index());
            }
        } else {
            pair.arrive(random.below(count) as usize);
            match random.below(100) {
                0 => pair.lose(random.below(count) as usize),
                1 => pair.now += random.below(3 * longest),
                _ => {}
            }
        }
        let long = if random.below(50) == 0 { random.below(4) } else { 1 };
        pair.decide(long).unwrap();
    }
    pair.compare().unwrap();
}

/// An overload that ends repeatedly because the first streams lose their packets: of many that tolerate nothing, few are left.
#[test]
fn an_overload_that_drains() {
    let mut random = Random(1998);
    for _ in 0..24 {
        let count = 150 + random.below(350);
        let stream = |_| {
            let deadlines = 2 + random.below(254) as u32;
            Stream::windowed(Window::new(random.below(u64::from(deadlines)) as u32, deadlines), 1)
        };
        let streams: Vec<Stream> = (0..count).map(stream).collect();
        let mut pair = Pair::new(Rules::default(), &streams);
        for _ in 0..8 {
            (0..count).for_each(|stream| pair.arrive(stream as usize));
            for _ in 0..random.below(2 * count) {
                if let Choice::Serve(stream) = pair.scan.select(pair.now) {
                    pair.arrive(stream.index());
                }
                pair.decide(1).unwrap();
            }
            let lost = count / 2 + random.below(count);
            for _ in 0..lost {
                let (choice, again) = (pair.scan.select(pair.now), pair.fast.select(pair.now));
                assert_eq!(choice, again, "at {}", pair.now);
                if let Choice::Serve(stream) = choice {
                    pair.lose(stream.index());
                }
            }
        }
        pair.compare().unwrap();
    }
}

/// The variable TIDEGATE_DWCS is the number of decisions that are compared, in place of 200,000.
#[test]
fn by_the_million() {
    let total = std::env::var("TIDEGATE_DWCS").map_or(200_000, |count| count.parse().expect("TIDEGATE_DWCS: a number of decisions"));
    let (mut random, mut compared, mut runs) = (Random(2004), 0, 0u64);
    while compared < total {
        runs += 1;
        // Mostly few streams, because the scan is slow.
        let (count, decisions) = match runs % 1000 {
            999 => (65_536, 1000),
            at if at % 100 == 50 => (1000 + random.below(3000), 4000),
            at if at % 10 == 5 => (60 + random.below(300), 4000),
            _ => (1 + random.below(24), 4000),
        };
        let decisions = decisions.min(total - compared);
        long_run(&mut random, count, decisions);
        compared += decisions;
    }
    std::println!("{compared} decisions of {runs} sets of streams compared");
}
