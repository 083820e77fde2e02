//! A capture through an ATM adapter: when each frame's last cell has left, that the loss of a cell loses the frame, and the cells as a capture.

use std::path::Path;
use tidegate_atm::adapter::{AdapterSetup, Encapsulation};
use tidegate_atm::cell::{Header, Interface as Side};
use tidegate_atm::hec::{HeaderCheck, Reception};
use tidegate_cells::{CLASSES, CellContract, CellRate, Conflict, Ticks};
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Rule};
use tidegate_core::packet::Colour;
use tidegate_core::policer::{Contract, Violation};
use tidegate_core::port::PortSetup;
use tidegate_core::registry::{BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::remark::{CodePoint, Remark, Remarks};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_link::{Link, Loss};
use tidegate_replay::{CaptureReader, CaptureWriter, Interface, Oddities, Outputs, Record, ReplayError, ReplaySetup, Replayed, replay};
use tidegate_wire::LinkType;

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
        aqms: Vec::new(),
        seed: 0,
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
    ReplaySetup { port, adapter: Some(adapter), changes: Vec::new(), ack_filter: None }
}

fn records(bytes: &[u8]) -> Vec<Record> {
    let mut reader = CaptureReader::new(bytes).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).collect()
}

fn original() -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/captures/quic-video.pcap")).unwrap()
}

/// The capture with zeros for what was not captured of its packets.
fn whole() -> Vec<u8> {
    let interfaces = [Interface { name: None, link_type: 1, link: LinkType::Ethernet }];
    let mut whole = CaptureWriter::new(Vec::new(), "whole").unwrap();
    for mut record in records(&original()) {
        record.data.resize(record.length as usize, 0);
        whole.write(&interfaces, 0, record.nanoseconds, record.length, &record.data, None).unwrap();
    }
    whole.finish().unwrap()
}

