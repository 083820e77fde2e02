//! Real captures through a port: nothing is lost, nothing leaves early, nothing leaves faster than the link.
//!
//! The small capture kept in the project is always replayed. Others are taken from the folder that `TIDEGATE_DATA` names, or from
//! `shared/data` beside the project if it is there.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use tidegate_core::buffer::{BufferParameters, FlowLimit};
use tidegate_core::classifier::{ClassRules, Classifier, CodePoints, Rule};
use tidegate_core::policer::Contract;
use tidegate_core::port::{PortSetup, RateStep, VaryingRate, Volume};
use tidegate_core::registry::{BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Setup};
use tidegate_core::units::{Duration, Overhead, Rate};
use tidegate_link::{Disturbance, DisturbanceStream, Disturbed, Link, Loss, LossStream};
use tidegate_replay::{CaptureReader, CaptureWriter, Outputs, Record, ReplaySetup, Replayed, replay};
use tidegate_wire::AckFilter;

const RATE: u64 = 1_000_000;
const LONGEST_FRAME: u32 = 65_549;

/// Two classes at 1 Mbit/s: web traffic, policed to 300 kbit/s with marking, and the rest, under DRR and a buffer that overflows.
fn setup() -> PortSetup {
    let web = |port| Rule { protocol: Some(6), source_port: Some(tidegate_core::classifier::PortRange::one(port)), ..Rule::default() };
    let expedited = Rule { dscp: Some(CodePoints::one(46)), ..Rule::default() };
    let class = |name: &str, queues, rules| ClassRules { name: name.into(), queues, rules };
    let classes = vec![class("web", 8, vec![web(80), web(443)]), class("voice", 1, vec![expedited]), class("default", 8, Vec::new())];
    let classifier = Classifier::new(classes, 1).unwrap();
    let rate = Rate::new(RATE).unwrap();
    let weights = [FlowParameters { weight: Some(1), ..FlowParameters::default() }; 17];
    let longest_packet = Overhead::ETHERNET.wire_length(LONGEST_FRAME);
    let mut contract = Contract::new(Rate::new(300_000).unwrap(), longest_packet);
    contract.burst = Some(longest_packet);
    contract.excess_burst = Some(0);
    contract.violation = Some(tidegate_core::policer::Violation::Mark(tidegate_core::packet::Colour::Red));
    let buffer = BufferParameters {
        flows: classifier.flows(),
        bytes: Some(8_000),
        flow: FlowLimit { packets: Some(40), bytes: None },
        ..BufferParameters::default()
    };
    PortSetup {
        rate,
        overhead: Overhead::ETHERNET,
        policers: vec![Some(PolicerKind::SrTcm.build(&contract).unwrap()), None, None],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::TailDrop.build(&buffer).unwrap(),
        scheduler: SchedulerKind::DeficitRoundRobin.build(&Setup::new(rate, longest_packet), &weights).unwrap(),
        classifier,
        packet_limit: 10_000,
        longest_frame: LONGEST_FRAME,
        remarks: Default::default(),
    }
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn captures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let elsewhere = std::env::var_os("TIDEGATE_DATA").map_or_else(|| project().join("../shared/data"), PathBuf::from);
    for folder in [project().join("scenarios/captures"), elsewhere] {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(bytes: &[u8]) -> Vec<Record> {
    let mut reader = CaptureReader::new(bytes).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).collect()
}

fn run(path: &Path) -> (Replayed, Vec<u8>, Vec<u8>) {
    run_along(&Link::default(), path)
}

fn run_along(link: &Link, path: &Path) -> (Replayed, Vec<u8>, Vec<u8>) {
    let mut capture = CaptureReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "sent").unwrap(), CaptureWriter::new(Vec::new(), "dropped").unwrap());
    let replayed = replay(setup(), link, &mut capture, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();
    (replayed, sent.finish().unwrap(), dropped.finish().unwrap())
}

