//! Tests of [`super`].

use super::*;
use proptest::prelude::*;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::Rate;

/// The time of a cell at 500 Mbit/s.
const PACE: u64 = 848_000;

fn port(queues: u32, cells: u32, kind: BufferKind, scheduler: SchedulerKind) -> CellPort<usize> {
    let rate = Rate::new(500_000_000).unwrap();
    let flows = vec![FlowParameters::default(); queues as usize];
    let parameters = BufferParameters { flows: queues as usize, packets: Some(cells), ..BufferParameters::default() };
    let setup = PortSetup {
        rate,
        overhead: Overhead::None,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues, rules: vec![] }], 0).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: kind.build(&parameters).unwrap(),
        scheduler: scheduler.build(&Setup::new(rate, CELL), &flows).unwrap(),
        packet_limit: cells,
        longest_frame: CELL,
        remarks: Default::default(),
    };
    CellPort::new(setup, u64::MAX)
}

fn train(tag: usize, cells: u32, first: u64) -> Train<usize> {
    Train { tag, length: 48 * cells - 8, colour: Colour::Green, first, pace: PACE, goes_on: false }
}

fn play(port: &mut CellPort<usize>) -> Vec<Fate<usize>> {
    let mut fates = Vec::new();
    while port.next() != NEVER {
        port.step(&mut ());
        fates.extend(port.decided.drain(..));
    }
    fates
}

#[test]
fn a_train_alone_passes_a_cell_behind_its_arrival() {
    let mut port = port(1, 10, BufferKind::TailDrop, SchedulerKind::Fifo);
    port.push(Flow(0), train(7, 5, 100));
    let whole = Fate::Whole { tag: 7, length: 232, colour: Colour::Green, is_congested: false, finish: 100 + 5 * PACE };
    assert_eq!(play(&mut port), [whole]);
    assert_eq!(port.inside, Volume::default());
}

#[test]
fn trains_of_one_queue_come_one_after_the_other_and_those_of_two_at_once() {
    let mut port = port(2, 20, BufferKind::TailDrop, SchedulerKind::Fifo);
    port.push(Flow(0), train(0, 3, 0));
    port.push(Flow(0), train(1, 2, 0));
    port.push(Flow(1), train(2, 3, 0));
    let finishes: Vec<(usize, u64)> = play(&mut port)
        .iter()
        .map(|fate| match fate {
            Fate::Whole { tag, finish, .. } => (*tag, *finish / PACE),
            lost => panic!("{lost:?}"),
        })
        .collect();
    // 0 1 | 0 1 | 0 1 and then the two cells of the second train.
    assert_eq!(finishes, [(0, 5), (2, 6), (1, 8)]);
}

#[test]
fn a_lost_end_of_a_frame_costs_the_next_one_too() {
    let mut port = port(2, 4, BufferKind::TailDrop, SchedulerKind::Fifo);
    // Three lines' worth of cells for a buffer of four: something has to go.
    port.push(Flow(0), train(0, 8, 0));
    port.push(Flow(1), train(1, 20, 0));
    port.push(Flow(0), train(2, 3, 60 * PACE));
    let fates = play(&mut port);
    let lost: Vec<usize> = fates.iter().filter_map(|fate| if let Fate::Lost { tag, .. } = fate { Some(*tag) } else { None }).collect();
    assert_eq!(fates.len(), 3);
    let ended = port.port().counters().dropped[DropReason::SharedLimit as usize].packets;
    assert!(ended > 0 && !lost.is_empty());
    assert_eq!(port.inside, Volume::default());
}

/// What a receiver would make of the cells that the port sends, from their contents alone.
#[derive(Default)]
struct Receiver {
    cells: Vec<Vec<(u32, u32, Part)>>,
    delivered: Vec<u32>,
}

impl Observer<Cell> for Receiver {
    fn sent(&mut self, _now: Time, packet: &Packet<Cell>, _finish: Time, _occupancy: &Occupancy) {
        let Cell { packet: number, cells, part } = packet.payload;
        let held = &mut self.cells[packet.flow.index()];
        held.push((number, cells, part));
        if part.is_last() {
            let all_of_one = held.iter().all(|cell| cell.0 == number);
            if all_of_one && held.len() as u32 == cells {
                self.delivered.push(number);
            }
            held.clear();
        }
    }
}

proptest! {
    /// Every packet has one fate, in the order of its queue; whole ones are those that a receiver would reassemble; nothing is left over.
    #[test]
    fn packets_are_delivered_whole_or_lost(
        kind in prop::sample::select(vec![BufferKind::TailDrop, BufferKind::PartialPacketDiscard, BufferKind::EarlyPacketDiscard,
            BufferKind::SelectiveDrop, BufferKind::LongestQueuePushOut]),
        scheduler in prop::sample::select(vec![SchedulerKind::Fifo, SchedulerKind::SelfClocked]),
        buffer in 1u32..40,
        trains in prop::collection::vec((0u32..3, 1u32..12, 0u64..30, 1u64..4), 0..60),
    ) {
        let mut port = port(3, buffer, kind, scheduler);
        let mut receiver = Receiver { cells: vec![Vec::new(); 3], ..Receiver::default() };
        let (mut now, mut fates) = (0, Vec::new());
        for (tag, &(queue, cells, pause, pace)) in trains.iter().enumerate() {
            now += pause * PACE;
            while port.next() <= now {
                port.step(&mut receiver);
                fates.extend(port.decided.drain(..));
            }
            port.push(Flow(queue), Train { pace: pace * PACE / 2, ..train(tag, cells, now) });
        }
        while port.next() != NEVER {
            port.step(&mut receiver);
            fates.extend(port.decided.drain(..));
        }
        prop_assert!(port.port().check().is_ok());
        prop_assert_eq!(port.inside, Volume::default());
        let mut seen: Vec<usize> = fates.iter().map(|fate| match fate { Fate::Whole { tag, .. } | Fate::Lost { tag, .. } => *tag }).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..trains.len()).collect::<Vec<_>>());
        let whole = fates.iter().filter(|fate| matches!(fate, Fate::Whole { .. })).count();
        prop_assert_eq!(whole, receiver.delivered.len());
        let cells: u64 = trains.iter().map(|train| u64::from(train.1)).sum();
        prop_assert_eq!(port.port().counters().offered.packets, cells);
    }
}
