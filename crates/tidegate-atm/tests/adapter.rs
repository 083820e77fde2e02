//! An adapter's port with random contracts, frames and transfers: conservation, order, and the contracts' policers.

use proptest::prelude::*;
use std::collections::VecDeque;
use tidegate_atm::adapter::{AdapterPort, AdapterSetup, Encapsulation};
use tidegate_cells::{CLASSES, CellContract, CellRate, Conflict, Mode, Prefetch, SLOT, Sustained, Ticks, TransferSetup};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Overhead, Rate, Time};

/// A cell takes 424 ns.
fn port(queues: usize, packet_limit: u32) -> PortSetup {
    let rate = Rate::new(1_000_000_000).unwrap();
    PortSetup {
        rate,
        overhead: Overhead::Aal5,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: queues as u32, rules: vec![] }], 1).unwrap(),
        policers: vec![None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: queues, ..BufferParameters::default() }).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1500), &vec![FlowParameters::default(); queues]).unwrap(),
        packet_limit,
        longest_frame: 1500,
        remarks: Default::default(),
    }
}

fn contracts() -> impl Strategy<Value = Vec<CellContract>> {
    let contract = (SLOT..9 * SLOT, 0..20 * SLOT, 0u64..30 * SLOT, 1u32..12, 0u8..3, 0u8..3);
    let contract = contract.prop_map(|(peak, tolerance, gap, maximum_burst_size, mode, class)| {
        let sustained = Sustained { interval: Ticks(peak + gap), maximum_burst_size };
        let mode = [Mode::Constant, Mode::SingleBucket(sustained), Mode::DualBucket(sustained)][usize::from(mode)];
        CellContract { peak_interval: Ticks(peak), delay_variation_tolerance: Ticks(tolerance), mode, class }
    });
    prop::collection::vec(contract, 1..5)
}

fn transfers() -> impl Strategy<Value = Option<TransferSetup>> {
    let prefetch = prop_oneof![Just(Prefetch::JustInTime), Just(Prefetch::Demand), Just(Prefetch::WholePdu)];
    let setup = (prefetch, 0u32..6, 0u64..SLOT, 1u32..12, 1u32..60).prop_map(|(prefetch, access_latency, cell_time, burst, buffer)| {
        TransferSetup { prefetch, access_latency, cell_time: Ticks(cell_time), burst, buffer }
    });
    prop::option::of(setup)
}

proptest! {
    #[test]
    fn frames_leave_whole_in_order_and_within_their_contracts(
        contracts in contracts(), transfer in transfers(), minimum in 0u64..100, packet_limit in 1u32..20,
        conflict in prop::sample::select(Conflict::ALL.to_vec()),
        encapsulation in prop::sample::select(vec![Encapsulation::VcMultiplexed, Encapsulation::LlcSnap]),
        frames in prop::collection::vec((0u64..30_000_000, 0u32..5, 1u32..1600), 1..60),
    ) {
        let mut minimum_shares = [CellRate::ZERO; CLASSES];
        minimum_shares[2] = CellRate::floor_of_ratio(minimum, 100).unwrap();
        let queues = contracts.len();
        let setup = AdapterSetup { contracts, conflict, minimum_shares, transfer, encapsulation };
        prop_assert_eq!(setup.check(), Ok(()));
        let mut port: AdapterPort<usize> = AdapterPort::new(Time::ZERO, &setup, port(queues, packet_limit));
        let slot_time = port.slot().picoseconds();
        let start = |slot: u64| Time::from_picoseconds(slot * slot_time);
        let mut waiting: Vec<VecDeque<(usize, u32)>> = vec![VecDeque::new(); queues];
        let (mut now, mut cells) = (0u64, 0u64);
        let mut arrivals = frames.into_iter().enumerate().peekable();
        let mut last = None;
        loop {
            let next = port.next_slot();
            if let Some((number, (pause, queue, length))) = arrivals.next_if(|(_, (pause, ..))| next.is_none_or(|slot| now + pause < slot * slot_time)) {
                now += pause;
                let (queue, before) = (queue as usize % queues, port.queued().packets);
                port.offer(Time::from_picoseconds(now), now.div_ceil(slot_time), Flow(queue as u32), length, Colour::Green, number, &mut ());
                if port.queued().packets > before {
                    waiting[queue].push_back((number, encapsulation.cells_of(length)));
                }
                continue;
            }
            let Some(slot) = next else { break };
            prop_assert!(last.is_none_or(|last| slot > last), "slots increase");
            last = Some(slot);
            now = now.max(slot * slot_time);
            if let Some(sent) = port.send(start(slot), slot, &mut ()) {
                cells += 1;
                let queue = &mut waiting[sent.queue.index()];
                prop_assert_eq!((sent.cells, sent.frame.is_some()), (queue[0].1, sent.number + 1 == sent.cells));
                if let Some(frame) = sent.frame {
                    prop_assert_eq!(queue.pop_front().map(|first| first.0), Some(frame.payload));
                }
            }
            prop_assert!(port.check().is_ok());
        }
        prop_assert!(waiting.iter().all(VecDeque::is_empty));
        let record = port.records(1)[0];
        prop_assert_eq!((record.sent, record.nonconforming), (cells, 0));
    }
}
