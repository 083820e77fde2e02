//! Selective pushout, with and without the quasi-longest queue: exact transcripts, lots, and a slow model under random traffic.

mod buffer;

use buffer::{Buffer, Outcome, whole};
use proptest::prelude::*;
use tidegate_core::algorithm::Algorithm;
use tidegate_core::buffer::{Admission, BufferManager, BufferParameters, Buffering, SelectivePushout, SelectivePushoutPlus, Victim};
use tidegate_core::packet::{Colour, DropReason, Flow};

const U: Colour = Colour::Green;
const M: Colour = Colour::Yellow;

/// A buffer of this many packets of one byte.
fn units<B: BufferManager + Algorithm<Buffering>>(size: u32, flows: usize, change: impl Fn(&mut BufferParameters)) -> Buffer<B> {
    let mut parameters = BufferParameters { flows, packets: Some(size), bytes: Some(size.into()), ..BufferParameters::default() };
    change(&mut parameters);
    Buffer::new(B::build(&parameters).unwrap(), flows, size)
}

/// Takes all packets out of a queue: their names, which are 100 and more for marked packets.
fn names<B: BufferManager + Clone>(buffer: &Buffer<B>, flow: u32) -> Vec<u32> {
    let mut buffer = buffer.clone();
    std::iter::from_fn(|| buffer.depart(flow)).collect()
}

fn enters(outcome: &Outcome) -> bool {
    outcome.fate.is_ok()
}

/// The transcript of three queues in which each rule of the figures applies once.
#[test]
fn each_rule_once() {
    // Lots fall as the seed says; the first must fall on flow 2, of flows 1 and 2.
    let transcript = (0..100).find_map(|seed| {
        let mut buffer: Buffer<SelectivePushoutPlus> = units(10, 4, |parameters| parameters.seed = Some(seed));
        for (flow, word) in [(1, "uumu"), (2, "uum"), (3, "uuu")] {
            for (at, mark) in (0..).zip(word.bytes()) {
                let marked = mark == b'm';
                let outcome = buffer.offer(flow, 1, if marked { M } else { U }, flow * 10 + at + if marked { 100 } else { 0 });
                assert!(enters(&outcome) && outcome.pushed.is_empty());
            }
        }
        assert_eq!(buffer.manager.quasi_longest(), Some(Flow(1)));
        let first = buffer.offer(3, 1, U, 33);
        (first.pushed == [(Flow(2), 122)]).then_some((buffer, first))
    });
    let (mut buffer, first) = transcript.expect("one of a hundred seeds draws flow 2");
    assert!(enters(&first));
    assert_eq!(names(&buffer, 2), [20, 21]);
    // A marked packet pushes nothing out.
    assert_eq!(buffer.offer(1, 1, M, 114), Outcome { fate: Err(DropReason::SharedLimit), pushed: vec![] });
    // The last marked packet leaves from the middle of its queue.
    let outcome = buffer.offer(2, 1, U, 22);
    assert!(enters(&outcome));
    assert_eq!(outcome.pushed, [(Flow(1), 112)]);
    assert_eq!([1, 2, 3].map(|flow| names(&buffer, flow)), [vec![10, 11, 13], vec![20, 21, 22], vec![30, 31, 32, 33]]);
    assert_eq!(buffer.manager.quasi_longest(), Some(Flow(1)), "only the flow that arrives is compared");
    let outcome = buffer.offer(2, 1, U, 23);
    assert!(enters(&outcome));
    assert_eq!(outcome.pushed, [(Flow(1), 10)], "the head of the quasi-longest queue");
    assert_eq!([1, 2].map(|flow| names(&buffer, flow)), [vec![11, 13], vec![20, 21, 22, 23]]);
    assert_eq!(buffer.manager.quasi_longest(), Some(Flow(2)));
    assert_eq!(buffer.offer(2, 1, U, 24), Outcome { fate: Err(DropReason::SharedLimit), pushed: vec![] });
}

