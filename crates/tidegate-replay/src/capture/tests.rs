//! Files written by hand, each with what is special about it.

use super::*;
use std::io::{self, Write};
use tidegate_wire::LinkType;

fn pcap(little: bool, nano: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let mut put = |value: u32| file.extend_from_slice(&if little { value.to_le_bytes() } else { value.to_be_bytes() });
    put(if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
    put(if little { 2 | 4 << 16 } else { 2 << 16 | 4 });
    put(0);
    put(0);
    put(100); // a length limit below the second record's length, as some writers leave it
    put(1);
    for (fraction, captured, original) in [(7, 4, 1500), (999_999, 200, 200)] {
        put(1_600_000_000);
        put(fraction);
        put(captured);
        put(original);
        (0..captured / 4).for_each(|_| put(0x0a0b_0c0d));
    }
    file
}

/// The records up to the end or to damage, and how the file ended.
fn read(file: &[u8]) -> (Vec<Record>, Ending) {
    let mut reader = CaptureReader::new(file).unwrap().until_damage(true);
    let records = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
    (records, reader.ending().unwrap().clone())
}

#[test]
fn both_byte_orders_and_both_resolutions() {
    for little in [false, true] {
        for nano in [false, true] {
            let (records, ending) = read(&pcap(little, nano));
            assert_eq!(ending, Ending::Whole);
            let scale = if nano { 1 } else { 1000 };
            assert_eq!(records.len(), 2);
            assert_eq!(records[0].nanoseconds, 1_600_000_000_000_000_000 + 7 * scale);
            assert_eq!((records[0].length, records[0].data.len()), (1500, 4));
            assert_eq!(records[1].nanoseconds, 1_600_000_000_000_000_000 + 999_999 * scale);
        }
    }
}

#[test]
fn a_file_that_was_cut_is_read_up_to_the_cut() {
    let file = pcap(true, false);
    let (records, ending) = read(&file[..file.len() - 1]);
    assert_eq!((records.len(), ending), (1, Ending::Cut { place: "record 2".into(), unread: 16 + 199 }));
    let (records, ending) = read(&file[..24 + 20 + 7]);
    assert_eq!((records.len(), ending), (1, Ending::Cut { place: "record 2".into(), unread: 7 }));
}

#[test]
fn damage_in_the_middle_is_not_the_end() {
    for length in [300_000u32, 100_000_000, u32::MAX] {
        let mut file = pcap(true, false);
        file[24 + 8..24 + 12].copy_from_slice(&length.to_le_bytes());
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        let Err(CaptureError::Damaged { place, unread, .. }) = reader.next_record() else { panic!("{length} was read") };
        assert_eq!((place.as_str(), unread), ("record 1", file.len() as u64 - 24));
        assert!(reader.next_record().unwrap().is_none());
        let (records, ending) = read(&file);
        assert!(records.is_empty() && matches!(ending, Ending::Damaged { unread, .. } if unread == file.len() as u64 - 24));
    }
    let packet = || enhanced(0, 7, &[1, 2, 3, 4], &[]);
    let mut bad_end = packet();
    let last = bad_end.len() - 1;
    bad_end[last] ^= 4;
    for (bad, problem) in [
        (block(6, &[0; 16]), "at least 32"),
        (vec![0, 0, 0, 6, 0x7f, 0xff, 0xff, 0xf0, 0, 0, 0, 0], "longest"),
        (vec![0, 0, 0, 6, 0, 0, 0, 33, 0, 0, 0, 0], "multiple of 4"),
        (bad_end, "ends with"),
        (enhanced(3, 7, &[1, 2, 3, 4], &[]), "interface 3"),
        (block(6, &[[0, 0, 0, 99, 99].map(u32::to_be_bytes).concat(), vec![0; 4]].concat()), "a packet of 99 B"),
    ] {
        let file = [section(1, 0), description(1, &[]), packet(), bad.clone(), packet()].concat();
        let (records, ending) = read(&file);
        let Ending::Damaged { place, problem: told, unread } = ending else { panic!("{problem}: {ending:?}") };
        assert_eq!((records.len(), place.as_str()), (1, "block 4, after 1 packets"));
        assert!(told.contains(problem) && unread == (bad.len() + packet().len()) as u64, "{told}, {unread}");
    }
}

#[test]
fn unknown_versions_are_refused() {
    let mut file = pcap(true, false);
    file[4] = 3;
    assert!(matches!(CaptureReader::new(&file[..]), Err(CaptureError::Version { format: "pcap", major: 3, minor: 4, .. })));
    let mut file = pcap(false, false);
    file[5] = 5;
    assert!(matches!(CaptureReader::new(&file[..]), Err(CaptureError::Version { format: "pcap", major: 5, minor: 4, .. })));
    let file = section(2, 0);
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    assert!(matches!(reader.next_record(), Err(CaptureError::Version { format: "pcapng", major: 2, .. })));
    // Minor versions are compatible.
    assert_eq!(read(&[section(1, 2), description(1, &[]), enhanced(0, 1, &[1], &[])].concat()).0.len(), 1);
}

#[test]
fn lengths_of_old_files_come_the_other_way_round() {
    let mut file = pcap(true, false);
    file[6] = 2;
    let swapped = |file: &mut Vec<u8>, at: usize| (0..4).for_each(|n| file.swap(at + 8 + n, at + 12 + n));
    swapped(&mut file, 24);
    let (records, ending) = read(&file);
    assert_eq!((records.len(), records[0].length, records[0].data.len(), ending), (2, 1500, 4, Ending::Whole));
}

#[test]
fn metadata_never_makes_a_packet_unreadable() {
    let option = |code: u8, value: &[u8]| {
        let mut bytes = vec![0, code, 0, value.len() as u8];
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let nano = option(9, &[9]);
    // The options of the interface, those of the packet, the instant of stamp 7, and the blocks with an option that was ignored.
    let cases: Vec<(Vec<u8>, Vec<u8>, i64, u64)> = vec![
        ([option(2, b"caf\xe9"), nano.clone()].concat(), option(1, b"\xff\xfe"), 7, 0),
        ([option(2, b"eth0\0rubbish"), nano.clone()].concat(), vec![], 7, 0),
        (option(9, &[9, 0]), vec![], 7000, 1),
        (option(9, &[]), vec![], 7000, 1),
        ([option(14, &[0, 0, 0, 1]), nano.clone()].concat(), vec![], 7, 1),
        ([nano.clone(), vec![0, 14, 0xff, 0xff]].concat(), vec![0, 1, 0, 200, 0, 0, 0, 0], 7, 2),
        ([option(14, &(-5i64).to_be_bytes()), nano.clone()].concat(), vec![], -5_000_000_000 + 7, 0),
        (option(9, &[0x80]), vec![], 7_000_000_000, 0),
        (option(9, &[0xff]), vec![], 0, 0),
        (option(9, &[127]), vec![], 0, 0),
        (option(9, &[0]), vec![], 7_000_000_000, 0),
    ];
    for (of_interface, of_packet, instant, ignored) in cases {
        let file = [section(1, 0), description(1, &of_interface), enhanced(0, 7, &[1, 2, 3, 4, 5], &of_packet)].concat();
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!((record.nanoseconds, record.data.as_slice()), (instant, &[1, 2, 3, 4, 5][..]), "{of_interface:02x?}");
        assert!(reader.next_record().unwrap().is_none());
        assert_eq!((reader.oddities().options, reader.ending()), (ignored, Some(&Ending::Whole)), "{of_interface:02x?}");
    }
    let file = [section(1, 0), description(1, &option(2, b"caf\xe9")), description(1, &option(2, b"eth0\0rubbish"))].concat();
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    assert!(reader.next_record().unwrap().is_none());
    assert_eq!(reader.interfaces().iter().filter_map(|i| i.name.as_deref()).collect::<Vec<_>>(), ["caf\u{fffd}", "eth0"]);
    // A fraction above a second is a second more; a stamp of the year 586524 counts as the latest.
    let mut file = pcap(true, false);
    file[24 + 4..24 + 8].copy_from_slice(&2_500_000u32.to_le_bytes());
    assert_eq!(read(&file).0[0].nanoseconds, 1_600_000_002_500_000_000);
    let file = [section(1, 0), description(1, &[]), enhanced(0, u64::MAX, &[1], &[])].concat();
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().nanoseconds, FARTHEST);
    assert_eq!(reader.oddities().stamps, 1);
}

#[test]
fn unknown_blocks_are_passed_over_and_counted() {
    let file = [section(1, 0), block(0x0b, &[0; 8]), block(0x8000_0001, &[]), block(5, &[0; 12]), description(1, &[])].concat();
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    assert!(reader.next_record().unwrap().is_none());
    assert_eq!(reader.oddities().blocks, 1);
}

#[test]
fn compressed_captures_are_read_as_streams() {
    let file = pcap(true, true);
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    let plain = read(&file);
    let skipped = [&0x184d_2a50u32.to_le_bytes()[..], &3u32.to_le_bytes(), &[1, 2, 3]].concat();
    let (first, second) = file.split_at(100);
    for whole in [gzip(&file), [gzip(first), gzip(second)].concat(), zstd(&file), [zstd(first), skipped, zstd(second)].concat()] {
        assert_eq!(read(&whole), plain);
        // Cut anywhere, it is a capture that was cut, or nothing is known of it yet.
        for length in 0..whole.len() {
            let Ok(reader) = CaptureReader::new(&whole[..length]) else { continue };
            let mut reader = reader.until_damage(true);
            while reader.next_record().unwrap().is_some() {}
            assert!(!matches!(reader.ending(), Some(Ending::Damaged { .. })), "{length} of {}: {:?}", whole.len(), reader.ending());
        }
    }
    // A small file with a record that announces more than there is: memory follows what there is.
    let mut bomb = file[..24].to_vec();
    bomb.extend_from_slice(&[0; 1 << 20]);
    let (records, ending) = read(&gzip(&bomb));
    assert_eq!((records.len(), ending), ((1 << 20) / 16, Ending::Whole));
    let twice = gzip(&gzip(&file));
    assert!(matches!(CaptureReader::new(&twice[..]), Err(CaptureError::NotACapture(what)) if what.contains("gunzip")));
}

#[test]
fn a_pipe_may_hand_over_a_byte_at_a_time() {
    struct Drops<'a>(&'a [u8]);
    impl io::Read for Drops<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let length = bytes.len().min(1);
            self.0.read(&mut bytes[..length])
        }
    }
    let file = pcap(true, false);
    let mut reader = CaptureReader::new(io::BufReader::with_capacity(1, Drops(&file))).unwrap();
    let records: Vec<Record> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
    assert_eq!(records, read(&file).0);
}

