//! Buffers that change while packets are queued: a manager that takes over continues alike, flows change and leave without a trace, and partitions
//! share nothing.

mod buffer;

use buffer::{Buffer, Outcome};
use proptest::prelude::*;
use tidegate_core::buffer::{BufferField, BufferManager, BufferParameters, FlowLimit, FlowShare, Override, Reserve};
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet, Part};
use tidegate_core::registry::{AnyBufferManager, BufferKind, PartitionSpec};
use tidegate_core::scheduler::Kept;
use tidegate_core::units::{Rate, Time};

/// Flows of one buffer.
const FLOWS: u32 = 5;
/// The most packets of one buffer.
const PACKETS: u32 = 24;

fn parameters(kind: BufferKind, bytes: Option<u64>, flow: FlowLimit) -> BufferParameters {
    let takes = |field| kind.accepts().contains(&field);
    let exception = Override { first_flow: Flow(1), flows: 2, limit: FlowLimit { packets: Some(9), bytes: Some(6_000) } };
    BufferParameters {
        flows: FLOWS as usize,
        packets: Some(PACKETS),
        bytes,
        flow,
        overrides: vec![exception],
        capacity: Rate::new(10_000_000).ok().filter(|_| takes(BufferField::Guarantees)),
        reserve: Some(2_000).filter(|_| takes(BufferField::Reserve)),
        reserves: if takes(BufferField::Reserve) { vec![Reserve { first_flow: Flow(0), flows: 1, bytes: 500 }] } else { vec![] },
        seed: Some(3).filter(|_| takes(BufferField::Seed)),
        ..BufferParameters::default()
    }
}

/// What happens to a buffer: a departure of a flow, or an arrival with its length, colour and part.
type Event = (u32, Option<(u32, Colour, Part)>);

fn events(flows: u32) -> impl Strategy<Value = Vec<Event>> {
    let colour = prop_oneof![3 => Just(Colour::Green), 2 => Just(Colour::Yellow), 1 => Just(Colour::Red)];
    let part = prop_oneof![2 => Just(Part::Whole), 1 => Just(Part::First), 2 => Just(Part::Middle), 1 => Just(Part::Last)];
    let arrival = (prop_oneof![Just(0u32), 1u32..100, 1u32..1500], colour, part);
    proptest::collection::vec((0..flows, proptest::option::weighted(0.7, arrival)), 1..150)
}

/// What came of an event: the packet that departed, or what became of an arrival.
#[derive(PartialEq, Debug)]
enum Told {
    Departed(Option<u32>),
    Arrived(Outcome),
}

fn carry_out<B: BufferManager>(buffer: &mut Buffer<B>, name: u32, (flow, event): Event) -> Told {
    match event {
        None => Told::Departed(buffer.depart(flow)),
        Some((length, colour, part)) => {
            let packet = Packet { flow: Flow(flow), length, arrival: Time::ZERO, colour, part, ecn: Ecn::NotEct, payload: name };
            Told::Arrived(buffer.offer_part(packet, |_, _| {}))
        }
    }
}

/// A manager in place of that of `buffer`, which knows the queues and has adopted the flows that are kept.
fn takes_over(buffer: &Buffer<AnyBufferManager>, mut manager: AnyBufferManager, keeps: impl Fn(Flow) -> bool) -> Buffer<AnyBufferManager> {
    let queues = buffer.queues.clone();
    let flows = (0..queues.occupancy().flows() as u32).map(Flow);
    let kept: Vec<Kept> =
        flows.clone().filter(|&flow| keeps(flow)).map(|flow| Kept { from: flow, to: flow, head: queues.head(flow) }).collect();
    flows.for_each(|flow| manager.restore(flow, queues.marked(flow), queues.occupancy()));
    manager.adopt(&buffer.manager, &kept);
    Buffer { manager, queues }
}

fn any_kind() -> impl Strategy<Value = BufferKind> {
    proptest::sample::select(BufferKind::ALL)
}

fn sizes() -> impl Strategy<Value = (Option<u64>, FlowLimit)> {
    let limit =
        (proptest::option::of(1u32..20), proptest::option::of(100u32..5_000)).prop_map(|(packets, bytes)| FlowLimit { packets, bytes });
    (proptest::option::of(500u64..12_000), limit)
}