#[test]
fn every_capture_keeps_the_laws() {
    let captures = captures();
    assert!(captures.iter().any(|path| path.starts_with(project().join("scenarios"))), "the project's own capture is missing");
    let mut drops = 0;
    for path in captures {
        let original = read(&std::fs::read(&path).unwrap());
        let (replayed, sent_file, dropped_file) = run(&path);
        let (sent, dropped) = (read(&sent_file), read(&dropped_file));
        let name = path.display();

        // Every packet is in exactly one of the two files, bytes and lengths unchanged.
        let key = |record: &Record| (record.length, record.data.clone());
        let mut before: Vec<_> = original.iter().map(key).collect();
        let mut after: Vec<_> = sent.iter().chain(&dropped).map(key).collect();
        before.sort();
        after.sort();
        assert_eq!(before, after, "{name}");
        let volume = |records: &[Record]| Volume {
            packets: records.len() as u64,
            bytes: records.iter().map(|record| u64::from(record.length)).sum(),
        };
        assert_eq!(replayed.counters.offered, volume(&original), "{name}");
        assert_eq!(replayed.counters.sent, volume(&sent), "{name}");
        drops += dropped.len();

        // The link is never faster than its rate: last bits are at least a packet's own transmission time apart, but for the rounding
        // of the file's nanoseconds.
        let link = Rate::new(RATE).unwrap().time_per_byte();
        for pair in sent.windows(2) {
            let own_time = link.floor(Overhead::ETHERNET.wire_length(pair[1].length)).picoseconds().cast_signed() / 1000;
            assert!(
                pair[1].nanoseconds + 1 >= pair[0].nanoseconds + own_time,
                "{name}: {} after {}",
                pair[1].nanoseconds,
                pair[0].nanoseconds
            );
        }
        // The first packet finds everything idle.
        let first = ((link.ceil(Overhead::ETHERNET.wire_length(original[0].length)).picoseconds() + 500) / 1000).cast_signed();
        assert_eq!(sent[0].nanoseconds, original[0].nanoseconds + first, "{name}");
        // Dropped on arrival, in the order of arrival.
        assert!(dropped.windows(2).all(|pair| pair[0].nanoseconds <= pair[1].nanoseconds), "{name}");
    }
    assert!(drops > 0, "the buffer was meant to overflow");
}

#[test]
fn the_same_capture_gives_the_same_bytes() {
    let path = captures().into_iter().next().unwrap();
    let (_, sent, dropped) = run(&path);
    let (_, sent_again, dropped_again) = run(&path);
    assert!(sent == sent_again && dropped == dropped_again);
}

/// Behind the port every packet takes as long, and those are lost whose numbers the seed says. The port itself sees nothing of it.
#[test]
fn a_link_delays_and_loses_what_the_port_sends() {
    let path = captures().into_iter().next().unwrap();
    let (at_port, sent_by_port, dropped_by_port) = run(&path);
    let loss = Loss::new(100_000_000, 5).unwrap();
    let link = Link { delay: Duration::from_milliseconds(15), loss: Some(loss), ..Link::default() };
    let (replayed, sent, dropped) = run_along(&link, &path);
    assert_eq!((replayed.counters, replayed.seconds), (at_port.counters, at_port.seconds));

    let mut losses = LossStream::new(loss, 0);
    let (mut arrived, mut lost) = (Vec::new(), Vec::new());
    for mut record in read(&sent_by_port) {
        record.nanoseconds += 15_000_000;
        if losses.loses_next() { lost.push(record) } else { arrived.push(record) }
    }
    assert!(lost.len() > 5 && arrived.len() > lost.len(), "{} of {}", lost.len(), arrived.len());
    assert_eq!(read(&sent), arrived);
    let bytes = lost.iter().map(|record| u64::from(record.length)).sum();
    assert_eq!(replayed.lost, Volume { packets: lost.len() as u64, bytes });

    let (before, after) = (read(&dropped_by_port), read(&dropped));
    assert!(after.windows(2).all(|pair| pair[0].nanoseconds <= pair[1].nanoseconds));
    let key = |record: &Record| (record.length, record.data.clone());
    let mut expected: Vec<_> = before.iter().chain(&lost).map(key).collect();
    let mut found: Vec<_> = after.iter().map(key).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let named = String::from_utf8_lossy(&dropped).matches("tidegate: dropped, lost-on-link; waited").count();
    assert_eq!(named, lost.len());
}

