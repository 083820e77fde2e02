//! The laws of the ready lists: every implementation against a sorted list, under key sequences that are mostly trouble.

mod heap;

use heap::Heap;
use proptest::prelude::*;
use std::fmt::Debug;
use tidegate_core::packet::Flow;
use tidegate_core::ready::{ReadyList, Wheel};

/// The definition: everything in one list, searched from end to end.
#[derive(Clone, Default)]
struct Sorted {
    entries: Vec<(u64, Flow)>,
}

impl ReadyList for Sorted {
    fn new(_flows: usize) -> Sorted {
        Sorted::default()
    }

    fn insert(&mut self, flow: Flow, key: u64) {
        self.entries.push((key, flow));
    }

    fn remove(&mut self, flow: Flow) {
        self.entries.retain(|entry| entry.1 != flow);
    }

    fn first(&self) -> Option<(u64, Flow)> {
        // Strictly before: among equals the earliest insertion stays.
        self.entries.iter().copied().reduce(|first, other| if is_before(other.0, first.0) { other } else { first })
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn raise(&mut self, oldest: u64) {
        // Those that are raised join those that have that key already, behind them and in their own order.
        let mut raised = Vec::new();
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

/// A list and its model, which has to agree at every step.
#[derive(Clone)]
struct Pair<R, M> {
    list: R,
    model: M,
    /// The key of each flow in the list.
    keys: Vec<Option<u64>>,
    /// The last key taken out.
    last: u64,
}

impl<R: ReadyList + Clone, M: ReadyList> Pair<R, M> {
    fn new(flows: usize, start: u64) -> Pair<R, M> {
        Pair { list: R::new(flows), model: M::new(flows), keys: vec![None; flows], last: start }
    }

    #[track_caller]
    fn agree(&self) {
        assert_eq!(self.list.first(), self.model.first());
        assert_eq!(self.list.len(), self.model.len());
        assert_eq!(self.list.is_empty(), self.model.is_empty());
    }

    /// True if all keys still lie within 2^63 of each other when these two come to them.
    fn within_reach(&self, one: u64, other: u64) -> bool {
        let Some((first, _)) = self.model.first() else { return one.abs_diff(other) < 1 << 62 };
        let offsets = || self.keys.iter().flatten().chain([&one, &other]).map(|key| i128::from(key.wrapping_sub(first) as i64));
        offsets().max().unwrap_or(0) - offsets().min().unwrap_or(0) < 1 << 63
    }

    /// Puts a flow in the list, in place of where it was if it was in it.
    #[track_caller]
    fn put(&mut self, flow: usize, key: u64) {
        self.remove(flow);
        self.list.insert(Flow(flow as u32), key);
        self.model.insert(Flow(flow as u32), key);
        self.keys[flow] = Some(key);
        self.agree();
    }

    #[track_caller]
    fn remove(&mut self, flow: usize) {
        if self.keys[flow].take().is_some() {
            self.list.remove(Flow(flow as u32));
            self.model.remove(Flow(flow as u32));
        }
        self.agree();
    }

    #[track_caller]
    fn pop(&mut self) -> Option<(u64, Flow)> {
        let first = self.model.pop_first();
        assert_eq!(self.list.pop_first(), first);
        if let Some((key, flow)) = first {
            (self.keys[flow.index()], self.last) = (None, key);
        }
        self.agree();
        first
    }

    #[track_caller]
    fn pop_many(&mut self, count: usize) {
        for _ in 0..count {
            self.pop();
        }
    }

    #[track_caller]
    fn pop_due(&mut self, now: u64) -> bool {
        let due = self.model.pop_due(now);
        assert_eq!(self.list.pop_due(now), due);
        if let Some(key) = due.and_then(|flow| self.keys[flow.index()].take()) {
            self.last = key;
        }
        self.agree();
        due.is_some()
    }

    #[track_caller]
    fn raise(&mut self, oldest: u64) {
        self.list.raise(oldest);
        self.model.raise(oldest);
        for key in self.keys.iter_mut().flatten().filter(|key| is_before(**key, oldest)) {
            *key = oldest;
        }
        self.agree();
    }

    /// The list takes out the flows in the order in which it named them ahead.
    #[track_caller]
    fn check_hints(&self) {
        let mut copy = self.list.clone();
        for place in 0..64 {
            let named = self.list.ahead(place);
            let Some((_, flow)) = copy.pop_first() else {
                assert_eq!(named, None);
                break;
            };
            assert!(named.is_none_or(|named| named == flow), "{named:?} instead of {flow:?} in place {place}");
        }
    }

    #[track_caller]
    fn drain(&mut self) {
        while self.pop().is_some() {}
        assert!(self.list.is_empty());
    }
}

/// A distance of keys: a number of units of two to this power.
#[derive(Clone, Copy, Debug)]
struct Distance(i8, u8);

impl Distance {
    fn times(self, times: u64) -> u64 {
        ((i64::from(self.0) as u64) << self.1).wrapping_mul(times)
    }

    fn from(self, key: u64) -> u64 {
        key.wrapping_add(self.times(1))
    }
}

/// Up to 2^62 either way, often near the edge of a bucket of some level.
fn distances() -> impl Strategy<Value = Distance> {
    prop_oneof![
        3 => (-3i8..=9, Just(0u8)),
        4 => (any::<i8>(), 0u8..=20),
        3 => (any::<i8>(), 0u8..=54),
        2 => (-1i8..=1, 0u8..=61),
    ]
    .prop_map(|(count, bits)| Distance(count, bits))
}

fn starts() -> impl Strategy<Value = u64> {
    // A start near 0 or 2^63 puts the wraps of the axis and of the sign in reach.
    prop_oneof![
        (-3i64..3).prop_map(|near| near as u64),
        (-200i64..200).prop_map(|near| (near << 20) as u64),
        (-3i64..3).prop_map(|near| (near as u64).wrapping_add(1 << 63)),
        any::<u64>(),
    ]
}

/// Consecutive flows, from the first one on.
#[derive(Clone, Copy, Debug)]
struct Range(u16, u16);

impl Range {
    fn of(self, flows: usize) -> impl Iterator<Item = usize> {
        (0..usize::from(self.1).min(flows)).map(move |index| (usize::from(self.0) + index) % flows)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Inserts the flows, or moves them if they are in the list, at this distance from the last key taken out, and as far from each other.
    Put(Range, Distance, Distance),
    /// The same at keys that are scattered over a distance of two to this power.
    Scatter(Range, Distance, u8),
    /// Takes out every n-th of the flows.
    Remove(Range, u8),
    /// Takes out the flows and inserts them again at the same keys, behind their equals.
    Again(Range),
    Pop(u16),
    /// Takes out all that is due at this distance from the last key taken out, one by one, but no more than this.
    PopDue(u16, Distance),
    /// Takes out this number and inserts each again, scattered over a distance of two to this power.
    Turn(u16, u8),
    Raise(Distance),
    /// Goes on with a copy.
    Copy,
    Drain,
}

fn steps(most: u16) -> impl Strategy<Value = Step> {
    let range = move || (any::<u16>(), 1..=most).prop_map(|(first, count)| Range(first, count));
    prop_oneof![
        6 => (range(), distances(), distances()).prop_map(|(range, distance, stride)| Step::Put(range, distance, stride)),
        4 => (range(), distances(), 0u8..=61).prop_map(|(range, distance, bits)| Step::Scatter(range, distance, bits)),
        3 => (range(), 1u8..5).prop_map(|(range, every)| Step::Remove(range, every)),
        2 => range().prop_map(Step::Again),
        6 => (1..=most).prop_map(Step::Pop),
        3 => (1..=most, distances()).prop_map(|(count, distance)| Step::PopDue(count, distance)),
        2 => (1..=most, 0u8..=61).prop_map(|(count, bits)| Step::Turn(count, bits)),
        1 => distances().prop_map(Step::Raise),
        1 => Just(Step::Copy),
        1 => Just(Step::Drain),
    ]
}

/// The linear congruential generator of Knuth's MMIX.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state ^ *state >> 32
}

/// Runs the script on a list and its model side by side. Steps that would take keys beyond the reach of each other are left out.
fn compare<R: ReadyList + Clone + Debug, M: ReadyList + Clone>(flows: usize, start: u64, script: &[Step]) {
    let mut pair: Pair<R, M> = Pair::new(flows, start);
    let mut state = start ^ script.len() as u64;
    let scattered = |state: &mut u64, base: u64, bits: u8| base.wrapping_add(random(state) & ((1 << bits) - 1));
    for &step in script {
        match step {
            Step::Put(range, distance, stride) => {
                let base = distance.from(pair.last);
                let count = u64::from(range.1).min(flows as u64);
                let spread = u128::from(stride.times(1).min(stride.times(1).wrapping_neg())) * u128::from(count);
                if spread < 1 << 62 && pair.within_reach(base, base.wrapping_add(stride.times(count))) {
                    range.of(flows).zip(0..).for_each(|(flow, index)| pair.put(flow, base.wrapping_add(stride.times(index))));
                }
            }
            Step::Scatter(range, distance, bits) => {
                let base = distance.from(pair.last);
                if pair.within_reach(base, base.wrapping_add(1 << bits)) {
                    range.of(flows).for_each(|flow| pair.put(flow, scattered(&mut state, base, bits)));
                }
            }
            Step::Remove(range, every) => range.of(flows).step_by(usize::from(every)).for_each(|flow| pair.remove(flow)),
            Step::Again(range) => {
                for flow in range.of(flows) {
                    if let Some(key) = pair.keys[flow] {
                        pair.put(flow, key);
                    }
                }
            }
            Step::Pop(count) => pair.pop_many(usize::from(count)),
            Step::PopDue(count, distance) => {
                let now = distance.from(pair.last);
                if pair.within_reach(now, now) {
                    (0..count).all(|_| pair.pop_due(now));
                }
            }
            Step::Turn(count, bits) => {
                for _ in 0..count {
                    let Some((key, flow)) = pair.pop() else { break };
                    if pair.within_reach(key, key.wrapping_add(1 << bits)) {
                        pair.put(flow.index(), scattered(&mut state, key, bits));
                    }
                }
            }
            Step::Raise(distance) => {
                let oldest = distance.from(pair.last);
                if pair.within_reach(oldest, oldest) {
                    pair.raise(oldest);
                }
            }
            Step::Copy => pair = pair.clone(),
            Step::Drain => pair.drain(),
        }
        pair.check_hints();
    }
    pair.drain();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2 * ProptestConfig::default().cases))]

