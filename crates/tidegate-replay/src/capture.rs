//! Reading capture files: pcap (micro- and nanosecond, both byte orders) and pcapng (any number of sections and interfaces).
//!
//! Files are read as a stream, a record at a time. A file that ends in the middle of a record, as a capture does whose program was
//! killed, is read up to there; [`CaptureReader::is_cut_short`] then says so.

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcap::PcapTsResolution;
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use std::fmt;
use std::io::{self, BufRead, Read};
use tidegate_wire::LinkType;

/// One captured packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Index into [`CaptureReader::interfaces`].
    pub interface: usize,
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    pub nanoseconds: u64,
    /// Length on the wire in bytes, at least that of `data`.
    pub length: u32,
    /// The bytes that were captured.
    pub data: Vec<u8>,
}

/// One interface of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name, if the file tells.
    pub name: Option<String>,
    /// The number of its link type in the file.
    pub link_type: u32,
    /// What its frames begin with.
    pub link: LinkType,
}

/// Why a capture cannot be read.
#[derive(Debug)]
pub enum CaptureError {
    /// The file cannot be read at all.
    Io(io::Error),
    /// The file does not begin like a capture; holds its first four bytes.
    NotACapture(Vec<u8>),
    /// The file is damaged: the record's number, counted from 1, and what is wrong with it.
    Damaged {
        /// The number of the offending record or block.
        record: u64,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Io(error) => write!(f, "cannot be read: {error}"),
            CaptureError::NotACapture(start) => {
                write!(f, "is not a capture: it begins with {start:02x?}; a pcap or pcapng file is expected")
            }
            CaptureError::Damaged { record, problem } => write!(f, "is damaged at record {record}: {problem}"),
        }
    }
}

impl std::error::Error for CaptureError {}

impl From<io::Error> for CaptureError {
    fn from(error: io::Error) -> CaptureError {
        CaptureError::Io(error)
    }
}

/// Reads a capture file of either format.
pub struct CaptureReader<R: Read> {
    format: Format<R>,
    interfaces: Vec<Interface>,
    /// Where the interfaces of the current pcapng section begin.
    section: usize,
    records: u64,
    cut_short: bool,
    previous_nanoseconds: u64,
}

enum Format<R: Read> {
    Pcap(Box<PcapReader<R>>),
    PcapNg(Box<PcapNgReader<R>>),
}

/// The first four bytes of a pcapng file.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// The first four bytes of a pcap file: microseconds and nanoseconds, little and big endian.
const PCAP: [[u8; 4]; 4] = [[0xd4, 0xc3, 0xb2, 0xa1], [0x4d, 0x3c, 0xb2, 0xa1], [0xa1, 0xb2, 0xc3, 0xd4], [0xa1, 0xb2, 0x3c, 0x4d]];

impl<R: BufRead> CaptureReader<R> {
    /// Begins to read a capture.
    ///
    /// # Errors
    /// [`CaptureError::NotACapture`] if the first bytes are those of no known format, [`CaptureError::Damaged`] for a broken file header.
    pub fn new(mut input: R) -> Result<CaptureReader<R>, CaptureError> {
        let start: Vec<u8> = input.fill_buf()?.iter().take(4).copied().collect();
        let mut interfaces = Vec::new();
        let format = if start == SECTION_HEADER {
            Format::PcapNg(Box::new(PcapNgReader::new(input).map_err(|error| damaged(0, &error))?))
        } else if PCAP.iter().any(|magic| magic[..] == start) {
            let reader = PcapReader::new(input).map_err(|error| damaged(0, &error))?;
            interfaces.push(interface(reader.header().datalink, None));
            Format::Pcap(Box::new(reader))
        } else {
            return Err(CaptureError::NotACapture(start));
        };
        Ok(CaptureReader { format, interfaces, section: 0, records: 0, cut_short: false, previous_nanoseconds: 0 })
    }
}

impl<R: Read> CaptureReader<R> {
    /// The interfaces met so far. A pcapng file may introduce more later.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// True if the file ended in the middle of a record.
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// The next packet, or `None` at the end of the file.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`] at a record that makes no sense; nothing can be read after it.
    pub fn next_record(&mut self) -> Result<Option<Record>, CaptureError> {
        let record = match &mut self.format {
            Format::Pcap(_) => self.next_pcap(),
            Format::PcapNg(_) => self.next_pcapng(),
        };
        if let Ok(Some(record)) = &record {
            self.previous_nanoseconds = record.nanoseconds;
        }
        record
    }

    fn next_pcap(&mut self) -> Result<Option<Record>, CaptureError> {
        let Format::Pcap(reader) = &mut self.format else { unreachable!("called for pcap only") };
        self.records += 1;
        let per_fraction = match reader.header().ts_resolution {
            PcapTsResolution::MicroSecond => 1000,
            PcapTsResolution::NanoSecond => 1,
        };
        // The raw form is used because real files hold records longer than the length limit in their header.
        let packet = match reader.next_raw_packet() {
            None => return Ok(None),
            Some(Ok(packet)) => packet,
            Some(Err(error)) if ends_early(&error) => {
                self.cut_short = true;
                return Ok(None);
            }
            Some(Err(error)) => return Err(damaged(self.records, &error)),
        };
        let fraction = u64::from(packet.ts_frac) * per_fraction;
        if fraction >= 1_000_000_000 {
            let problem = format!("its timestamp has a fraction of {fraction} ns, a second or more");
            return Err(CaptureError::Damaged { record: self.records, problem });
        }
        Ok(Some(Record {
            interface: 0,
            nanoseconds: u64::from(packet.ts_sec) * 1_000_000_000 + fraction,
            length: packet.orig_len.max(packet.data.len() as u32),
            data: packet.data.into_owned(),
        }))
    }