fn run(link: &Link) -> (Replayed, Vec<Record>) {
    let original = original();
    let mut capture = CaptureReader::new(&original[..]).unwrap();
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "sent").unwrap(), CaptureWriter::new(Vec::new(), "dropped").unwrap());
    let replayed = replay(setup(), link, &mut capture, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();
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

/// The replay with its cells: what was sent, and the file of cells.
fn with_cells(setup: ReplaySetup, link: &Link, original: &[u8]) -> Result<(Replayed, Vec<Record>, Vec<u8>), ReplayError> {
    let mut capture = CaptureReader::new(original).unwrap();
    let mut writers = ["sent", "dropped", "cells"].map(|what| CaptureWriter::new(Vec::new(), what).unwrap());
    let [sent, dropped, cells] = &mut writers;
    let replayed = replay(setup, link, &mut capture, |_, _| true, Outputs { sent, dropped, cells: Some(cells) }, |_| ())?;
    let [sent, _, cells] = writers.map(|writer| writer.finish().unwrap());
    Ok((replayed, records(&sent), cells))
}

/// Four queues of one class, every packet of which is marked yellow.
fn marking() -> ReplaySetup {
    let mut setup = setup();
    let class = |queues, rules: Vec<Rule>| ClassRules { name: format!("of {queues}"), queues, rules };
    let none = Rule { protocol: Some(200), ..Rule::default() };
    setup.port.classifier = Classifier::new(vec![class(1, vec![none]), class(4, vec![])], 1).unwrap();
    setup.port.buffer = BufferKind::TailDrop.build(&BufferParameters { flows: 5, ..BufferParameters::default() }).unwrap();
    let mut contract = Contract::new(Rate::new(1000).unwrap(), 2000);
    contract.violation = Some(Violation::Mark(Colour::Yellow));
    setup.port.policers = vec![None, Some(PolicerKind::Gcra.build(&contract).unwrap())];
    let adapter = setup.adapter.as_mut().unwrap();
    adapter.encapsulation = Encapsulation::VcMultiplexed;
    adapter.contracts = vec![CellContract::constant(Ticks::slots(INTERVAL)); 5];
    setup
}

fn vc_multiplexed() -> ReplaySetup {
    let mut setup = setup();
    setup.adapter.as_mut().unwrap().encapsulation = Encapsulation::VcMultiplexed;
    setup
}

/// The cells of a file as an application sees them that does not know what they are.
fn raw_cells(file: &[u8]) -> Vec<Record> {
    // The description of the interface says what it holds; one of another text says nothing.
    let text = b"ATM cells of 53 bytes";
    let at = file.windows(text.len()).position(|window| window == text).unwrap();
    let mut other = file.to_vec();
    other[at] = b'a';
    records(&other)
}

fn headers(cells: &[Record]) -> Vec<Header> {
    let mut check = HeaderCheck::default();
    let header = |cell: &Record| match check.receive(&cell.data[..5].try_into().unwrap()) {
        Reception::Valid(bytes) => Header::parse(bytes, Side::User),
        _ => panic!("a header that does not pass its check"),
    };
    cells.iter().map(header).collect()
}

#[test]
fn the_cells_of_a_replay_are_a_capture_of_what_was_sent() {
    let link = Link { delay: Duration::from_nanoseconds(5_000_000), ..Link::default() };
    for setup in [vc_multiplexed(), marking()] {
        let (replayed, sent, file) = with_cells(setup, &link, &whole()).unwrap();
        assert!(records(&file) == sent);
        let cells = raw_cells(&file);
        assert_eq!(cells.len() as u64, replayed.cells.iter().map(|record| record.sent).sum::<u64>());
        assert!(cells.iter().all(|cell| cell.length == 53 && cell.data.len() == 53));
        assert!(cells.windows(2).all(|pair| pair[1].nanoseconds - pair[0].nanoseconds >= SLOT as i64 / 1000), "one cell per slot");
        let sorted_data = |file: &[u8]| {
            let mut data: Vec<_> = records(file).into_iter().map(|record| record.data).collect();
            data.sort();
            data
        };
        assert!(sorted_data(&file) == sorted_data(&whole()));
    }
}

#[test]
fn cells_bear_class_queue_and_colour() {
    let (_, _, file) = with_cells(vc_multiplexed(), &Link::default(), &whole()).unwrap();
    assert!(
        headers(&raw_cells(&file)).iter().all(|header| (header.gfc, header.vpi, header.vci, header.loss_priority) == (0, 0, 32, false))
    );
    let (_, sent, file) = with_cells(marking(), &Link::default(), &whole()).unwrap();
    let headers = headers(&raw_cells(&file));
    assert!(headers.iter().all(|header| header.vpi == 1 && (32..36).contains(&header.vci)));
    let ends: Vec<_> = headers.iter().filter(|header| header.payload_type.ends_frame()).collect();
    assert_eq!(ends.len(), sent.len());
    let tagged = ends.iter().filter(|header| header.loss_priority).count();
    assert!((1..ends.len()).contains(&tagged), "{tagged}: the first conforms, others do not");
}

#[test]
fn a_missing_cell_costs_its_frame_and_is_counted() {
    let (_, sent, file) = with_cells(vc_multiplexed(), &Link::default(), &whole()).unwrap();
    let cells = raw_cells(&file);
    let ends: Vec<bool> = headers(&cells).iter().map(|header| header.payload_type.ends_frame()).collect();
    // The first cell of a long frame, the last cell of one, and the last of all.
    let long = ends.windows(3).position(|parts| parts == [true, false, false]).unwrap() + 1;
    let frame = ends[..long].iter().filter(|end| **end).count();
    let last = long + ends[long..].iter().position(|end| *end).unwrap();
    for (gone, lost) in [(long, frame..frame + 1), (last, frame..frame + 2), (cells.len() - 1, sent.len() - 1..sent.len())] {
        // The blocks of the file behind the section header and the description of the interface are one per cell.
        let size = |at: usize| u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
        let at = (0..gone + 2).fold(0, |at, _| at + size(at));
        let mut rest = file.clone();
        rest.drain(at..at + size(at));
        let mut capture = CaptureReader::new(&rest[..]).unwrap();
        let found: Vec<_> = std::iter::from_fn(|| capture.next_record().unwrap()).collect();
        let mut expected = sent.clone();
        expected.drain(lost);
        assert!(found == expected);
        assert_eq!(capture.oddities(), Oddities { broken_frames: 1, ..Oddities::default() });
    }
}

#[test]
fn damaged_cells_and_cells_without_user_data_are_left_out_and_counted() {
    // A header with two wrong bits, an idle cell, and a header with one wrong bit, which is corrected.
    let (_, sent, mut file) = with_cells(vc_multiplexed(), &Link::default(), &whole()).unwrap();
    let size = |file: &[u8], at: usize| u32::from_le_bytes(file[at + 4..at + 8].try_into().unwrap()) as usize;
    let start = |file: &[u8], cell: usize| (0..cell + 2).fold(0, |at, _| at + size(file, at)) + 28;
    let (first, second, third) = (start(&file, 0), start(&file, 1), start(&file, 2));
    file[first] ^= 0b0000_0011;
    file[second..second + 5].copy_from_slice(&[0, 0, 0, 1, 0x52]);
    file[third] ^= 1;
    let mut capture = CaptureReader::new(&file[..]).unwrap();
    let found = std::iter::from_fn(|| capture.next_record().unwrap()).count();
    assert!(found + 1 == sent.len() || found + 2 == sent.len(), "{found} of {}", sent.len());
    let oddities = capture.oddities();
    assert_eq!((oddities.damaged_cells, oddities.other_cells, oddities.broken_frames), (1, 1, 1));
}

#[test]
fn llc_snap_is_for_routed_packets() {
    let refused = with_cells(setup(), &Link::default(), &whole()).unwrap_err();
    assert!(refused.to_string().contains("use \"vc-multiplexed\""), "{refused}");
    let interfaces = [Interface { name: Some("tun0".into()), link_type: 101, link: LinkType::Ip }];
    let mut routed = CaptureWriter::new(Vec::new(), "routed").unwrap();
    for (number, record) in records(&whole()).iter().enumerate() {
        // The last one was captured only in part.
        let packet = if number == 199 { &record.data[14..40] } else { &record.data[14..] };
        routed.write(&interfaces, 0, record.nanoseconds, record.length - 14, packet, None).unwrap();
    }
    let routed = routed.finish().unwrap();
    let (replayed, mut sent, file) = with_cells(setup(), &Link::default(), &routed).unwrap();
    assert_eq!(replayed.padded, 1);
    let last = sent.last_mut().unwrap();
    last.data.resize(last.length as usize, 0);
    assert!(records(&file) == sent);
    assert_eq!(raw_cells(&file)[0].data[5..13], [0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
    let mut capture = CaptureReader::new(&file[..]).unwrap();
    capture.next_record().unwrap();
    assert_eq!(capture.interfaces(), interfaces);
}

#[test]
fn a_port_of_packets_has_no_cells() {
    let refused = with_cells(ReplaySetup { adapter: None, ..setup() }, &Link::default(), &whole()).unwrap_err();
    assert_eq!(refused.to_string(), "the cells cannot be written: the port sends packets");
}

#[test]
fn under_random_loss_the_cells_give_the_frames_that_were_sent() {
    let link = Link { loss: Loss::new(20_000_000, 1), ..Link::default() };
    let (replayed, sent, file) = with_cells(vc_multiplexed(), &link, &whole()).unwrap();
    assert!(replayed.lost.packets > 20);
    assert!(records(&file) == sent);
}

#[test]
fn cells_carry_the_code_points_that_frames_leave_with() {
    let mut setup = marking();
    let yellow = Remark { dscp: CodePoint::Set(12), ..Remark::KEEP };
    setup.port.remarks = Remarks::new(vec![[Remark::KEEP; 3], [Remark::KEEP, yellow, Remark::KEEP]]);
    let (_, sent, file) = with_cells(setup, &Link::default(), &whole()).unwrap();
    let frames = records(&file);
    assert!(frames == sent);
    let remarked = frames.iter().filter(|frame| frame.data[15] >> 2 == 12).count();
    assert!((1..frames.len()).contains(&remarked), "{remarked}: the first conforms, others do not");
}
