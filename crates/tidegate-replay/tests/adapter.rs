//! A capture through an ATM adapter: when each frame's last cell has left, and that the loss of a cell loses the frame.

use std::path::Path;
use tidegate_atm::adapter::{AdapterSetup, Encapsulation};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::cells::{CLASSES, CellContract, CellRate, Conflict, Ticks};
use tidegate_core::classifier::{ClassRules, Classifier};
use tidegate_core::port::{Overhead, PortSetup};
use tidegate_core::registry::{BufferKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::Rate;
use tidegate_link::{Link, Loss};
use tidegate_replay::{CaptureReader, CaptureWriter, Record, ReplaySetup, Replayed, replay};

/// A cell takes 42.4 us.
const RATE: u64 = 10_000_000;
const SLOT: u64 = 42_400_000;

/// The slots from one cell to the next.
const INTERVAL: u64 = 3;

fn setup() -> ReplaySetup {
    let rate = Rate::new(RATE).unwrap();
    let port = PortSetup {
        rate,
        overhead: Overhead::Aal5,
        classifier: Classifier::new(vec![ClassRules { name: "all".into(), queues: 1, rules: vec![] }], 1).unwrap(),
        policers: vec![None],
        buffer: BufferKind::TailDrop.build(&BufferParameters { flows: 1, ..BufferParameters::default() }).unwrap(),
        scheduler: SchedulerKind::Fifo.build(&Setup::new(rate, 1600), &[FlowParameters::default()]).unwrap(),
        packet_limit: 10_000,
        longest_frame: 1518,
        remarks: Default::default(),
    };
    let adapter = AdapterSetup {
        contracts: vec![CellContract::constant(Ticks::slots(INTERVAL))],
        conflict: Conflict::Lazy,
        minimum_shares: [CellRate::ZERO; CLASSES],
        transfer: None,
        encapsulation: Encapsulation::LlcSnap,
    };
    ReplaySetup { port, adapter: Some(adapter) }
}

fn records(bytes: &[u8]) -> Vec<Record> {
    let mut reader = CaptureReader::new(bytes).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).collect()
}

fn original() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/captures/quic-video.pcap")).unwrap()
}

fn run(link: &Link) -> (Replayed, Vec<Record>) {
    let original = original();
    let mut capture = CaptureReader::new(&original[..]).unwrap();
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "sent").unwrap(), CaptureWriter::new(Vec::new(), "dropped").unwrap());
    let replayed = replay(setup(), link, &mut capture, |_, _| true, &mut sent, &mut dropped, |_| ()).unwrap();
    dropped.finish().unwrap();
    (replayed, records(&sent.finish().unwrap()))
}

#[test]
fn every_frame_leaves_with_its_last_cell() {
    let (replayed, sent) = run(&Link::default());
    let original = records(&original());
    assert_eq!(sent.len(), original.len());
    let start = original[0].nanoseconds;
    // One connection alone: a cell leaves in the first slot from its frame's arrival on, and no sooner than the interval after the cell before.
    let (mut next, mut cells) = (0u64, 0u64);
    for (sent, original) in sent.iter().zip(&original) {
        let count = u64::from((original.length + 8 + 8).div_ceil(48));
        let first = next.max((original.nanoseconds.abs_diff(start) * 1000).div_ceil(SLOT));
        let last = first + (count - 1) * INTERVAL;
        next = last + INTERVAL;
        cells += count;
        let expected = start.saturating_add_unsigned((last + 1) * SLOT / 1000);
        assert!(sent.nanoseconds.abs_diff(expected) <= 1, "{} instead of {expected}", sent.nanoseconds);
        assert_eq!(sent.data, original.data);
    }
    let record = replayed.cells[0];
    assert_eq!((record.sent, record.nonconforming, record.cdvt_exceeded, record.underruns), (cells, 0, 0, 0));
    let busy = cells as f64 * SLOT as f64 / 1e12;
    assert!((replayed.recorder.busy_seconds() - busy).abs() < 1e-9);
}

#[test]
fn the_loss_of_a_cell_loses_the_frame() {
    let link = Link { loss: Loss::new(20_000_000, 1), ..Link::default() };
    let (replayed, sent) = run(&link);
    // 2 % of the cells: a frame of 29 cells survives with 0.56, one of two with 0.96.
    assert_eq!(replayed.lost.packets as usize + sent.len(), 200);
    assert!((20..120).contains(&replayed.lost.packets), "{}", replayed.lost.packets);
}
