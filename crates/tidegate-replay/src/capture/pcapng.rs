//! The framing of pcapng: sections of blocks, in either byte order. Blocks that hold no packet are passed over.
//!
//! Options are metadata: one that makes no sense is ignored and counted, with those behind it in its block. Text is read as UTF-8 with replacement characters.

use super::cells::{CELL_LINK_TYPE, Carried, Frames};
use super::framed::{Fault, Framed, Interface, Oddities, longest};
use super::input::{Input, ReadError};
use super::time::Scale;
use std::io::BufRead;

/// The type of a section header; it reads the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The longest block: a packet of 128 MiB with 128 KiB of options.
const LONGEST_BLOCK: u32 = (128 << 20) + (128 << 10) + 32;

#[derive(Default)]
pub(super) struct PcapNg {
    is_little: bool,
    /// The first interface of the section, in the numbering of the file.
    section: usize,
    /// The scale and the snap length of every interface of the section.
    described: Vec<(Scale, u32, u32)>,
    /// The frames of interfaces that hold ATM cells.
    frames: Frames,
}

impl PcapNg {
    /// Frames of ATM cells whose last cell has not come.
    pub(super) fn unfinished_frames(&self) -> u64 {
        self.frames.unfinished()
    }

    /// The next packet, or `None` at the end. `blocks` counts the blocks that were begun; `start` is where the last of them begins.
    pub(super) fn next(
        &mut self,
        input: &mut Input<impl BufRead>,
        interfaces: &mut Vec<Interface>,
        blocks: &mut u64,
        oddities: &mut Oddities,
        start: &mut u64,
    ) -> Result<Option<Framed>, Fault> {
        loop {
            *blocks += 1;
            *start = input.position();
            let Some((kind, body)) = self.block(input)? else { return Ok(None) };
            let fields = Fields { bytes: &body, is_little: self.is_little };
            let packet = match kind {
                SECTION => {
                    let (major, minor) = (fields.half(4)?, fields.half(6)?);
                    if major != 1 {
                        return Err(Fault::Version { major: major.into(), minor: minor.into() });
                    }
                    self.section = interfaces.len();
                    self.described.clear();
                    None
                }
                1 => {
                    let (link_type, snap) = (u32::from(fields.half(0)?), fields.word(4)?);
                    let mut scale = Scale::MICROSECONDS;
                    let mut name = None;
                    let mut carried = None;
                    let sound = fields.options(8, |code, value| match (code, value) {
                        (2, _) => {
                            name = Some(String::from_utf8_lossy(value.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned());
                            true
                        }
                        (3, _) => {
                            carried = Carried::described(value);
                            true
                        }
                        (9, &[resolution]) => {
                            scale.resolution = resolution;
                            true
                        }
                        (14, _) => match <[u8; 8]>::try_from(value) {
                            Ok(bytes) => {
                                scale.offset = if self.is_little { i64::from_le_bytes(bytes) } else { i64::from_be_bytes(bytes) };
                                true
                            }
                            Err(_) => false,
                        },
                        (9, _) => false,
                        _ => true,
                    });
                    oddities.options += u64::from(!sound);
                    self.described.push((scale, snap, longest(link_type)));
                    let carried = carried.filter(|_| link_type == CELL_LINK_TYPE);
                    if let Some(carried) = carried {
                        self.frames.expect(interfaces.len(), carried.encapsulation);
                    }
                    interfaces.push(Interface::new(carried.map_or(link_type, |carried| carried.link_type), name));
                    None
                }
                2 => Some((usize::from(fields.half(0)?), Some(fields.stamp(4)?), fields.word(12)?, fields.word(16)?, 20)),
                6 => Some((fields.word(0)? as usize, Some(fields.stamp(4)?), fields.word(12)?, fields.word(16)?, 20)),
                3 => {
                    let original = fields.word(0)?;
                    let snap = self.described.first().map_or(0, |described| described.1);
                    let most = if snap == 0 { u32::MAX } else { snap };
                    Some((0, None, original.min(most).min(body.len() as u32 - 4), original, 4))
                }
                // Names, statistics, journals, secrets, and what others have put under the numbers that are free for it.
                4 | 5 | 9 | 10 | 0x0bad | 0x4000_0bad | 0x8000_0000.. => None,
                _ => {
                    oddities.blocks += 1;
                    None
                }
            };
            let Some((number, stamp, captured, original, at)) = packet else { continue };
            let Some((scale, _, longest)) = self.described.get(number) else {
                return Err(Fault::Damaged(format!("it names interface {number}, and its section describes {}", self.described.len())));
            };
            if captured > *longest {
                return Err(Fault::Damaged(format!("a length of {captured} B, and no packet has more than {longest} B")));
            }
            let end = at + captured as usize;
            if end > body.len() {
                return Err(Fault::Damaged(format!("a packet of {captured} B in a block with {} B for it", body.len() - at)));
            }
            if kind != 3 && !(Fields { bytes: &body, is_little: self.is_little }).options(end.next_multiple_of(4), |_, _| true) {
                oddities.options += 1;
            }
            let mut data = body;
            data.truncate(end);
            data.drain(..at);
            let (interface, instant) = (self.section + number, stamp.map(|stamp| scale.instant(stamp)));
            if !self.frames.are_from(interface) {
                return Ok(Some(Framed { interface, instant, original, data }));
            }
            if let Some(frame) = self.frames.push(interface, &data, oddities).map_err(Fault::Damaged)? {
                return Ok(Some(Framed { interface, instant, original: frame.len() as u32, data: frame }));
            }
        }
    }

    /// The type and the body of the next block; `None` at the end.
    fn block(&mut self, input: &mut Input<impl BufRead>) -> Result<Option<(u32, Vec<u8>)>, Fault> {
        let mut head = [0; 12];
        match input.fill(&mut head[..8])? {
            0 => return Ok(None),
            8 => {}
            _ => return Err(Fault::Cut),
        }
        let is_section = head.starts_with(&SECTION_HEADER);
        if is_section {
            if input.fill(&mut head[8..])? < 4 {
                return Err(Fault::Cut);
            }
            let order = [head[8], head[9], head[10], head[11]];
            self.is_little = match (u32::from_le_bytes(order), u32::from_be_bytes(order)) {
                (BYTE_ORDER, _) => true,
                (_, BYTE_ORDER) => false,
                _ => return Err(Fault::Damaged(format!("a section header with the byte order {order:02x?}"))),
            };
        }
        let fields = Fields { bytes: &head, is_little: self.is_little };
        let (kind, length) = (fields.word(0)?, fields.word(4)?);
        let taken = if is_section { 12 } else { 8 };
        let least = least_length(kind);
        if length < least {
            return Err(Fault::Damaged(format!("a block of {length} B, and its kind has at least {least} B")));
        }
        if length > LONGEST_BLOCK {
            return Err(Fault::Damaged(format!("a block of {length} B, and the longest has {LONGEST_BLOCK} B")));
        }
        if length % 4 > 0 {
            return Err(Fault::Damaged(format!("a block of {length} B, which is no multiple of 4")));
        }
        let wanted = length as usize - taken;
        let mut body = input.take(wanted)?;
        if body.len() < wanted {
            return Err(Fault::Cut);
        }
        let again = Fields { bytes: &body, is_little: self.is_little }.word(wanted - 4)?;
        if again != length {
            return Err(Fault::Damaged(format!("a block that begins with a length of {length} B and ends with {again} B")));
        }
        body.truncate(wanted - 4);
        if is_section {
            body.splice(..0, head[8..].iter().copied());
        }
        Ok(Some((kind, body)))
    }
}

/// The kind of a section header.
const SECTION: u32 = u32::from_be_bytes(SECTION_HEADER);

/// The length of a block of this kind without options and data.
const fn least_length(kind: u32) -> u32 {
    match kind {
        SECTION => 28,
        1 => 20,
        2 | 6 => 32,
        3 => 16,
        _ => 12,
    }
}

/// The numbers in a block's body.
struct Fields<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl Fields<'_> {
    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Fault> {
        let bytes = self.bytes.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| Fault::Damaged("a block that is too short for its kind".into()))
    }

    fn half(&self, at: usize) -> Result<u16, Fault> {
        let bytes = self.array(at)?;
        Ok(if self.is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn word(&self, at: usize) -> Result<u32, Fault> {
        let bytes = self.array(at)?;
        Ok(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// A time stamp: the upper half first, whatever the byte order.
    fn stamp(&self, at: usize) -> Result<u64, Fault> {
        Ok(u64::from(self.word(at)?) << 32 | u64::from(self.word(at + 4)?))
    }

    /// Shows every option from `at` on to `take`, which answers whether its value makes sense; false if one does not.
    fn options(&self, mut at: usize, mut take: impl FnMut(u16, &[u8]) -> bool) -> bool {
        let mut sound = true;
        while at < self.bytes.len() {
            let (Ok(code), Ok(length)) = (self.half(at), self.half(at + 2)) else { return false };
            if code == 0 {
                return sound;
            }
            let Some(value) = self.bytes.get(at + 4..at + 4 + usize::from(length)) else { return false };
            sound &= take(code, value);
            at += 4 + usize::from(length).next_multiple_of(4);
        }
        sound
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Fault {
        match error {
            ReadError::Io(error) => Fault::Io(error),
            ReadError::Compression(problem) => Fault::Damaged(problem),
        }
    }
}
