//! The laws of the ready lists: every implementation against a sorted list, under key sequences that are mostly trouble.

use proptest::prelude::*;
use tidegate_core::packet::Flow;
use tidegate_core::ready::{Heap, ReadyList, Wheel};

/// Few of many, so that flows often meet; with so many the wheel looks ahead.
const FLOWS: u32 = 24;
const TABLE: usize = 1 << 13;

/// The definition: everything in one list, searched from end to end.
#[derive(Default)]
struct Sorted {
    entries: Vec<(u64, Flow)>,
}

impl Sorted {
    fn position_of_first(&self) -> Option<usize> {
        // Strictly before: among equals the earliest insertion stays.
        (0..self.entries.len()).reduce(|first, other| if is_before(self.entries[other].0, self.entries[first].0) { other } else { first })
    }

    fn first(&self) -> Option<(u64, Flow)> {
        self.position_of_first().map(|at| self.entries[at])
    }

    fn remove(&mut self, flow: Flow) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.1 != flow);
        self.entries.len() < before
    }

    fn raise(&mut self, oldest: u64) {
        // Those that are raised join those that have that key already, behind them and in their own order.
        let mut raised: Vec<(u64, Flow)> = Vec::new();
        while let Some(first) = self.first().filter(|first| is_before(first.0, oldest)) {
            self.remove(first.1);
            raised.push((oldest, first.1));
        }
        self.entries.extend(raised);
    }
}

fn is_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Insert the flow, or replace it if it is in the list, at this distance from the last key taken out.
    Insert(Flow, Distance),
    Remove(Flow),
    /// Remove the flow that was inserted last: the end of its bucket's list.
    RemoveLatest,
    PopFirst,
    /// Pop what is due at this distance from the last key taken out.
    PopDue(Distance),
    Drain(usize),
    Raise,
}

/// A distance in units that make trouble, so that the same script bites whatever the granule and the window.
#[derive(Clone, Copy, Debug)]
enum Distance {
    /// A few keys within a granule or two: ties and rounding.
    Sub(i8),
    /// A few granules.
    Granules(i16),
    /// About this many eighths of the window, and a few granules more or less.
    Windows(i8, i8),
    /// About this many windows, of which the far ring spans 64, and a few granules more or less.
    FarWindows(i8, i8),
    /// A power of two up to 2^60, either way.
    Far(bool, u8),
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    granule_bits: u32,
    bucket_bits: u32,
    start: u64,
}

impl Shape {
    fn distance(&self, distance: Distance) -> u64 {
        let granule = 1i64 << self.granule_bits;
        let window = granule << self.bucket_bits;
        let offset = match distance {
            Distance::Sub(quarters) => i64::from(quarters) * granule / 4,
            Distance::Granules(granules) => i64::from(granules) * granule + i64::from(granules & 1),
            Distance::FarWindows(windows, granules) => i64::from(windows) * window + i64::from(granules) * granule,
            Distance::Windows(eighths, granules) => i64::from(eighths) * (window / 8) + i64::from(granules) * granule,
            Distance::Far(ahead, bits) => {
                let far = 1i64 << bits;
                if ahead { far } else { -far }
            }
        };
        offset as u64
    }

    fn round_up(&self, key: u64) -> u64 {
        let below = (1u64 << self.granule_bits) - 1;
        key.wrapping_add(below) & !below
    }
}

