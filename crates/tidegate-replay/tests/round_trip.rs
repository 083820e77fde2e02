//! What the writer writes, the reader reads: any instants in any order, before 1970 too, any lengths and link types.

use proptest::prelude::*;
use tidegate_replay::{CaptureReader, CaptureWriter, Ending, Interface};
use tidegate_wire::LinkType;

const FARTHEST: i64 = 9_000_000_000_000_000_000;

fn interface() -> impl Strategy<Value = Interface> {
    (proptest::option::of("[ -~é]{0,12}"), 0u32..300).prop_map(|(name, link_type)| Interface {
        name,
        link_type,
        link: LinkType::from_number(link_type),
    })
}

fn instant() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(-1), Just(-FARTHEST), Just(FARTHEST), -FARTHEST..=FARTHEST, 0..=FARTHEST]
}

proptest! {
    #[test]
    fn every_packet_comes_back(
        interfaces in proptest::collection::vec(interface(), 1..4),
        packets in proptest::collection::vec((any::<usize>(), instant(), 0u32..70_000, proptest::collection::vec(any::<u8>(), 0..40), any::<bool>()), 0..20),
    ) {
        let mut writer = CaptureWriter::new(Vec::new(), "what it holds").unwrap();
        for (number, instant, more, data, commented) in &packets {
            let length = data.len() as u32 + more;
            writer.write(&interfaces, number % interfaces.len(), *instant, length, data, commented.then_some("comment")).unwrap();
        }
        prop_assert_eq!(writer.packets(), packets.len() as u64);
        let file = writer.finish().unwrap();
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        for (number, instant, more, data, _) in packets {
            let record = reader.next_record().unwrap().unwrap();
            prop_assert_eq!((record.nanoseconds, record.length, &record.data), (instant, data.len() as u32 + more, &data));
            prop_assert_eq!(&reader.interfaces()[record.interface], &interfaces[number % interfaces.len()]);
        }
        prop_assert!(reader.next_record().unwrap().is_none());
        prop_assert_eq!(reader.ending(), Some(&Ending::Whole));
        prop_assert_eq!(reader.oddities(), Default::default());
    }
}