    fn next_pcapng(&mut self) -> Result<Option<Record>, CaptureError> {
        let Format::PcapNg(reader) = &mut self.format else { unreachable!("called for pcapng only") };
        loop {
            self.records += 1;
            let (block, _) = match reader.next_block() {
                None => return Ok(None),
                Some(Ok(block)) => block,
                Some(Err(error)) if ends_early(&error) => {
                    self.cut_short = true;
                    return Ok(None);
                }
                Some(Err(error)) => return Err(damaged(self.records, &error)),
            };
            let (interface, timestamp, length, data) = match block {
                Block::SectionHeader(_) => {
                    self.section = self.interfaces.len();
                    continue;
                }
                Block::InterfaceDescription(block) => {
                    let name = block.options.iter().find_map(|option| match option {
                        InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                        _ => None,
                    });
                    self.interfaces.push(self::interface(block.linktype, name));
                    continue;
                }
                Block::EnhancedPacket(packet) => (packet.interface_id as usize, Some(packet.timestamp), packet.original_len, packet.data),
                Block::Packet(packet) => (usize::from(packet.interface_id), Some(packet.timestamp), packet.original_len, packet.data),
                // A simple packet has no timestamp: it can only be taken to come with the packet before it.
                Block::SimplePacket(packet) => (0, None, packet.original_len, packet.data),
                _ => continue,
            };
            let nanoseconds = match timestamp.map(|timestamp| u64::try_from(timestamp.as_nanos())) {
                None => self.previous_nanoseconds,
                Some(Ok(nanoseconds)) => nanoseconds,
                Some(Err(_)) => {
                    let problem = "its timestamp lies beyond the year 2554".into();
                    return Err(CaptureError::Damaged { record: self.records, problem });
                }
            };
            let interface = self.section + interface;
            if interface >= self.interfaces.len() {
                let problem = "it names an interface that its section does not describe".into();
                return Err(CaptureError::Damaged { record: self.records, problem });
            }
            return Ok(Some(Record { interface, nanoseconds, length: length.max(data.len() as u32), data: data.into_owned() }));
        }
    }
}

fn interface(link: DataLink, name: Option<String>) -> Interface {
    // The upper bits of a pcap file's link type may tell the length of the frame check sequence.
    let link_type = u32::from(link) & 0xffff;
    Interface { name, link_type, link: LinkType::from_number(link_type) }
}

/// True if the input ended where more was to come.
fn ends_early(error: &dyn std::error::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
}

fn damaged(record: u64, error: &dyn std::error::Error) -> CaptureError {
    let mut problem = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        problem = format!("{problem}: {error}");
        cause = error.source();
    }
    CaptureError::Damaged { record, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn read(file: &[u8]) -> (Vec<Record>, bool) {
        let mut reader = CaptureReader::new(file).unwrap();
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            records.push(record);
        }
        (records, reader.is_cut_short())
    }

    #[test]
    fn both_byte_orders_and_both_resolutions() {
        for little in [false, true] {
            for nano in [false, true] {
                let (records, cut) = read(&pcap(little, nano));
                assert!(!cut);
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
        let (records, cut) = read(&file[..file.len() - 1]);
        assert_eq!((records.len(), cut), (1, true));
    }

    #[test]
    fn what_is_no_capture_is_refused() {
        assert!(matches!(CaptureReader::new(&b"GIF89a"[..]), Err(CaptureError::NotACapture(start)) if start == b"GIF8"));
        assert!(matches!(CaptureReader::new(&b""[..]), Err(CaptureError::NotACapture(start)) if start.is_empty()));
        let mut file = pcap(true, false);
        file[24 + 4..24 + 8].copy_from_slice(&2_000_000u32.to_le_bytes());
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        assert!(matches!(reader.next_record(), Err(CaptureError::Damaged { record: 1, .. })));
    }

    #[test]
    fn sections_number_their_interfaces_anew() {
        // Written by hand: the writer of this crate writes one section only.
        fn block(kind: u32, body: &[u8]) -> Vec<u8> {
            let length = (12 + body.len() as u32).to_be_bytes();
            [&kind.to_be_bytes()[..], &length, body, &length].concat()
        }
        let section = block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat());
        let interface = |link: u16, resolution: u8| {
            let options = [0, 9, 0, 1, resolution, 0, 0, 0, 0, 0, 0, 0];
            block(1, &[&link.to_be_bytes()[..], &[0, 0, 0, 0, 0, 0], &options].concat())
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
        let (records, cut) = read(&file);
        assert!(!cut);
        let seen: Vec<_> = records.iter().map(|r| (r.interface, r.nanoseconds, r.length)).collect();
        assert_eq!(seen, [(0, 5_000_000_000, 60), (1, 6_000_000, 60), (2, 1_000_000_000, 60), (2, 1_000_000_000, 60)]);
        let mut reader = CaptureReader::new(&file[..]).unwrap();
        while reader.next_record().unwrap().is_some() {}
        assert_eq!(
            reader.interfaces().iter().map(|i| i.link).collect::<Vec<_>>(),
            [LinkType::Ethernet, LinkType::LinuxCooked, LinkType::Ip]
        );
    }
}