fn distances() -> impl Strategy<Value = Distance> {
    prop_oneof![
        4 => (-3i8..=9).prop_map(Distance::Sub),
        4 => (-40i16..400).prop_map(Distance::Granules),
        3 => ((-12i8..=24), (-2i8..=2)).prop_map(|(eighths, granules)| Distance::Windows(eighths, granules)),
        3 => ((-70i8..=70), (-2i8..=2)).prop_map(|(windows, granules)| Distance::FarWindows(windows, granules)),
        1 => (any::<bool>(), 0u8..=60).prop_map(|(ahead, bits)| Distance::Far(ahead, bits)),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    let flow = || (0..FLOWS).prop_map(Flow);
    prop_oneof![
        10 => (flow(), distances()).prop_map(|(flow, distance)| Step::Insert(flow, distance)),
        2 => flow().prop_map(Step::Remove),
        1 => Just(Step::RemoveLatest),
        4 => Just(Step::PopFirst),
        3 => distances().prop_map(Step::PopDue),
        1 => (1usize..FLOWS as usize).prop_map(Step::Drain),
        1 => Just(Step::Raise),
    ]
}

fn shapes() -> impl Strategy<Value = Shape> {
    // A granule of 2^32 is the one of arrival numbers; a start near 0 or 2^63 puts the wraps of the axis and of the sign in reach.
    let start = prop_oneof![
        (-3i64..3).prop_map(|near| near as u64),
        (-200i64..200).prop_map(|near| (near << 20) as u64),
        (-3i64..3).prop_map(|near| (near as u64).wrapping_add(1 << 63)),
        any::<u64>(),
    ];
    (prop_oneof![Just(0u32), Just(1), Just(4), Just(20), Just(32)], 8u32..=13, start).prop_map(|(granule_bits, bucket_bits, start)| Shape {
        granule_bits,
        bucket_bits,
        start,
    })
}

/// Runs the script on a list and on the sorted list side by side.
fn compare(list: &mut impl ReadyList, shape: Shape, round: impl Fn(u64) -> u64, script: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Sorted::default();
    let mut last = shape.start;
    let mut latest = Flow(0);
    for &step in script {
        match step {
            Step::Insert(flow, distance) => {
                prop_assert_eq!(list.remove(flow), model.remove(flow));
                let key = last.wrapping_add(shape.distance(distance));
                list.insert(flow, key);
                model.entries.push((round(key), flow));
                latest = flow;
            }
            Step::Remove(flow) => prop_assert_eq!(list.remove(flow), model.remove(flow)),
            Step::RemoveLatest => prop_assert_eq!(list.remove(latest), model.remove(latest)),
            Step::PopFirst => {
                let first = model.first();
                prop_assert_eq!(list.pop_first(), first);
                if let Some((key, flow)) = first {
                    model.remove(flow);
                    last = key;
                }
            }
            Step::PopDue(distance) => {
                let now = last.wrapping_add(shape.distance(distance));
                let due = model.first().filter(|first| !is_before(now, first.0));
                prop_assert_eq!(list.pop_due(now), due.map(|first| first.1));
                if let Some((key, flow)) = due {
                    model.remove(flow);
                    last = key;
                }
            }
            Step::Drain(most) => {
                for _ in 0..most {
                    let first = model.first();
                    prop_assert_eq!(list.pop_first(), first);
                    let Some((_, flow)) = first else { break };
                    model.remove(flow);
                }
            }
            Step::Raise => {
                list.raise(round(last));
                model.raise(round(last));
            }
        }
        prop_assert_eq!(list.first(), model.first());
        prop_assert_eq!(list.first(), model.first(), "asking twice changes nothing");
        prop_assert_eq!(list.len(), model.entries.len());
        prop_assert_eq!(list.contains(latest), model.entries.iter().any(|entry| entry.1 == latest));
        prop_assert_eq!(list.is_empty(), model.entries.is_empty());
        if let Some(flow) = list.look_ahead() {
            prop_assert!(flow.0 < FLOWS, "a hint may be late, but it names a flow");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn the_wheel_is_a_sorted_list_of_rounded_keys(shape in shapes(), script in prop::collection::vec(steps(), 1..300)) {
        let mut wheel = Wheel::new(TABLE, 1 << shape.granule_bits, 1 << shape.bucket_bits);
        prop_assert_eq!(wheel.granule(), 1 << shape.granule_bits);
        compare(&mut wheel, shape, |key| shape.round_up(key), &script)?;
    }

    #[test]
    fn the_heap_is_a_sorted_list(shape in shapes(), script in prop::collection::vec(steps(), 1..300)) {
        let mut heap = Heap::new(FLOWS as usize);
        prop_assert_eq!(heap.granule(), 1);
        compare(&mut heap, shape, |key| key, &script)?;
    }

    /// The same with thousands of flows, where buckets overflow and the bitmap's words fill up.
    #[test]
    fn the_wheel_equals_the_heap_with_many_flows(
        shape in shapes(),
        spread in 1u32..16,
        keys in prop::collection::vec((any::<u32>(), any::<u16>()), 2000),
    ) {
        let flows = 1000;
        let mut wheel = Wheel::new(flows, 1 << shape.granule_bits, 1 << shape.bucket_bits);
        let mut heap = Heap::new(flows);
        let mut base = shape.start;
        for (index, (random, lift)) in keys.into_iter().enumerate() {
            let flow = Flow((index % flows) as u32);
            let reach = u64::from(random) % (1 << (shape.bucket_bits + spread - 4).min(31));
            let key = base.wrapping_add(reach << shape.granule_bits).wrapping_add(u64::from(lift) & ((1 << shape.granule_bits) - 1));
            prop_assert_eq!(wheel.remove(flow), heap.remove(flow));
            wheel.insert(flow, key);
            heap.insert(flow, shape.round_up(key));
            if random & 1 == 1 {
                let popped = heap.pop_first();
                prop_assert_eq!(wheel.pop_first(), popped);
                base = popped.map_or(base, |(key, _)| key);
            }
        }
        while let Some(popped) = heap.pop_first() {
            prop_assert_eq!(wheel.pop_first(), Some(popped));
        }
        prop_assert!(wheel.is_empty());
    }
}

#[test]
fn keys_within_one_window_of_each_other_never_leave_the_wheel_s_order_at_the_wrap_of_the_ring() {
    // A full turn of the ring in steps of one bucket, with a companion that stays 63 buckets ahead.
    let mut wheel = Wheel::new(2, 1, 256);
    let start = u64::MAX - 100;
    wheel.insert(Flow(0), start);
    wheel.insert(Flow(1), start.wrapping_add(63));
    for step in 0..300u64 {
        let now = start.wrapping_add(step);
        if step % 63 == 0 && step > 0 {
            assert_eq!(wheel.pop_first(), Some((now, Flow(0))), "older insertion first");
            assert_eq!(wheel.pop_first(), Some((now, Flow(1))));
            wheel.insert(Flow(1), now.wrapping_add(63));
        } else {
            assert_eq!(wheel.pop_due(now), Some(Flow(0)));
        }
        let next = now.wrapping_add(1);
        assert_eq!(wheel.pop_due(now), None, "nothing is due before its key");
        wheel.insert(Flow(0), next);
        if (step + 1) % 63 == 0 {
            // Both share a bucket now: put the companion behind.
            assert!(wheel.remove(Flow(1)));
            wheel.insert(Flow(1), next);
        }
    }
}

#[test]
fn a_key_months_ahead_is_reached_in_one_step() {
    let mut wheel = Wheel::new(2, 1 << 20, 1 << 10);
    wheel.insert(Flow(0), 1 << 62);
    assert_eq!(wheel.pop_due((1 << 62) - 1), None);
    wheel.insert(Flow(1), 5 << 20);
    assert_eq!(wheel.pop_first(), Some((5 << 20, Flow(1))));
    assert_eq!(wheel.pop_due(1 << 62), Some(Flow(0)));
    assert_eq!(wheel.pop_due(1 << 62), None);
}

#[test]
fn the_wheel_s_hints_run_ahead_of_the_flows_that_are_taken() {
    // Flows at random places, several to a bucket and one to several buckets; every flow taken is inserted again.
    for granule in [1u64, 64, 4096] {
        let flows = 8192;
        let mut wheel = Wheel::new(flows, granule, 1 << 14);
        let mut random = 1u64;
        let mut key = |base: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            base.wrapping_add((random >> 32) % (1 << 14))
        };
        (0..flows as u32).for_each(|flow| wheel.insert(Flow(flow), key(0)));
        let mut hints = [None; 128];
        let mut named = 0;
        for turn in 0..20_000 {
            let (now, flow) = wheel.pop_first().unwrap();
            // Named, early enough and not too early.
            named += u32::from((8..100).any(|ago| turn >= ago && hints[(turn - ago) % 128] == Some(flow)));
            hints[turn % 128] = wheel.look_ahead();
            wheel.insert(flow, key(now));
        }
        assert!(named > 18_000, "{named} of 20,000 with a granule of {granule}");
    }
}