#[test]
fn the_register_follows_arrivals_and_heads_give_way() {
    let mut buffer: Buffer<SelectivePushoutPlus> = units(6, 4, |_| {});
    let offer = |buffer: &mut Buffer<SelectivePushoutPlus>, flow, name| buffer.offer(flow, 1, U, name);
    (0..4).for_each(|name| assert!(enters(&offer(&mut buffer, 1, name))));
    (0..2).for_each(|name| assert!(enters(&offer(&mut buffer, 2, name))));
    (0..3).for_each(|name| assert_eq!(buffer.depart(1), Some(name)));
    (2..5).for_each(|name| assert!(enters(&offer(&mut buffer, 2, name))));
    assert_eq!(buffer.manager.quasi_longest(), Some(Flow(2)));
    assert_eq!(offer(&mut buffer, 3, 0).pushed, [(Flow(2), 0)]);
    (1..3).for_each(|name| assert_eq!(buffer.depart(2), Some(name)));
    (1..3).for_each(|name| assert_eq!(offer(&mut buffer, 3, name).pushed, []));
    assert_eq!(buffer.manager.quasi_longest(), Some(Flow(3)));
    assert_eq!([1, 2, 3].map(|flow| names(&buffer, flow)), [vec![3], vec![3, 4], vec![0, 1, 2]]);
}

/// The register at six places of a transcript, and whether the last packet enters.
fn departures(updating: Option<bool>) -> ([Option<Flow>; 6], Outcome) {
    let mut buffer: Buffer<SelectivePushoutPlus> = units(8, 5, |parameters| parameters.departure_updating = updating);
    let mut registers = Vec::new();
    let mut run = |steps: &[(bool, u32, u32)], last: u32| {
        for &(arrives, flow, times) in steps {
            for _ in 0..times {
                if arrives {
                    assert!(enters(&buffer.offer(flow, 1, U, last)));
                } else {
                    assert!(buffer.depart(flow).is_some());
                }
            }
        }
        registers.push(buffer.manager.quasi_longest());
    };
    run(&[(true, 1, 5), (true, 2, 3), (false, 1, 3)], 0);
    run(&[(false, 2, 1)], 0);
    run(&[(false, 1, 1), (false, 2, 1), (true, 3, 3)], 0);
    run(&[(true, 4, 3), (false, 3, 3), (true, 1, 3)], 0);
    run(&[(false, 1, 3), (false, 4, 1)], 0);
    run(&[(true, 2, 4)], 7);
    let last = buffer.offer(4, 1, U, 9);
    (registers.try_into().unwrap(), last)
}

#[test]
fn the_register_follows_departures_unless_that_is_off() {
    let flows = |numbers: [u32; 6]| numbers.map(|number| Some(Flow(number)));
    for updating in [None, Some(true)] {
        let (registers, last) = departures(updating);
        assert_eq!(registers, flows([1, 1, 3, 1, 4, 2]));
        assert!(enters(&last));
        assert_eq!(last.pushed, [(Flow(2), 0)], "2 holds one packet of the first phase before those of the last");
    }
    assert_eq!(departures(Some(false)).0, flows([1, 1, 3, 1, 1, 2]));
}

#[test]
fn lots_fall_on_queues_and_not_on_packets() {
    let mut buffer: Buffer<SelectivePushout> = units(30, 4, |parameters| parameters.seed = Some(1));
    for (flow, packets) in [(1, 2), (2, 8), (3, 20)] {
        (0..packets).for_each(|name| assert!(enters(&buffer.offer(flow, 1, M, name))));
    }
    let (mut drawn, mut same, mut last) = ([0u32; 4], 0, Flow(0));
    for _ in 0..30_000 {
        let flow = buffer.offer(0, 1, U, 0).pushed[0].0;
        drawn[flow.index()] += 1;
        same += u32::from(std::mem::replace(&mut last, flow) == flow);
        // The packet leaves, and the marked one comes back.
        assert_eq!(buffer.depart(0), Some(0));
        assert!(enters(&buffer.offer(flow.0, 1, M, 0)));
    }
    assert_eq!(drawn[0], 0);
    for count in drawn[1..].iter().chain([&same]) {
        assert!((9_700..10_300).contains(count), "{drawn:?}, {same} like the one before");
    }
}