#[test]
fn what_is_no_capture_is_named_with_the_way_out() {
    for (start, way_out) in [
        (&b"GIF89a"[..], "text2pcap"),
        (b"snoop\0\0\0\0\0\0\x02", "snoop; "),
        (b"BZh91AY", "bunzip2"),
        (b"\xfd7zXZ\0", "unxz"),
        (b"\x04\x22\x4d\x18", "unlz4"),
        (b"GMBU\0\x02", "Network Monitor"),
        (b"\0\0\0\0\0\xf1\x53\x65\x02\x04\0\x70\0\0\0\x60", "ERF"),
        (b"\x01\x02\x03\x04", "[01, 02, 03, 04]"),
        (b"", "is empty"),
    ] {
        let Err(CaptureError::NotACapture(what)) = CaptureReader::new(start) else { panic!("{start:?} was read") };
        assert!(what.contains(way_out.trim_end_matches("; ")), "{start:?}: {what}");
    }
}

/// A block of a big-endian pcapng file.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len() as u32).to_be_bytes();
    [&kind.to_be_bytes()[..], &length, body, &length].concat()
}

fn section(major: u8, minor: u8) -> Vec<u8> {
    block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_be_bytes()[..], &[0, major, 0, minor], &[0xff; 8]].concat())
}

