//! Writing captures as pcapng with nanosecond timestamps and comments.

use crate::capture::{CELL_LINK_TYPE, Carried, FARTHEST, Interface, SECOND};
use std::io::{self, Write};
use tidegate_atm::adapter::Encapsulation;

/// Writes packets to a pcapng file.
///
/// Stamps are unsigned in pcapng. The first packet before 1970 begins a section whose stamps count from 285 years before it.
pub struct CaptureWriter<W: Write> {
    output: W,
    comment: String,
    /// Seconds that the stamps of the section leave out.
    offset: i64,
    /// The interfaces described in the section.
    interfaces: usize,
    packets: u64,
    block: Vec<u8>,
    /// What the packets carry if they are ATM cells.
    cells: Option<Encapsulation>,
}

const APPLICATION: &str = concat!("Tidegate ", env!("CARGO_PKG_VERSION"));

impl<W: Write> CaptureWriter<W> {
    /// Begins a file; `comment` says what it holds.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn new(output: W, comment: &str) -> io::Result<CaptureWriter<W>> {
        let mut writer =
            CaptureWriter { output, comment: comment.into(), offset: 0, interfaces: 0, packets: 0, block: Vec::new(), cells: None };
        writer.section()?;
        Ok(writer)
    }

    /// The packets are ATM cells of 53 bytes, whose frames are those of the interfaces.
    pub(crate) fn hold_cells(&mut self, encapsulation: Encapsulation) {
        self.cells = Some(encapsulation);
    }

    /// Writes one packet of interface number `interface` of `interfaces`; interfaces are described when they are first needed.
    ///
    /// # Errors
    /// If the output cannot be written.
    ///
    /// # Panics
    /// If the instant is more than 285 years before 1970: no [`Record`](crate::Record) has such a one.
    pub fn write(
        &mut self,
        interfaces: &[Interface],
        interface: usize,
        nanoseconds: i64,
        length: u32,
        data: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        assert!(nanoseconds >= -FARTHEST, "an instant before those of captures");
        if nanoseconds < 0 && self.offset == 0 {
            self.offset = -FARTHEST / SECOND;
            self.interfaces = 0;
            self.section()?;
        }
        while self.interfaces <= interface {
            self.describe(&interfaces[self.interfaces])?;
        }
        let stamp = nanoseconds.abs_diff(self.offset * SECOND);
        for word in [interface as u32, (stamp >> 32) as u32, stamp as u32, data.len() as u32, length] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        self.padded(data);
        if let Some(comment) = comment {
            self.option(1, comment.as_bytes());
            self.end_of_options();
        }
        self.finish_block(6)?;
        self.packets += 1;
        Ok(())
    }

    /// The number of packets written.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Ends the file and hands the output back.
    ///
    /// # Errors
    /// If what is buffered cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }

    fn section(&mut self) -> io::Result<()> {
        // The byte order, version 1.0, and a length of the section that is not told.
        for word in [0x1a2b_3c4d, 1, u32::MAX, u32::MAX] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        let comment = std::mem::take(&mut self.comment);
        self.option(4, APPLICATION.as_bytes());
        self.option(1, comment.as_bytes());
        self.end_of_options();
        self.comment = comment;
        self.finish_block(0x0a0d_0d0a)
    }

    fn describe(&mut self, interface: &Interface) -> io::Result<()> {
        // No limit of the length.
        let frames = interface.link_type & 0xffff;
        let carried = self.cells.map(|encapsulation| Carried { link_type: frames, encapsulation });
        for word in [if carried.is_some() { CELL_LINK_TYPE } else { frames }, 0] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        self.option(9, &[9]);
        if self.offset != 0 {
            let offset = self.offset.to_le_bytes();
            self.option(14, &offset);
        }
        if let Some(name) = &interface.name {
            self.option(2, name.as_bytes());
        }
        if let Some(carried) = carried {
            self.option(3, carried.description().as_bytes());
        }
        self.end_of_options();
        self.interfaces += 1;
        self.finish_block(1)
    }

    /// Adds an option; a text that is longer than one can be is cut off.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.padded(value);
    }

    fn end_of_options(&mut self) {
        self.block.extend_from_slice(&[0; 4]);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes what has been gathered as a block of this kind.
    fn finish_block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.output.write_all(&kind.to_le_bytes())?;
        self.output.write_all(&length)?;
        self.output.write_all(&self.block)?;
        self.output.write_all(&length)?;
        self.block.clear();
        Ok(())
    }
}