/// Two partitions; the flows of the port alternate between them.
fn partitions(kinds: [BufferKind; 2], sizes: [(Option<u64>, FlowLimit); 2]) -> (Buffer<AnyBufferManager>, [BufferParameters; 2]) {
    let parameters = [0, 1].map(|at| parameters(kinds[at], sizes[at].0, sizes[at].1));
    let specs = [0, 1].map(|at| PartitionSpec { kind: kinds[at], parameters: parameters[at].clone() });
    let partition_of: Vec<_> = (0..2 * FLOWS).map(|flow| Some(flow % 2)).collect();
    let manager = AnyBufferManager::partitioned(&specs, &partition_of).unwrap();
    (Buffer::new(manager, 2 * FLOWS as usize, 2 * PACKETS), parameters)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_manager_that_takes_over_continues_alike(kind in any_kind(), size in sizes(), at in 0usize..150, events in events(FLOWS)) {
        let parameters = parameters(kind, size.0, size.1);
        let mut one = Buffer::new(kind.build(&parameters).unwrap(), FLOWS as usize, PACKETS);
        let mut other = one.clone();
        for (name, &event) in events.iter().enumerate() {
            if name == at {
                other = takes_over(&other, kind.build(&parameters).unwrap(), |_| true);
            }
            prop_assert_eq!(carry_out(&mut one, name as u32, event), carry_out(&mut other, name as u32, event), "{} at {}", kind.name(), name);
        }
    }

    #[test]
    fn partitions_continue_alike(kinds in [any_kind(), any_kind()], sizes in [sizes(), sizes()], at in 0usize..150, events in events(2 * FLOWS)) {
        let (mut one, _) = partitions(kinds, sizes);
        let mut other = one.clone();
        for (name, &event) in events.iter().enumerate() {
            if name == at {
                other = takes_over(&other, partitions(kinds, sizes).0.manager, |_| true);
            }
            prop_assert_eq!(carry_out(&mut one, name as u32, event), carry_out(&mut other, name as u32, event));
        }
    }

    #[test]
    fn a_partition_is_a_buffer_of_its_own(kinds in [any_kind(), any_kind()], sizes in [sizes(), sizes()], events in events(2 * FLOWS)) {
        let (mut port, parameters) = partitions(kinds, sizes);
        let mut alone = [0, 1].map(|at| Buffer::new(kinds[at].build(&parameters[at]).unwrap(), FLOWS as usize, PACKETS));
        for (name, &(flow, event)) in events.iter().enumerate() {
            let (partition, local) = (flow % 2, flow / 2);
            let mut expected = carry_out(&mut alone[partition as usize], name as u32, (local, event));
            if let Told::Arrived(outcome) = &mut expected {
                outcome.pushed.iter_mut().for_each(|(flow, _)| flow.0 = 2 * flow.0 + partition);
            }
            prop_assert_eq!(carry_out(&mut port, name as u32, (flow, event)), expected, "{} and {}", kinds[0].name(), kinds[1].name());
        }
    }

    /// After a flow has left and another has come, all is as on a manager that has never known the one.
    #[test]
    fn a_flow_that_leaves_is_forgotten(kind in any_kind(), size in sizes(), at in 0usize..100, events in events(FLOWS)) {
        let parameters = parameters(kind, size.0, size.1);
        let mut one = Buffer::new(kind.build(&parameters).unwrap(), FLOWS as usize, PACKETS);
        let mut other = one.clone();
        let gone = Flow(1);
        let share = FlowShare { limit: FlowLimit { packets: Some(3), bytes: Some(2_000) }, reserve: Some(700), ..FlowShare::default() };
        for (name, &event) in events.iter().enumerate() {
            if name == at {
                while one.depart(gone.0).is_some() {
                    other.depart(gone.0);
                }
                other = takes_over(&one, kind.build(&parameters).unwrap(), |flow| flow != gone);
                one.manager.forget(gone);
                for buffer in [&mut one, &mut other] {
                    buffer.manager.change(gone, &share, buffer.queues.occupancy()).unwrap();
                }
            }
            prop_assert_eq!(carry_out(&mut one, name as u32, event), carry_out(&mut other, name as u32, event), "{} at {}", kind.name(), name);
        }
    }
}

#[test]
fn limits_of_single_flows_change() {
    for &kind in BufferKind::ALL {
        for changes in [false, true] {
            let parameters = BufferParameters { flows: 3, packets: Some(20), changes, ..BufferParameters::default() };
            let mut buffer = Buffer::new(kind.build(&parameters).unwrap(), 3, 20);
            let mut share = FlowShare { limit: FlowLimit { packets: Some(1), bytes: None }, ..FlowShare::default() };
            buffer.manager.change(Flow(1), &share, buffer.queues.occupancy()).unwrap();
            let fates = [0, 1, 1, 0].map(|flow| buffer.offer(flow, 100, Colour::Green, 0).fate);
            assert_eq!(fates, [Ok(Colour::Green), Ok(Colour::Green), Err(DropReason::FlowLimit), Ok(Colour::Green)], "{}", kind.name());
            share.limit.packets = Some(0);
            let error = buffer.manager.change(Flow(1), &share, buffer.queues.occupancy()).unwrap_err();
            assert_eq!(error.field, BufferField::FlowLimit);
            assert_eq!(buffer.offer(1, 100, Colour::Green, 0).fate, Err(DropReason::FlowLimit), "an error changes nothing");
            share.limit.packets = None;
            buffer.manager.change(Flow(1), &share, buffer.queues.occupancy()).unwrap();
            assert_eq!(buffer.offer(1, 100, Colour::Green, 0).fate, Ok(Colour::Green));
        }
    }
}