    #[test]
    fn the_heap_is_a_sorted_list(start in starts(), flows in 1usize..100, script in prop::collection::vec(steps(40), 1..60)) {
        compare::<Heap, Sorted>(flows, start, &script);
    }

    /// Up to 64 flows a run alone, beyond them a few in the logs.
    #[test]
    fn the_wheel_is_a_sorted_list(
        start in starts(),
        flows in prop_oneof![1usize..=64, 65usize..300],
        script in prop::collection::vec(steps(80), 1..60),
    ) {
        compare::<Wheel, Sorted>(flows, start, &script);
    }

    /// Runs overflow and give back, and buckets are distributed.
    #[test]
    fn the_wheel_equals_the_heap_with_many_flows(
        start in starts(),
        flows in 600usize..5000,
        script in prop::collection::vec(steps(1500), 1..40),
    ) {
        compare::<Wheel, Heap>(flows, start, &script);
    }
}

#[test]
fn equal_keys_leave_in_order_of_insertion_by_the_thousand() {
    let mut pair: Pair<Wheel, Heap> = Pair::new(20_000, u64::MAX - 5);
    // In the order of a number that has nothing to do with the flow's.
    (0..20_000).for_each(|index| pair.put(index * 7919 % 20_000, pair.last));
    pair.pop_many(10_000);
    (0..20_000).filter(|flow| flow % 3 == 0).for_each(|flow| pair.put(flow, pair.last));
    pair.check_hints();
    pair.drain();
}

