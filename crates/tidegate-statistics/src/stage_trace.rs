//! The times at which a packet passed the stages of a forwarding path, packet by packet, and the file that keeps them.
//!
//! A live direction records them, or a model of one. Fits and comparisons read them, so neither has to know the other.
//!
//! The file is one block. Numbers are unsigned varints of seven bits per byte, the lowest first; differences are folded so that small ones of
//! either sign are short (zigzag).
//!
//! | part | holds |
//! |---|---|
//! | `TIDESTAG` | eight bytes that mark the format |
//! | version | 1, as four bytes, the lowest first |
//! | head | ticks per second, cost of an empty stamp in ticks, packets lost, stolen time in millionths, number of packets |
//! | columns | number, length, flow, arrived: differences from the packet before; the number from its successor |
//! | | wake, read, offered, started, handed: 0 for none, else 1 and the difference from arrived, arrived, read, offered, started |
//! | check | eight bytes: the 64-bit FNV-1a hash of everything before |

use core::fmt;

const MAGIC: [u8; 8] = *b"TIDESTAG";

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// The columns of the file.
const COLUMNS: usize = 9;

/// One packet. Instants are ticks from an origin of the recorder's choice, below 2^63; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StageRecord {
    /// Its number at the port, from 0.
    pub number: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its flow.
    pub flow: u64,
    /// The thread woke from a sleep, and this is the first packet since.
    pub wake: u64,
    /// The kernel received it.
    pub arrived: u64,
    /// It was found in the ring.
    pub read: u64,
    /// It had been classified and offered to the port.
    pub offered: u64,
    /// Its transmission started; 0 if the port dropped it.
    pub started: u64,
    /// The kernel had taken it for transmission.
    pub handed: u64,
}

/// A recording of packets, in the order in which they were offered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StageTrace {
    /// The unit of time.
    pub ticks_per_second: u64,
    /// What a stamp costs by itself, in ticks: it is part of every interval between stamps.
    pub empty_cost: u64,
    /// Packets that were not recorded, because the memory for it was full.
    pub lost: u64,
    /// Processor time that a hypervisor gave to others, in millionths of all.
    pub steal: u64,
    /// The packets.
    pub records: Vec<StageRecord>,
}

/// Why bytes are no recording, or a recording cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StageTraceError {
    /// The file does not begin with the mark of the format.
    NotATrace,
    /// The file has a version that cannot be read.
    Version(u32),
    /// The file ends within a packet.
    Truncated,
    /// The hash of the file is not the one at its end.
    Damaged,
    /// A number has more than 64 bits, or an instant 2^63 ticks or more.
    OutOfRange,
    /// There are no ticks in a second.
    NoClock,
}

impl fmt::Display for StageTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StageTraceError::NotATrace => f.write_str("this is no recording of stages; `tidegate live --probe FILE` writes one"),
            StageTraceError::Version(version) => {
                write!(f, "the recording has version {version}, and this command reads version {VERSION}: record it again")
            }
            StageTraceError::Truncated => f.write_str("the recording is cut short: copy it again"),
            StageTraceError::Damaged => f.write_str("the recording is damaged, its checksum is wrong: copy it again"),
            StageTraceError::OutOfRange => f.write_str("an instant of the recording is out of range: instants are below 2^63 ticks"),
            StageTraceError::NoClock => f.write_str("the recording has a clock without ticks: record it again"),
        }
    }
}

impl std::error::Error for StageTraceError {}

