//! Target: capture files. What can be read is written back as pcapng and must come out of a second reading the same.

use tidegate_replay::{CaptureError, CaptureReader, CaptureWriter, Ending, Interface, Record};

/// Reads one capture file; true if all of it is sound.
pub fn run(input: &[u8]) -> bool {
    let Ok(mut reader) = CaptureReader::new(input) else { return false };
    let mut records = Vec::new();
    let ending = loop {
        match reader.next_record() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    for record in &records {
        assert!(record.interface < reader.interfaces().len(), "a packet of an interface that was never introduced");
        assert!(record.length as usize >= record.data.len(), "more was captured than there was");
    }
    check_round_trip(reader.interfaces(), &records);
    ending.is_ok() && reader.ending() == Some(&Ending::Whole)
}

/// What was read is written and read again. A first packet before 1970 begins a section that describes the interfaces anew, so that they have other numbers.
fn check_round_trip(interfaces: &[Interface], records: &[Record]) {
    let mut writer = CaptureWriter::new(Vec::new(), "fuzz").expect("memory takes every byte");
    for record in records {
        let Record { interface, nanoseconds, length, data } = record;
        writer.write(interfaces, *interface, *nanoseconds, *length, data, None).expect("memory takes every byte");
    }
    let written = writer.finish().expect("memory takes every byte");
    let (described, again) = read_back(&written).expect("what was written can be read");
    assert_eq!(again.len(), records.len());
    for (one, other) in records.iter().zip(&again) {
        assert_eq!(interfaces[one.interface], described[other.interface]);
        assert_eq!(*one, Record { interface: one.interface, ..other.clone() });
    }
}

fn read_back(written: &[u8]) -> Result<(Vec<Interface>, Vec<Record>), CaptureError> {
    let mut reader = CaptureReader::new(written)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        records.push(record);
    }
    assert_eq!(reader.ending(), Some(&Ending::Whole));
    assert_eq!(reader.oddities(), Default::default());
    Ok((reader.interfaces().to_vec(), records))
}