#[test]
fn a_queue_of_equal_keys_is_overtaken_wherever_it_has_been_read_to() {
    let (flows, key) = (6000, 1_000_005);
    for popped in (0..5000).step_by(16) {
        let mut pair: Pair<Wheel, Heap> = Pair::new(flows, key);
        (0..flows).for_each(|flow| pair.put(flow, key));
        pair.pop_many(popped);
        // More than the run of the wheel keeps.
        (0..popped.min(600)).for_each(|flow| pair.put(flow, key - 64));
        pair.drain();
    }
}

/// What the wheel sorts together it counts into bins by the leading bits in which the keys differ. Here one key far from the others leaves all of
/// those in one bin, in the worst of orders and in another, with ties.
#[test]
fn clusters_with_a_key_far_away_are_in_order() {
    let (flows, members) = (20_000, 200);
    for far in [0, (1 << 24) - 1] {
        let mut pair: Pair<Wheel, Heap> = Pair::new(flows, 0);
        for (flow, index) in (0..flows).map(|flow| (flow, flow % members)) {
            let cluster = (1u64 << 40) + ((flow / members) as u64) * (1 << 24);
            let key = match index {
                0 => far,
                _ if flow / members % 2 == 0 => (1 << 23) + (members - index) as u64 / 3,
                _ => (1 << 23) + index as u64 * 7919 % 50,
            };
            pair.put(flow, cluster + key);
        }
        pair.check_hints();
        pair.drain();
    }
}