#[test]
fn the_same_seed_draws_the_same() {
    let run = |seed| {
        let mut buffer: Buffer<SelectivePushout> = units(40, 20, |parameters| parameters.seed = Some(seed));
        (0..40).for_each(|name| assert!(enters(&buffer.offer(name % 19, 1, M, name))));
        (0..30).flat_map(|name| buffer.offer(19, 1, U, name).pushed).collect::<Vec<_>>()
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn what_exceeds_a_reserve_is_marked() {
    let mut buffer: Buffer<SelectivePushout> = units(1000, 2, |parameters| parameters.reserve = Some(300));
    assert_eq!(buffer.offer(0, 300, U, 1).fate, Ok(U));
    assert_eq!(buffer.offer(0, 1, U, 2).fate, Ok(M));
    assert_eq!(buffer.offer(0, 600, Colour::Red, 3).fate, Ok(Colour::Red), "what came marked keeps its colour");
    assert_eq!(buffer.offer(0, 100, U, 4).fate, Err(DropReason::SharedLimit), "it counts as marked");
    let outcome = buffer.offer(1, 300, U, 5);
    assert_eq!((outcome.fate, outcome.pushed), (Ok(U), vec![(Flow(0), 2), (Flow(0), 3)]));
}

#[test]
fn nothing_gives_way_in_vain() {
    let mut buffer: Buffer<SelectivePushout> = units(1000, 2, |_| {});
    for (length, colour) in [(500, U), (300, M), (200, M)] {
        assert!(enters(&buffer.offer(0, length, colour, length)));
    }
    assert_eq!(buffer.offer(1, 501, U, 0), Outcome { fate: Err(DropReason::SharedLimit), pushed: vec![] }, "one byte too long");
    assert_eq!(buffer.offer(1, 500, U, 0).pushed, [(Flow(0), 300), (Flow(0), 200)], "exactly what was marked");
    // A packet for which the quasi-longest queue does not suffice: its own queue, now the longest, gives way after others have.
    let mut buffer: Buffer<SelectivePushoutPlus> = units(1000, 3, |parameters| parameters.departure_updating = Some(false));
    assert!(enters(&buffer.offer(0, 400, U, 1)) && enters(&buffer.offer(0, 100, U, 2)));
    assert!(enters(&buffer.offer(1, 450, U, 3)));
    assert_eq!(buffer.depart(0), Some(1));
    let outcome = buffer.offer(1, 900, U, 4);
    assert_eq!((outcome.fate, outcome.pushed), (Ok(U), vec![(Flow(0), 2), (Flow(1), 3)]));
    assert_eq!(buffer.offer(2, 1001, U, 5), Outcome { fate: Err(DropReason::SharedLimit), pushed: vec![] });
}

/// The rules, counted anew from a list of what is queued for every question.
struct Model {
    plus: bool,
    size: u64,
    packets: u32,
    reserve: Option<u32>,
    departures: bool,
    /// Flow, length, marked, name; in the order of arrival.
    queued: Vec<(u32, u32, bool, u32)>,
    register: Option<u32>,
}

/// What the model says of an arrival.
#[derive(Debug)]
enum Rule {
    Exactly(Admission),
    /// A marked packet of any flow that has one.
    AnyMarked,
}

impl Model {
    fn bytes(&self, which: impl Fn(&(u32, u32, bool, u32)) -> bool) -> u64 {
        self.queued.iter().filter(|packet| which(packet)).map(|packet| u64::from(packet.1)).sum()
    }

    fn flow(&self, flow: u32) -> u64 {
        self.bytes(|packet| packet.0 == flow)
    }

    fn has_marked(&self, flow: u32) -> bool {
        self.queued.iter().any(|packet| packet.0 == flow && packet.2)
    }

    /// `last` is the flow that has just given way, `is_longest` the branch that was taken.
    fn rule(&mut self, arrival: (u32, u32, Colour), last: Option<u32>, is_longest: &mut bool) -> Rule {
        let (flow, length, colour) = arrival;
        let exceeds = self.reserve.is_some_and(|reserve| self.flow(flow) + u64::from(length) > u64::from(reserve));
        let marked = colour != U || exceeds;
        let fits = |bytes: u64, packets: usize| bytes + u64::from(length) <= self.size && (packets as u32) < self.packets;
        if fits(self.bytes(|_| true), self.queued.len()) {
            return Rule::Exactly(if marked && colour == U { Admission::AcceptAs(M) } else { Admission::Accept });
        }
        let refused = Rule::Exactly(Admission::Refuse(DropReason::SharedLimit));
        if last.is_none() {
            if marked {
                return refused;
            }
            *is_longest = !fits(self.bytes(|packet| !packet.2), self.queued.iter().filter(|packet| !packet.2).count());
            if *is_longest && (!self.plus || u64::from(length) > self.size || self.register == Some(flow)) {
                return refused;
            }
        }
        match last {
            Some(last) if !*is_longest && self.has_marked(last) => return Rule::Exactly(Admission::PushOut(Victim::Marked(Flow(last)))),
            _ if self.queued.iter().any(|packet| packet.2) => return Rule::AnyMarked,
            _ => {}
        }
        if self.register.is_none_or(|register| self.flow(register) == 0) {
            let mut longest = 0;
            (1..FLOWS).for_each(|flow| longest = if self.flow(flow) > self.flow(longest) { flow } else { longest });
            self.register = Some(longest);
            if last.is_none() && (longest == flow || self.flow(longest) == 0) {
                return refused;
            }
        }
        Rule::Exactly(Admission::PushOut(Victim::Head(Flow(self.register.unwrap()))))
    }

    fn arrived(&mut self, flow: u32, length: u32, marked: bool, name: u32) {
        self.queued.push((flow, length, marked, name));
        if self.register.is_none_or(|register| self.flow(flow) > self.flow(register)) {
            self.register = Some(flow);
        }
    }

    fn departed(&mut self, flow: u32) {
        if self.departures && self.register.is_none_or(|register| self.flow(flow) > self.flow(register)) {
            self.register = Some(flow);
        }
    }

    fn remove(&mut self, victim: Victim) -> (Flow, u32) {
        let at = self.queued.iter().position(|packet| match victim {
            Victim::Head(flow) => packet.0 == flow.0,
            Victim::Marked(flow) => packet.0 == flow.0 && packet.2,
            Victim::Tail(_) => false,
        });
        let packet = self.queued.remove(at.expect("it is queued"));
        (Flow(packet.0), packet.3)
    }
}

/// The number of flows of the comparison.
const FLOWS: u32 = 5;

/// What happens: an arrival with its flow, length and colour, or a departure of a flow.
type Event = (bool, u32, u32, Colour);

fn follow<B: BufferManager + Algorithm<Buffering>>(mut model: Model, seed: u64, events: &[Event]) -> Result<(), TestCaseError> {
    let mut buffer: Buffer<B> = units(model.packets, FLOWS as usize, |parameters| {
        parameters.bytes = Some(model.size);
        parameters.reserve = model.reserve;
        parameters.seed = Some(seed);
        if model.plus {
            parameters.departure_updating = Some(model.departures);
        }
    });
    for (name, &(arrives, flow, length, colour)) in (0..).zip(events) {
        if !arrives {
            let expected = model.queued.iter().position(|packet| packet.0 == flow).map(|at| model.queued.remove(at).3);
            prop_assert_eq!(buffer.depart(flow), expected);
            if expected.is_some() {
                model.departed(flow);
            }
            continue;
        }
        let (mut last, mut is_longest, mut broken) = (None, false, None);
        let mut expected = Vec::new();
        let outcome = buffer.offer_part(whole(flow, length, colour, name), |said, _| {
            let rule = model.rule((flow, length, colour), last, &mut is_longest);
            let agrees = match (&rule, said) {
                (Rule::Exactly(rule), said) => *rule == said,
                (Rule::AnyMarked, Admission::PushOut(Victim::Marked(flow))) => model.has_marked(flow.0),
                (Rule::AnyMarked, _) => false,
            };
            if !agrees && broken.is_none() {
                broken = Some(format!("{name}: {said:?} where the rules say {rule:?}"));
            }
            if let Admission::PushOut(victim) = said {
                let gone = model.remove(victim);
                last = Some(gone.0.0);
                expected.push(gone);
            }
        });
        prop_assert_eq!(broken, None);
        prop_assert_eq!(&outcome.pushed, &expected);
        if let Ok(colour) = outcome.fate {
            model.arrived(flow, length, colour != U, name);
        }
        // M and the lists, as the queues have them.
        for flow in 0..FLOWS {
            let marked = buffer.queues.marked(Flow(flow));
            prop_assert_eq!(u64::from(marked.bytes), model.bytes(|packet| packet.0 == flow && packet.2));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_follow_their_rules(
        size in 1u64..4_000,
        packets in 1u32..20,
        reserve in proptest::option::of(1u32..2_000),
        departures in any::<bool>(),
        seed in any::<u64>(),
        is_equal in any::<bool>(),
        events in proptest::collection::vec(
            (prop::bool::weighted(0.7), 0..FLOWS, prop_oneof![Just(0u32), 1u32..100, 1u32..1500], prop_oneof![3 => Just(U), 2 => Just(M), 1 => Just(Colour::Red)]),
            1..120,
        ),
    ) {
        let events: Vec<Event> = events.into_iter().map(|event| if is_equal { (event.0, event.1, 100, event.3) } else { event }).collect();
        let model = |plus| Model { plus, size, packets, reserve, departures, queued: Vec::new(), register: None };
        follow::<SelectivePushout>(model(false), seed, &events)?;
        follow::<SelectivePushoutPlus>(model(true), seed, &events)?;
    }
}