impl StageTrace {
    /// The file.
    ///
    /// # Errors
    /// [`StageTraceError::OutOfRange`] for an instant of 2^63 ticks or more.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StageTraceError> {
        let mut bytes = Vec::with_capacity(64 + 16 * self.records.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        for number in [self.ticks_per_second, self.empty_cost, self.lost, self.steal, self.records.len() as u64] {
            put(&mut bytes, number);
        }
        for column in 0..COLUMNS {
            let mut before = StageRecord::default();
            for record in &self.records {
                let [value, base] = at(record, &before, column);
                if value >= 1 << 63 {
                    return Err(StageTraceError::OutOfRange);
                }
                let difference = fold(value.wrapping_sub(base) as i64);
                put(
                    &mut bytes,
                    if !is_optional(column) {
                        difference
                    } else if value == 0 {
                        0
                    } else {
                        difference + 1
                    },
                );
                before = *record;
            }
        }
        let check = hash(&bytes);
        bytes.extend(check.to_le_bytes());
        Ok(bytes)
    }

    /// The recording in a file.
    ///
    /// # Errors
    /// [`StageTraceError`] for anything that [`StageTrace::to_bytes`] does not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<StageTrace, StageTraceError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(StageTraceError::NotATrace)?;
        let (version, _) = rest.split_first_chunk().ok_or(StageTraceError::Truncated)?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(StageTraceError::Version(version));
        }
        let (body, check) = bytes.split_last_chunk().ok_or(StageTraceError::Truncated)?;
        if hash(body) != u64::from_le_bytes(*check) {
            return Err(StageTraceError::Damaged);
        }
        let mut rest = body.get(MAGIC.len() + 4..).ok_or(StageTraceError::Truncated)?;
        let mut head = [0; 5];
        for number in &mut head {
            *number = take(&mut rest)?;
        }
        let [ticks_per_second, empty_cost, lost, steal, count] = head;
        if ticks_per_second == 0 {
            return Err(StageTraceError::NoClock);
        }
        // A packet takes a byte per column at least, so a count that lies asks for no memory.
        let count = usize::try_from(count).ok().filter(|count| *count <= rest.len() / COLUMNS).ok_or(StageTraceError::Truncated)?;
        let mut records = vec![StageRecord::default(); count];
        for column in 0..COLUMNS {
            let mut before = StageRecord::default();
            for record in &mut records {
                let coded = take(&mut rest)?;
                let [_, base] = at(record, &before, column);
                let value = match (is_optional(column), coded) {
                    (true, 0) => 0,
                    (true, coded) => base.wrapping_add(unfold(coded - 1) as u64),
                    (false, coded) => base.wrapping_add(unfold(coded) as u64),
                };
                if value >= 1 << 63 {
                    return Err(StageTraceError::OutOfRange);
                }
                *field(record, column) = value;
                before = *record;
            }
        }
        if rest.is_empty() { Ok(StageTrace { ticks_per_second, empty_cost, lost, steal, records }) } else { Err(StageTraceError::Damaged) }
    }

    /// Ticks in seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second as f64
    }

    /// The seconds from one stamp to the next, without the cost of the stamp; `None` if one of them is missing.
    pub fn interval(&self, from: u64, to: u64) -> Option<f64> {
        let is_there = from != 0 && to != 0;
        is_there.then(|| self.seconds(to.saturating_sub(from).saturating_sub(self.empty_cost)))
    }
}

/// True for the columns that may have no value.
fn is_optional(column: usize) -> bool {
    column >= 4
}

/// The value of a column, and the value that its difference is taken from: of the packet itself or the one before.
fn at(record: &StageRecord, before: &StageRecord, column: usize) -> [u64; 2] {
    match column {
        0 => [record.number, before.number.wrapping_add(1)],
        1 => [record.length, before.length],
        2 => [record.flow, before.flow],
        3 => [record.arrived, before.arrived],
        4 => [record.wake, record.arrived],
        5 => [record.read, record.arrived],
        6 => [record.offered, record.read],
        7 => [record.started, record.offered],
        _ => [record.handed, record.started],
    }
}

fn field(record: &mut StageRecord, column: usize) -> &mut u64 {
    match column {
        0 => &mut record.number,
        1 => &mut record.length,
        2 => &mut record.flow,
        3 => &mut record.arrived,
        4 => &mut record.wake,
        5 => &mut record.read,
        6 => &mut record.offered,
        7 => &mut record.started,
        _ => &mut record.handed,
    }
}