#[test]
fn what_a_run_gives_back_stays_before_its_equals_in_the_logs() {
    let mut pair: Pair<Wheel, Sorted> = Pair::new(1000, 5);
    (0..312).for_each(|flow| pair.put(flow, 6));
    // Of the later keys some stay in the run, the others go to the logs ...
    (312..512).for_each(|flow| pair.put(flow, 5));
    // ... and those that stayed follow when more of the earlier ones come.
    (512..800).for_each(|flow| pair.put(flow, 5));
    pair.drain();
}

#[test]
fn keys_of_removed_flows_do_not_count_among_those_that_lie_within_reach() {
    for stay in 1..64 {
        let mut pair: Pair<Wheel, Sorted> = Pair::new(200, 0);
        let far = 1 << 62;
        (0..stay).for_each(|flow| pair.put(flow, 0));
        (stay..150).for_each(|flow| pair.put(flow, far + flow as u64 / 70));
        (stay..150).for_each(|flow| pair.remove(flow));
        // Nothing later is left: this key is within reach of all.
        pair.put(150, 0u64.wrapping_sub(far + 10));
        pair.drain();
    }
}

#[test]
fn floods_of_ever_earlier_keys_and_of_both_directions_keep_their_order() {
    for stride in [1, 63, 64, 4097, 1 << 30, 1 << 49] {
        let flows = 8000u64;
        let middle = 3 * stride;
        let mut pair: Pair<Wheel, Heap> = Pair::new(flows as usize, middle);
        (0..flows).for_each(|flow| pair.put(flow as usize, middle.wrapping_sub(flow * stride)));
        pair.pop_many(1000);
        for flow in 0..flows {
            let offset = if flow % 2 == 0 { flow * stride } else { (flow * stride).wrapping_neg() };
            pair.put(flow as usize, middle.wrapping_add(offset));
            if flow % 5 == 0 {
                pair.pop();
            }
        }
        pair.drain();
    }
}

/// The wide level of the wheel is cut where 2^20 keys lie from `start` on, and ends within a digit of 6 bits above it. Then the pivot moves down
/// such that it differs from the old one in that digit: what is left belongs in several buckets. The wide level is cut elsewhere, and
/// what comes between the keys that are left has to find them in order.
#[test]
fn what_is_left_in_the_wide_level_is_found_when_that_is_cut_elsewhere() {
    let start = 3u64 << 23;
    for dense in [935, 940, 945, 1000] {
        let mut pair: Pair<Wheel, Sorted> = Pair::new(2000, 0);
        (0..100).for_each(|flow| pair.put(flow, (1 << 40) + flow as u64));
        // An overflow of the run, so that there are levels before those.
        (100..700).for_each(|flow| pair.put(flow, flow as u64));
        // Most keys close together, so that few are left, which are far apart.
        (700..750).for_each(|flow| pair.put(flow, start + (flow as u64 - 700) * ((1 << 20) / 50)));
        (750..750 + dense).for_each(|flow| pair.put(flow, start + 1 + flow as u64 % 8000));
        pair.pop_many(600 + 943);
        (100..700).for_each(|flow| pair.put(flow, start - 8000 + 8 * (flow as u64 - 100)));
        (1800..1820).for_each(|flow| pair.put(flow, start + (1 << 18) + (flow as u64 - 1800) * 31_001));
        pair.drain();
    }
}

#[test]
fn keys_nearly_half_the_axis_apart_are_in_order() {
    for start in [0u64, 1, 1 << 60, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX, 0x0fff_ffff_ffff_ffff] {
        let half = (1u64 << 63) - 1;
        let mut pair: Pair<Wheel, Sorted> = Pair::new(300, start);
        // From both ends towards the middle.
        for flow in 0..300u64 {
            let inwards = (half / 300) * (flow / 2);
            pair.put(flow as usize, if flow % 2 == 0 { start.wrapping_add(inwards) } else { start.wrapping_add(half - inwards) });
        }
        // And on, round the axis and more, each as far ahead as it may be.
        for _ in 0..2000 {
            let Some((_, flow)) = pair.pop() else { unreachable!("every flow comes back") };
            let Some((first, _)) = pair.model.first() else { unreachable!("the others are there") };
            pair.put(flow.index(), first.wrapping_add(half));
        }
        pair.drain();
    }
}

