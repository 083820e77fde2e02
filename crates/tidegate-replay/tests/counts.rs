//! The packets of small files are as many as Wireshark's `capinfos` counts, written down here; where it stops at damage, so do we, after as many packets.

use tidegate_replay::{Arrival, Arrivals, CaptureError, CaptureReader, Ending};

#[derive(PartialEq, Debug)]
enum End {
    Whole,
    Cut,
    Damaged,
}
use End::{Cut, Damaged, Whole};

/// Files of the fuzz corpus, among them what `editcap` and `mergecap` made of others.
const COUNTS: [(&str, u64, End); 44] = [
    ("edited-comment", 4, Whole),
    ("edited-modified", 4, Whole),
    ("edited-nsec", 4, Whole),
    ("merged-appended", 8, Whole),
    ("merged-interfaces", 11, Whole),
    ("pcap-backwards", 4, Whole),
    ("pcap-captured-above-original", 1, Whole),
    ("pcap-cut-in-record", 3, Cut),
    ("pcap-empty", 0, Whole),
    ("pcap-gzip", 10, Whole),
    ("pcap-kuznetzov-cut", 3, Cut),
    ("pcap-length-0", 3, Whole),
    ("pcap-length-beyond-file", 0, Damaged),
    ("pcap-micro-big", 4, Whole),
    ("pcap-micro-little", 4, Whole),
    ("pcap-microseconds-beyond-second", 1, Whole),
    ("pcap-nano-big", 4, Whole),
    ("pcap-nano-little", 4, Whole),
    ("pcap-truncated-packets", 4, Whole),
    ("pcap-unknown-link", 4, Whole),
    ("pcap-years-apart", 4, Whole),
    ("pcapng-before-1970", 2, Whole),
    ("pcapng-big", 4, Whole),
    ("pcapng-binary-resolution", 1, Whole),
    ("pcapng-block-too-short", 0, Damaged),
    ("pcapng-comment-latin1", 1, Whole),
    ("pcapng-cut", 0, Cut),
    ("pcapng-huge-block", 0, Damaged),
    ("pcapng-latest-stamp", 2, Whole),
    ("pcapng-little", 4, Whole),
    ("pcapng-name-escapes", 1, Whole),
    ("pcapng-name-latin1", 1, Whole),
    ("pcapng-nano-two-interfaces", 2, Whole),
    ("pcapng-no-interface", 0, Damaged),
    ("pcapng-packet-comment-latin1", 2, Whole),
    ("pcapng-picoseconds", 2, Whole),
    ("pcapng-resolution-2-32", 2, Whole),
    ("pcapng-resolution-out-of-range", 1, Whole),
    ("pcapng-simple-packets", 2, Whole),
    ("pcapng-time-offset", 1, Whole),
    ("pcapng-two-sections", 2, Whole),
    ("pcapng-unknown-block", 1, Whole),
    ("pcapng-wrong-interface", 0, Damaged),
    ("telegram", 3, Whole),
];

fn corpus(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fuzz/corpus/captures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn packets_are_counted_as_capinfos_counts_them() {
    for (name, packets, end) in COUNTS {
        let file = corpus(name);
        let mut reader = CaptureReader::new(&file[..]).unwrap().until_damage(true);
        let mut count = 0;
        while reader.next_record().unwrap().is_some() {
            count += 1;
        }
        let ending = match reader.ending() {
            Some(Ending::Whole) => Whole,
            Some(Ending::Cut { .. }) => Cut,
            Some(Ending::Damaged { .. }) => Damaged,
            None => panic!("{name} did not end"),
        };
        assert_eq!((count, ending), (packets, end), "{name}");
    }
}

#[test]
fn what_is_no_capture_says_what_it_is() {
    for (name, way_out) in [("snoop", "editcap -F pcapng"), ("text", "text2pcap"), ("empty", "is empty")] {
        let file = corpus(name);
        let Err(CaptureError::NotACapture(message)) = CaptureReader::new(&file[..]) else { panic!("{name} was read") };
        assert!(message.contains(way_out), "{name}: {message}");
    }
    let file = corpus("pcap-cut-in-header");
    assert!(matches!(CaptureReader::new(&file[..]), Err(CaptureError::Damaged { .. })));
}

#[test]
fn rules_see_the_length_on_the_wire_of_packets_that_were_cut() {
    let file = corpus("pcap-truncated-packets");
    let mut reader = CaptureReader::new(&file[..]).unwrap();
    let mut arrivals = Arrivals::new(&mut reader, |_, _| true);
    let mut cut = 0;
    while let Some(Arrival { header, record, .. }) = arrivals.next(&mut |_| ()).unwrap() {
        assert_eq!(header.length, record.length);
        cut += usize::from(record.data.len() < record.length as usize);
    }
    assert!(cut > 0);
}