/// 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
fn fold(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63) as u64
}

fn unfold(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, StageTraceError> {
    let mut number = 0u64;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(StageTraceError::Truncated)?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            return Err(StageTraceError::OutOfRange);
        }
        number |= part << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(StageTraceError::OutOfRange)
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn records() -> impl Strategy<Value = Vec<StageRecord>> {
        let instant = || prop_oneof![2 => Just(0u64), 4 => 0u64..100_000, 1 => 0u64..1 << 63, 1 => Just((1 << 63) - 1)];
        let instants = (instant(), instant(), instant(), instant(), instant(), instant());
        let record = (0u64..1 << 40, 0u64..10_000, 0u64..100, instants).prop_map(|(number, length, flow, instants)| {
            let (wake, arrived, read, offered, started, handed) = instants;
            StageRecord { number, length, flow, wake, arrived, read, offered, started, handed }
        });
        proptest::collection::vec(record, 0..40)
    }

    fn trace(records: Vec<StageRecord>) -> StageTrace {
        StageTrace { ticks_per_second: 1_000_000_000, empty_cost: 21, lost: 3, steal: 400, records }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in records()) {
            let trace = trace(records);
            prop_assert_eq!(StageTrace::from_bytes(&trace.to_bytes().unwrap()), Ok(trace));
        }

        #[test]
        fn a_file_that_is_cut_or_changed_is_refused(records in records(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let bytes = trace(records).to_bytes().unwrap();
            let at = at.index(bytes.len());
            prop_assert!(StageTrace::from_bytes(&bytes[..at]).is_err());
            let mut changed = bytes;
            changed[at] ^= 1 << bit;
            prop_assert!(StageTrace::from_bytes(&changed).is_err());
        }

        /// Behind a right checksum.
        #[test]
        fn any_bytes_are_read_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = [&MAGIC[..], &VERSION.to_le_bytes(), &body].concat();
            bytes.extend(hash(&bytes).to_le_bytes());
            let _ = StageTrace::from_bytes(&bytes);
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let good = trace(vec![StageRecord::default(); 3]).to_bytes().unwrap();
        let error = |bytes: &[u8]| StageTrace::from_bytes(bytes).unwrap_err();
        assert_eq!(error(b"no trace at all"), StageTraceError::NotATrace);
        let mut newer = good.clone();
        newer[8] = 2;
        assert_eq!(error(&newer), StageTraceError::Version(2));
        assert!(error(&newer).to_string().contains("version 2"));
        assert_eq!(error(&good[..10]), StageTraceError::Truncated);
        assert_eq!(error(&good[..good.len() - 1]), StageTraceError::Damaged);
        let late = trace(vec![StageRecord { read: 1 << 63, ..StageRecord::default() }]);
        assert_eq!(late.to_bytes(), Err(StageTraceError::OutOfRange));
    }

    #[test]
    fn ten_thousand_packets_take_about_150_kb() {
        let record = |number: u64| {
            let arrived = 1_000_000 + 97_131 * number;
            let read = arrived + 4000 + number % 900;
            let stamps = StageRecord { offered: read + 700, started: read + 900, handed: read + 20_000, ..StageRecord::default() };
            StageRecord { number, length: 200, arrived, read, wake: if number.is_multiple_of(3) { read - 800 } else { 0 }, ..stamps }
        };
        let bytes = trace((0..10_000).map(record).collect()).to_bytes().unwrap().len();
        assert!((120_000..180_000).contains(&bytes), "{bytes} bytes");
    }

    #[test]
    fn an_interval_does_not_count_its_stamp() {
        let trace = trace(Vec::new());
        assert_eq!([trace.interval(1000, 2021), trace.interval(1000, 1010), trace.interval(0, 5)], [Some(1e-6), Some(0.0), None]);
    }
}