/// Late packets are written where they arrive, among those that overtake them, and copies right behind their packet.
#[test]
fn a_link_passes_packets_late_and_twice() {
    let path = captures().into_iter().next().unwrap();
    let (_, sent_by_port, _) = run(&path);
    let disturbance = Disturbance::new(100_000_000, Duration::from_milliseconds(40), 100_000_000, 5);
    let link = Link { delay: Duration::from_milliseconds(15), disturbance, ..Link::default() };
    let (replayed, sent, _) = run_along(&link, &path);
    let mut stream = DisturbanceStream::new(disturbance.unwrap(), 0);
    let (mut arrived, mut late, mut twice) = (Vec::new(), 0, 0);
    for mut record in read(&sent_by_port) {
        let Disturbed { is_late, is_twice } = stream.disturbs_next();
        let copies = 1 + u64::from(is_twice);
        record.nanoseconds += if is_late { 55_000_000 } else { 15_000_000 };
        (late, twice) = (late + if is_late { copies } else { 0 }, twice + copies - 1);
        arrived.extend((0..copies).map(|_| record.clone()));
    }
    assert!(!arrived.is_sorted_by_key(|record| record.nanoseconds) && twice > 5, "{late} late, {twice} twice");
    arrived.sort_by_key(|record| record.nanoseconds);
    assert_eq!(read(&sent), arrived);
    assert_eq!((replayed.late.packets, replayed.duplicated.packets), (late, twice));
}

/// A capture of packets at the given seconds.
fn capture_at(seconds: &[u32]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    for &second in seconds {
        for word in [second, 0, 60, 60] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(&[0; 60]);
    }
    file
}

/// The frames of one instant leave at the rates of the link, whose steps count from the first packet.
#[test]
fn packets_leave_at_the_rates_of_a_link_that_varies() {
    let step = |at, bits| RateStep { at: Duration::from_milliseconds(at), rate: Rate::new(bits).ok() };
    // A frame of 976 bytes takes 8 ms at 1 Mbit/s.
    let rates = VaryingRate::new(vec![step(0, RATE), step(12, 0), step(20, 2 * RATE)], None).ok();
    let link = Link { rates, ..Link::default() };
    let capture = burst_of(3, 976);
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "sent").unwrap(), CaptureWriter::new(Vec::new(), "dropped").unwrap());
    let mut reader = CaptureReader::new(capture.as_slice()).unwrap();
    replay(setup(), &link, &mut reader, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();
    let instants: Vec<i64> = read(&sent.finish().unwrap()).iter().map(|record| record.nanoseconds - 1_000_000_000).collect();
    assert_eq!(instants, [8_000_000, 22_000_000, 26_000_000]);
}

/// A capture of one instant: frames of this length.
fn burst_of(packets: u32, length: u32) -> Vec<u8> {
    let mut file = capture_at(&[]);
    for _ in 0..packets {
        for word in [1, 0, length, length] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(&vec![0; length as usize]);
    }
    file
}

/// When the packets of a capture of one instant have left, in nanoseconds after it.
fn departures(setup: PortSetup, file: &[u8]) -> Vec<i64> {
    let mut capture = CaptureReader::new(file).unwrap();
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "").unwrap(), CaptureWriter::new(Vec::new(), "").unwrap());
    replay(setup, &Link::default(), &mut capture, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();
    read(&sent.finish().unwrap()).iter().map(|record| record.nanoseconds - 1_000_000_000).collect()
}

/// Acknowledgements of one instant: the first leaves, and of those that wait behind it the newest.
#[test]
fn acknowledgements_that_say_nothing_new_are_dropped() {
    let mut file = capture_at(&[]);
    for number in 1..=6_u8 {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 1, 0, 80, 0, 0, 0, 1, 0, 0, 0, number, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        for word in [1, 0, frame.len() as u32, frame.len() as u32] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend(frame);
    }
    for (ack_filter, expected) in
        [(None, &[1, 2, 3, 4, 5, 6][..]), (Some(AckFilter::Conservative), &[1, 5, 6]), (Some(AckFilter::Aggressive), &[1, 6])]
    {
        let mut capture = CaptureReader::new(&file[..]).unwrap();
        let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "").unwrap(), CaptureWriter::new(Vec::new(), "").unwrap());
        let setup = ReplaySetup { ack_filter, ..setup().into() };
        replay(setup, &Link::default(), &mut capture, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();
        let left: Vec<u8> = read(&sent.finish().unwrap()).iter().map(|record| record.data[45]).collect();
        assert_eq!(left, expected, "{ack_filter:?}");
        let dropped = String::from_utf8_lossy(&dropped.finish().unwrap()).matches("tidegate: dropped, ack-filtered; waited").count();
        assert_eq!(dropped, 6 - expected.len());
    }
}

