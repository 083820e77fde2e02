//! The queues beside a model of double-ended queues, with and without lists of marked packets.

use super::*;
use alloc::collections::VecDeque;
use proptest::prelude::*;

/// The number of queues.
const FLOWS: u32 = 3;
/// The most packets in all.
const LIMIT: u32 = 12;

/// What is done to a queue.
#[derive(Clone, Copy, Debug)]
enum Step {
    Push(Colour),
    Pop,
    PopLast,
    PopMarked,
    /// The packet with this many others before it.
    PopAt(u32),
    /// The lists are made anew from what is queued.
    Keep,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop_oneof![Just(Colour::Green), Just(Colour::Yellow), Just(Colour::Red)].prop_map(Step::Push),
        2 => Just(Step::Pop),
        1 => Just(Step::PopLast),
        2 => Just(Step::PopMarked),
        2 => (0..LIMIT).prop_map(Step::PopAt),
        1 => Just(Step::Keep),
    ]
}

/// The slots of the list of a flow's marked packets.
fn listed(queues: &Queues<u32>, flow: Flow) -> Vec<u32> {
    let Some(marked) = &queues.marked else { return Vec::new() };
    let (mut at, mut slots) = (marked.ends[flow.index()][0], Vec::new());
    while at != NONE {
        slots.push(at);
        at = marked.next[at as usize];
    }
    slots
}

/// The slots of all packets of a flow behind the first, forwards.
fn behind(queues: &Queues<u32>, flow: Flow) -> Vec<u32> {
    let queue = &queues.occupancy.flows[place(flow)];
    if queue.packets < 2 {
        return Vec::new();
    }
    core::iter::successors(Some(queue.second), |&at| Some(queues.slots.get(at as usize)?.next)).take(queue.packets as usize - 1).collect()
}

proptest! {
    #[test]
    fn queues_and_their_lists_agree_with_a_model(keep in any::<bool>(), steps in proptest::collection::vec((0..FLOWS, step()), 1..200)) {
        let mut queues: Queues<u32> = Queues::new(FLOWS as usize, LIMIT, Overhead::None);
        if keep {
            queues.keep_marked_lists();
        }
        let mut model = alloc::vec![VecDeque::<(u32, Colour)>::new(); FLOWS as usize];
        for (number, (flow, step)) in (1..).zip(steps) {
            let (at, queue) = (Flow(flow), &mut model[flow as usize]);
            let plain = |packet: Packet<u32>| (packet.payload, packet.colour);
            match step {
                Step::Push(colour) if !queues.is_full() => {
                    let packet = Packet { flow: at, length: number, arrival: Time::ZERO, colour, part: Part::Whole, ecn: Ecn::NotEct, payload: number };
                    prop_assert_eq!(queues.push(packet).is_some(), queue.is_empty());
                    queue.push_back((number, colour));
                }
                Step::Push(_) => {}
                Step::Pop => prop_assert_eq!(queues.pop(at).map(|(packet, _)| plain(packet)), queue.pop_front()),
                Step::PopLast => prop_assert_eq!(queues.pop_last(at).map(plain), queue.pop_back()),
                Step::PopMarked if keep => {
                    let place = queue.iter().position(|&(_, colour)| colour != Colour::Green);
                    let expected = place.and_then(|place| Some((queue.remove(place)?, place == 0)));
                    prop_assert_eq!(queues.pop_marked(at).map(|(packet, was_head)| (plain(packet), was_head)), expected);
                }
                Step::PopMarked => {}
                Step::PopAt(before) => {
                    let is_listed = |colour| keep && before > 0 && colour != Colour::Green;
                    let expected = queue.get(before as usize).copied().filter(|&(_, colour)| !is_listed(colour));
                    prop_assert_eq!(queues.pop_at(at, before).map(plain), expected);
                    expected.and_then(|_| queue.remove(before as usize));
                }
                Step::Keep if keep => queues.keep_marked_lists(),
                Step::Keep => {}
            }
            for (flow, queue) in (0..).map(Flow).zip(&model) {
                let walked: Vec<_> = queues.walk(flow).map(|(packet, &number)| (number, packet.colour)).collect();
                prop_assert_eq!(walked, queue.iter().copied().collect::<Vec<_>>());
                let marked: Vec<_> = queue.iter().filter(|(_, colour)| *colour != Colour::Green).collect();
                let bytes = marked.iter().map(|(length, _)| length).sum();
                prop_assert_eq!(queues.marked(flow), Marked { packets: marked.len() as u32, bytes });
                let all = queue.iter().map(|(length, _)| length).sum::<u32>();
                let counted = (queues.occupancy.flow_packets(flow), queues.occupancy.flow_bytes(flow));
                prop_assert_eq!(counted, (queue.len() as u32, all));
                // The list is the subsequence of the marked packets behind the first.
                let slots = behind(&queues, flow).into_iter().filter(|&at| queues.slots[at as usize].packet.is_marked());
                prop_assert_eq!(listed(&queues, flow), if keep { slots.collect() } else { Vec::new() });
            }
        }
    }
}
