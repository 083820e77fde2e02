//! The framing of pcap: a file header, then records. Both byte orders, micro- and nanoseconds, and two variants whose records differ little.

use super::error::CaptureError;
use super::framed::{Fault, Framed, Interface, longest};
use super::input::Input;
use super::time::{SECOND, in_range};
use std::io::BufRead;

/// What a file's first four bytes say.
struct Magic {
    value: u32,
    nanoseconds_per_fraction: i64,
    /// Bytes of a record's header: 16, and 24 with the interface and packet type of Kuznetzov's patch.
    record_header: usize,
    /// Bytes between the file's header and the first record.
    skipped: usize,
}

const MAGICS: [Magic; 5] = [
    Magic { value: 0xa1b2_c3d4, nanoseconds_per_fraction: 1000, record_header: 16, skipped: 0 },
    Magic { value: 0xa1b2_3c4d, nanoseconds_per_fraction: 1, record_header: 16, skipped: 0 },
    Magic { value: 0xa1b2_cd34, nanoseconds_per_fraction: 1000, record_header: 24, skipped: 0 },
    // IXIA's hardware and software: the length of all records follows the file's header.
    Magic { value: 0x1c00_01ac, nanoseconds_per_fraction: 1000, record_header: 16, skipped: 4 },
    Magic { value: 0x1c00_01ab, nanoseconds_per_fraction: 1000, record_header: 16, skipped: 4 },
];

/// Bytes of the file's header.
const FILE_HEADER: usize = 24;

pub(super) struct Pcap {
    is_little: bool,
    minor: u16,
    nanoseconds_per_fraction: i64,
    record_header: usize,
    longest: u32,
}

impl Pcap {
    pub(super) fn begins(start: &[u8]) -> bool {
        magic(start).is_some()
    }

    /// Reads the file's header.
    pub(super) fn new(input: &mut Input<impl BufRead>) -> Result<(Pcap, Interface), CaptureError> {
        let broken = |problem: &str| CaptureError::Damaged { place: "its file header".into(), problem: problem.into(), unread: 0 };
        let mut header = [0; FILE_HEADER];
        let filled = input.fill(&mut header)?;
        let Some((Magic { nanoseconds_per_fraction, record_header, skipped, .. }, is_little)) = magic(&header) else {
            unreachable!("the first bytes have been looked at")
        };
        if filled < FILE_HEADER || input.fill(&mut [0; 4][..*skipped])? < *skipped {
            return Err(broken("the file ends there"));
        }
        let word = |at| word(&header, at, is_little);
        let versions = (word(4) & 0xffff, word(4) >> 16);
        let (major, minor) = if is_little { versions } else { (versions.1, versions.0) };
        if major != 2 {
            return Err(CaptureError::Version { format: "pcap", major, minor, expected: "2.x" });
        }
        // The upper bits may tell the length of the frame check sequence.
        let link_type = word(20) & 0xffff;
        let (nanoseconds_per_fraction, record_header) = (*nanoseconds_per_fraction, *record_header);
        let pcap = Pcap { is_little, minor: minor as u16, nanoseconds_per_fraction, record_header, longest: longest(link_type) };
        Ok((pcap, Interface::new(link_type, None)))
    }

    /// The next record, or `None` at the end.
    pub(super) fn next(&mut self, input: &mut Input<impl BufRead>) -> Result<Option<Framed>, Fault> {
        let mut header = [0; 24];
        let header = &mut header[..self.record_header];
        match input.fill(header)? {
            0 => return Ok(None),
            filled if filled < header.len() => return Err(Fault::Cut),
            _ => {}
        }
        let word = |at| word(header, at, self.is_little);
        let (seconds, fraction, mut captured, mut original) = (word(0), word(4), word(8), word(12));
        // Before 2.3 the lengths came the other way round; programs that wrote 2.3 did not agree.
        if self.minor < 3 || self.minor == 3 && captured > original {
            (captured, original) = (original, captured);
        }
        if captured > self.longest {
            return Err(Fault::Damaged(format!("a length of {captured} B, and no packet has more than {} B", self.longest)));
        }
        let data = input.take(captured as usize)?;
        if data.len() < captured as usize {
            return Err(Fault::Cut);
        }
        let instant = i128::from(seconds) * i128::from(SECOND) + i128::from(fraction) * i128::from(self.nanoseconds_per_fraction);
        Ok(Some(Framed { interface: 0, instant: Some(in_range(instant)), original, data }))
    }
}

fn magic(start: &[u8]) -> Option<(&'static Magic, bool)> {
    let bytes: [u8; 4] = start.get(..4)?.try_into().ok()?;
    [(u32::from_le_bytes(bytes), true), (u32::from_be_bytes(bytes), false)]
        .into_iter()
        .find_map(|(value, is_little)| Some((MAGICS.iter().find(|magic| magic.value == value)?, is_little)))
}

fn word(bytes: &[u8], at: usize, is_little: bool) -> u32 {
    let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
}