#[test]
fn departures_are_rounded_to_the_nearest_nanosecond() {
    // 700 bytes at 7 Mbit/s take 800,000 ns; the port's instants are some picoseconds late.
    let at = |rate, overhead| PortSetup { rate: Rate::new(rate).unwrap(), overhead, ..setup() };
    let left = departures(at(7_000_000, Overhead::None), &burst_of(5, 700));
    assert_eq!(left, [800_000, 1_600_000, 2_400_000, 3_200_000, 4_000_000]);
    // 60 bytes at 7 Mbit/s: 68,571.43 ns each.
    assert_eq!(departures(at(7_000_000, Overhead::None), &burst_of(3, 60)), [68_571, 137_143, 205_714]);
}

#[test]
fn a_short_ethernet_frame_takes_84_bytes_of_the_link() {
    let at = |overhead| PortSetup { rate: Rate::new(10_000_000).unwrap(), overhead, packet_limit: 1000, ..setup() };
    assert_eq!(departures(at(Overhead::ETHERNET), &burst_of(10, 54)).last(), Some(&672_000));
    assert_eq!(departures(at(Overhead::per_packet(24)), &burst_of(10, 54)).last(), Some(&624_000));
}

#[test]
fn silences_of_years_and_steps_backwards_are_survived() {
    let year = 31_556_952u32;
    // Two packets at each instant, so that the second has to wait for the first.
    let seconds = [0, 0, 5, 5, year, year, 20 * year, 20 * year, 3, 136 * year, 136 * year];
    let file = capture_at(&seconds);
    let mut capture = CaptureReader::new(&file[..]).unwrap();
    let (mut sent, mut dropped) = (CaptureWriter::new(Vec::new(), "").unwrap(), CaptureWriter::new(Vec::new(), "").unwrap());
    let replayed = replay(setup(), &Link::default(), &mut capture, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();
    assert_eq!(
        (replayed.account.disorder.packets, replayed.account.disorder.largest_nanoseconds),
        (1, (20 * u64::from(year) - 3) * 1_000_000_000)
    );
    // 84 bytes at 1 Mbit/s are 672 us; the packet from the past arrives third at its instant.
    let own = 672_000;
    let expected: Vec<i64> = [
        (0, 1),
        (0, 2),
        (5, 1),
        (5, 2),
        (year, 1),
        (year, 2),
        (20 * year, 1),
        (20 * year, 2),
        (20 * year, 3),
        (136 * year, 1),
        (136 * year, 2),
    ]
    .iter()
    .map(|&(second, place)| i64::from(second) * 1_000_000_000 + place * own)
    .collect();
    assert_eq!(read(&sent.finish().unwrap()).iter().map(|record| record.nanoseconds).collect::<Vec<_>>(), expected);
    // All of them late and twice: the last ones before a silence are written in it.
    let late = Link { disturbance: Disturbance::new(1_000_000_000, Duration::from_seconds(2), 1_000_000_000, 1), ..Link::default() };
    let (mut capture, mut sent) = (CaptureReader::new(&file[..]).unwrap(), CaptureWriter::new(Vec::new(), "").unwrap());
    replay(setup(), &late, &mut capture, |_, _| true, Outputs::frames(&mut sent, &mut dropped), |_| ()).unwrap();
    let twice: Vec<i64> = expected.iter().flat_map(|at| [at + 2_000_000_000; 2]).collect();
    assert_eq!(read(&sent.finish().unwrap()).iter().map(|record| record.nanoseconds).collect::<Vec<_>>(), twice);
    assert!((replayed.seconds - f64::from(136 * year)).abs() < 1.0);
}
