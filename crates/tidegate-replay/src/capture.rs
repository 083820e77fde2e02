//! Reading capture files: pcap and pcapng, compressed with gzip or zstd or not.
//!
//! Files are read as a stream, a record at a time. What a packet's bytes and instant do not depend on never makes it unreadable. A file that ends in the
//! middle of a record, as a capture does whose program was killed, is read up to there. Damage elsewhere is an error, or with
//! [`CaptureReader::until_damage`] the end; [`CaptureReader::ending`] tells which end it was.

mod cells;
mod error;
mod formats;
mod framed;
mod input;
mod pcap;
mod pcapng;
mod time;

pub(crate) use cells::{CELL_LINK_TYPE, Carried};
pub use error::CaptureError;
pub use framed::{Interface, Oddities};
pub(crate) use time::{FARTHEST, SECOND};

use framed::{Fault, Framed};
use input::Input;
use pcap::Pcap;
use pcapng::PcapNg;
use std::io::BufRead;

/// One captured packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Index into [`CaptureReader::interfaces`].
    pub interface: usize,
    /// Nanoseconds since 1970-01-01 00:00 UTC, before it if negative; within 285 years of it.
    pub nanoseconds: i64,
    /// Length on the wire in bytes, at least that of `data`.
    pub length: u32,
    /// The bytes that were captured.
    pub data: Vec<u8>,
}

/// How a capture ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    /// With a whole record.
    #[default]
    Whole,
    /// In the middle of a record.
    Cut {
        /// Which record or block it is, counted from 1.
        place: String,
        /// The bytes that are there of it.
        unread: u64,
    },
    /// At damage that the caller asked to stop at.
    Damaged {
        /// Which record or block it is, counted from 1.
        place: String,
        /// What is wrong with it.
        problem: String,
        /// The bytes from the beginning of that record to the end of the file.
        unread: u64,
    },
}

/// Reads a capture file of either format.
pub struct CaptureReader<R: BufRead> {
    input: Input<R>,
    format: Format,
    interfaces: Vec<Interface>,
    /// Records of pcap, blocks of pcapng that were begun.
    begun: u64,
    packets: u64,
    until_damage: bool,
    ending: Option<Ending>,
    oddities: Oddities,
    previous_nanoseconds: i64,
}

enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

impl<R: BufRead> CaptureReader<R> {
    /// Begins to read a capture.
    ///
    /// # Errors
    /// [`CaptureError::NotACapture`] if the first bytes are those of no known format, [`CaptureError::Version`] or [`CaptureError::Damaged`] for a file header
    /// that cannot be used.
    pub fn new(input: R) -> Result<CaptureReader<R>, CaptureError> {
        let (mut input, start) = Input::new(input)?;
        let mut interfaces = Vec::new();
        let format = if start.starts_with(&pcapng::SECTION_HEADER) {
            Format::PcapNg(PcapNg::default())
        } else if Pcap::begins(&start) {
            let (pcap, interface) = Pcap::new(&mut input)?;
            interfaces.push(interface);
            Format::Pcap(pcap)
        } else {
            return Err(CaptureError::NotACapture(formats::recognise(&start)));
        };
        Ok(CaptureReader {
            input,
            format,
            interfaces,
            begun: 0,
            packets: 0,
            until_damage: false,
            ending: None,
            oddities: Oddities::default(),
            previous_nanoseconds: 0,
        })
    }

    /// Takes damage for the end of the file if `accept` is true.
    pub fn until_damage(mut self, accept: bool) -> CaptureReader<R> {
        self.until_damage = accept;
        self
    }

    /// The interfaces met so far. A pcapng file may introduce more later.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// How the file ended, once it has.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// What was passed over or changed so far.
    pub fn oddities(&self) -> Oddities {
        let mut oddities = self.oddities;
        if let (Format::PcapNg(pcapng), Some(_)) = (&self.format, &self.ending) {
            oddities.broken_frames += pcapng.unfinished_frames();
        }
        oddities
    }

    /// The next packet, or `None` at the end of the file.
    ///
    /// # Errors
    /// [`CaptureError::Damaged`] at a record that makes no sense; nothing can be read after it.
    pub fn next_record(&mut self) -> Result<Option<Record>, CaptureError> {
        if self.ending.is_some() {
            return Ok(None);
        }
        let mut start = self.input.position();
        let framed = match &mut self.format {
            Format::Pcap(pcap) => {
                self.begun += 1;
                pcap.next(&mut self.input)
            }
            Format::PcapNg(pcapng) => pcapng.next(&mut self.input, &mut self.interfaces, &mut self.begun, &mut self.oddities, &mut start),
        };
        match framed {
            Ok(Some(framed)) => Ok(Some(self.record(framed))),
            Ok(None) => {
                self.ending = Some(Ending::Whole);
                Ok(None)
            }
            Err(Fault::Io(error)) => Err(CaptureError::Io(error)),
            Err(Fault::Version { major, minor }) => Err(CaptureError::Version { format: "pcapng", major, minor, expected: "1.x" }),
            Err(Fault::Cut) => {
                self.ending = Some(Ending::Cut { place: self.place(), unread: self.input.position() - start });
                Ok(None)
            }
            Err(Fault::Damaged(problem)) => {
                self.input.drain();
                let (place, unread) = (self.place(), self.input.position() - start);
                self.ending = Some(Ending::Damaged { place: place.clone(), problem: problem.clone(), unread });
                if self.until_damage { Ok(None) } else { Err(CaptureError::Damaged { place, problem, unread }) }
            }
        }
    }

    fn record(&mut self, framed: Framed) -> Record {
        let Framed { interface, instant, original, data } = framed;
        self.packets += 1;
        // A packet without a time stamp can only be taken to come with the packet before it.
        let (nanoseconds, is_clamped) = instant.unwrap_or((self.previous_nanoseconds, false));
        self.oddities.stamps += u64::from(is_clamped);
        self.previous_nanoseconds = nanoseconds;
        Record { interface, nanoseconds, length: original.max(data.len() as u32), data }
    }

    /// The record or block that was begun last.
    fn place(&self) -> String {
        match self.format {
            Format::Pcap(_) => format!("record {}", self.begun),
            Format::PcapNg(_) => format!("block {}, after {} packets", self.begun, self.packets),
        }
    }
}

#[cfg(test)]
mod tests;