#[test]
fn removed_flows_that_come_back_do_not_find_their_old_places() {
    let flows = 3000;
    let mut pair: Pair<Wheel, Heap> = Pair::new(flows, 0);
    for round in 0..20u64 {
        // To the same key and to others, so that old entries lie before, behind and among the new ones.
        (0..flows).for_each(|flow| pair.put(flow, 1_000_000 * (round % 3) + flow as u64 * 100));
        (0..flows).filter(|flow| flow % 4 != 3).for_each(|flow| pair.remove(flow));
        (0..flows).filter(|flow| flow % 4 == 1).for_each(|flow| pair.put(flow, 1_000_000 * (round % 3) + flow as u64 * 100));
        pair.pop_many(500);
    }
    pair.drain();
}

/// The memory of the logs is allocated once. Here a wheel is left with as many chunks that are not full as a script could find: queues
/// of equal keys that have been read in part, each overtaken by the next, over as many removed entries as are kept. A debug build
/// fails when the memory is exhausted.
#[test]
fn no_script_exhausts_the_logs() {
    for (flows, each) in [(65, 64), (100, 64), (1200, 600), (40_000, 140), (40_000, 330), (40_000, 700)] {
        let mut pair: Pair<Wheel, Heap> = Pair::new(flows, 0);
        let base = 1u64 << 40;
        for round in 0..4u64 {
            (0..flows).for_each(|flow| pair.put(flow, base + (1 << 36) + flow as u64 % 977 * 64));
            (0..flows / 2).for_each(|flow| pair.put(flow, base + (2 << 36) + flow as u64));
            let (mut key, mut next) = (base, 0);
            for _ in 0..2 * flows / each {
                key -= 61 + round * 64;
                for _ in 0..each {
                    pair.put(next, key);
                    next = (next + 1) % flows;
                }
                pair.pop_many(each * 2 / 3);
            }
            if round % 2 == 1 {
                pair.drain();
            }
        }
        pair.drain();
    }
}

#[test]
fn a_copy_lives_on_as_the_original_does() {
    let mut pair: Pair<Wheel, Heap> = Pair::new(5000, 1 << 63);
    let mut state = 1;
    let mut turns = |pair: &mut Pair<Wheel, Heap>, turns: usize| {
        for turn in 0..turns {
            let flow = random(&mut state) as usize % 5000;
            pair.put(flow, pair.last.wrapping_add(random(&mut state) & 0xf_ffff));
            if turn % 3 == 0 {
                pair.pop();
            }
        }
    };
    turns(&mut pair, 10_000);
    let mut copy = pair.clone();
    turns(&mut pair, 10_000);
    turns(&mut copy, 10_000);
    pair.drain();
    copy.drain();
    // And empty lists start over.
    turns(&mut pair, 10_000);
    pair.drain();
}

#[test]
fn a_key_months_ahead_is_reached_in_one_step() {
    let mut wheel = Wheel::new(2);
    wheel.insert(Flow(0), 1 << 62);
    assert_eq!(wheel.pop_due((1 << 62) - 1), None);
    wheel.insert(Flow(1), 5 << 20);
    assert_eq!(wheel.pop_first(), Some((5 << 20, Flow(1))));
    assert_eq!(wheel.pop_due(1 << 62), Some(Flow(0)));
    assert_eq!(wheel.pop_due(1 << 62), None);
}

#[test]
fn the_wheel_s_hints_are_there_when_flows_take_turns() {
    for bits in [4, 14, 40] {
        let flows = 8192;
        let mut wheel = Wheel::new(flows);
        let mut state = 1;
        let mut key = |base: u64| base.wrapping_add(random(&mut state) >> (64 - bits));
        (0..flows as u32).for_each(|flow| wheel.insert(Flow(flow), key(0)));
        let mut named = 0;
        for _ in 0..20_000 {
            named += u32::from(wheel.ahead(12).is_some());
            let Some((now, flow)) = wheel.pop_first() else { unreachable!("every flow comes back") };
            wheel.insert(flow, key(now));
        }
        assert!(named > 18_000, "{named} of 20,000 over 2^{bits}");
    }
}
