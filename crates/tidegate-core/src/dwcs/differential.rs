//! The fast engine against the one that scans: the same decisions, whatever happens.

use super::{Choice, Cohorts, Dwcs, Early, Missed, Order, Rules, Scan, Stream, Window};
use crate::packet::Flow;
use alloc::vec::Vec;
use proptest::prelude::*;

/// What happens to the streams of an engine; streams are taken modulo their number.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet arrives.
    Arrive(u32),
    /// Decisions are taken and carried out, this many, each service taking this long.
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
        1 => prop_oneof![3 => 0u64..4, 1 => 0u64..200, 1 => 0u64..1 << 50].prop_map(Step::Pause),
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
    fast: Cohorts,
    queues: Vec<alloc::collections::VecDeque<u64>>,
    now: u64,
    arrivals: u64,
    decisions: u64,
}

impl Pair {
    fn new(rules: Rules, streams: &[Stream]) -> Pair {
        let queues = alloc::vec![Default::default(); streams.len()];
        let (scan, fast) = (Scan::new(rules, Order::default(), streams).unwrap(), Cohorts::new(rules, streams).unwrap());
        Pair { scan, fast, queues, now: 0, arrivals: 0, decisions: 0 }
    }

    fn arrive(&mut self, index: usize) {
        // Some arrive together: then the number decides.
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
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn engines_decide_alike(rules in rules(), streams in streams(), steps in steps()) {
        Pair::new(rules, &streams).run(&steps)?;
    }
}