#[test]
fn minimum_rates_of_single_flows_change_within_the_link() {
    let kind = BufferKind::WeightedBufferAllocation;
    let (flows, packets, capacity) = (2, Some(100), Rate::new(10_000_000).ok());
    let parameters = BufferParameters { flows, packets, capacity, ..BufferParameters::default() };
    let mut buffer = Buffer::new(kind.build(&parameters).unwrap(), 2, 100);
    let mut change = |flow, mbps: u64| {
        let guarantee = Rate::new(mbps * 1_000_000).ok();
        buffer
            .manager
            .change(Flow(flow), &FlowShare { guarantee, ..FlowShare::default() }, buffer.queues.occupancy())
            .err()
            .map(|error| error.field)
    };
    assert_eq!(
        [change(0, 6), change(1, 4), change(1, 5), change(0, 5), change(1, 5)],
        [None, None, Some(BufferField::Guarantees), None, None]
    );
    buffer.manager.forget(Flow(0));
    let mut change = |flow, mbps: u64| {
        let guarantee = Rate::new(mbps * 1_000_000).ok();
        buffer.manager.change(Flow(flow), &FlowShare { guarantee, ..FlowShare::default() }, buffer.queues.occupancy()).is_ok()
    };
    assert!(!change(1, 11) && change(1, 10));
}

#[test]
fn flows_come_to_partitions_and_go() {
    let spec = |packets, flows| PartitionSpec {
        kind: BufferKind::TailDrop,
        parameters: BufferParameters { flows, packets: Some(packets), ..BufferParameters::default() },
    };
    let manager = AnyBufferManager::partitioned(&[spec(1, 2), spec(2, 1)], &[Some(0), Some(1), None, None]).unwrap();
    let mut buffer = Buffer::new(manager, 4, 3);
    let fate = |buffer: &mut Buffer<AnyBufferManager>, flow| buffer.offer(flow, 100, Colour::Green, 0).fate.map(|_| ());
    let change = |buffer: &mut Buffer<AnyBufferManager>, flow, partition| {
        let share = FlowShare { partition, ..FlowShare::default() };
        buffer.manager.change(Flow(flow), &share, buffer.queues.occupancy()).map_err(|error| error.problem)
    };
    assert_eq!(fate(&mut buffer, 2), Err(DropReason::Removed), "the place is vacant");
    assert_eq!(fate(&mut buffer, 0), Ok(()));
    assert_eq!(change(&mut buffer, 2, 0), Ok(()));
    assert_eq!(fate(&mut buffer, 2), Err(DropReason::SharedLimit), "it shares the partition of flow 0");
    assert!(change(&mut buffer, 3, 1).unwrap_err().contains("taken") && change(&mut buffer, 3, 2).unwrap_err().contains("no such"));
    assert!(change(&mut buffer, 0, 1).unwrap_err().contains("queued"));
    assert_eq!([fate(&mut buffer, 1), fate(&mut buffer, 1), fate(&mut buffer, 1)], [Ok(()), Ok(()), Err(DropReason::SharedLimit)]);
    buffer.manager.forget(Flow(2));
    assert_eq!(buffer.depart(0), Some(0));
    assert_eq!(change(&mut buffer, 3, 0), Ok(()), "the place of flow 2 is vacant again");
    assert_eq!(fate(&mut buffer, 3), Ok(()));
    // A flow with an empty queue changes its partition, if there is a place.
    assert!(change(&mut buffer, 0, 1).unwrap_err().contains("taken"));
    assert_eq!([buffer.depart(1), buffer.depart(1)], [Some(0), Some(0)]);
    buffer.manager.forget(Flow(1));
    assert_eq!(change(&mut buffer, 0, 1), Ok(()));
    assert_eq!([fate(&mut buffer, 0), fate(&mut buffer, 0), fate(&mut buffer, 0)], [Ok(()), Ok(()), Err(DropReason::SharedLimit)]);
}

#[test]
fn wrong_partitions_are_refused() {
    let parameters = |packets| BufferParameters { flows: 1, packets, bytes: Some(1000), ..BufferParameters::default() };
    let spec = |packets| PartitionSpec { kind: BufferKind::TailDrop, parameters: parameters(packets) };
    let field =
        |specs: &[PartitionSpec], of: &[Option<u32>]| AnyBufferManager::partitioned(specs, of).err().map(|(at, error)| (at, error.field));
    assert_eq!(field(&[spec(Some(1))], &[Some(0)]), None);
    assert_eq!(field(&[spec(Some(1)), spec(None)], &[]), Some((Some(1), BufferField::Limit)));
    assert_eq!(field(&[spec(Some(0))], &[]), Some((Some(0), BufferField::Limit)));
    assert_eq!(field(&[spec(Some(1))], &[Some(0), Some(0)]), Some((None, BufferField::Partition)));
    assert_eq!(field(&[spec(Some(1))], &[Some(1)]), Some((None, BufferField::Partition)));
}