fn description(link: u16, options: &[u8]) -> Vec<u8> {
    block(1, &[&link.to_be_bytes()[..], &[0; 6], options].concat())
}

fn enhanced(interface: u32, stamp: u64, data: &[u8], options: &[u8]) -> Vec<u8> {
    let fields = [interface, (stamp >> 32) as u32, stamp as u32, data.len() as u32, 60];
    let mut body = [fields.map(u32::to_be_bytes).concat(), data.to_vec()].concat();
    body.resize(body.len().next_multiple_of(4), 0);
    block(6, &[&body[..], options].concat())
}

#[test]
fn sections_number_their_interfaces_anew() {
    let section = section(1, 0);
    let interface = |link: u16, resolution: u8| {
        let options = [0, 9, 0, 1, resolution, 0, 0, 0, 0, 0, 0, 0];
        description(link, &options)
    };
    let packet = |interface: u32, low: u32| {
        let fields = [interface, 0, low, 4, 60];
        block(6, &[fields.map(u32::to_be_bytes).concat(), vec![1, 2, 3, 4]].concat())
    };
    let simple = block(3, &[60u32.to_be_bytes().to_vec(), vec![9; 60]].concat());
    // Resolutions: milliseconds, nanoseconds, and 2^-10 s.
    let file = [
        section.clone(),
        interface(1, 3),
        interface(113, 9),
        packet(0, 5000),
        packet(1, 6_000_000),
        section,
        interface(101, 0x8a),
        packet(0, 1024),
        simple,
    ]
    .concat();
    let (records, ending) = read(&file);
    assert_eq!(ending, Ending::Whole);
    let seen: Vec<_> = records.iter().map(|r| (r.interface, r.nanoseconds, r.length)).collect();
    assert_eq!(seen, [(0, 5_000_000_000, 60), (1, 6_000_000, 60), (2, 1_000_000_000, 60), (2, 1_000_000_000, 60)]);
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    while reader.next_record().unwrap().is_some() {}
    assert_eq!(reader.interfaces().iter().map(|i| i.link).collect::<Vec<_>>(), [LinkType::Ethernet, LinkType::LinuxCooked, LinkType::Ip]);
}
