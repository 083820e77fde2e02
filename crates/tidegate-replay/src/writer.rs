//! Writing captures as pcapng with nanosecond timestamps and comments.

use crate::capture::Interface;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::PcapNgBlock;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// Writes packets to a pcapng file of one section.
pub struct CaptureWriter<W: Write> {
    writer: PcapNgWriter<W>,
    interfaces: usize,
    packets: u64,
}

impl<W: Write> CaptureWriter<W> {
    /// Begins a file; `comment` says what it holds.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn new(output: W, comment: &str) -> io::Result<CaptureWriter<W>> {
        let section = SectionHeaderBlock {
            options: vec![
                SectionHeaderOption::UserApplication(Cow::Borrowed(concat!("Tidegate ", env!("CARGO_PKG_VERSION")))),
                SectionHeaderOption::Common(CommonOption::Comment(Cow::Borrowed(comment))),
            ],
            ..SectionHeaderBlock::default()
        };
        Ok(CaptureWriter {
            writer: PcapNgWriter::with_section_header(output, section).map_err(io::Error::other)?,
            interfaces: 0,
            packets: 0,
        })
    }

    /// Writes one packet of interface number `interface` of `interfaces`; interfaces are described when they are first needed.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write(
        &mut self,
        interfaces: &[Interface],
        interface: usize,
        nanoseconds: u64,
        length: u32,
        data: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        while self.interfaces <= interface {
            let described = &interfaces[self.interfaces];
            let mut block = InterfaceDescriptionBlock::new(DataLink::from(described.link_type), 0);
            block.options.push(InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO));
            if let Some(name) = &described.name {
                block.options.push(InterfaceDescriptionOption::IfName(Cow::Borrowed(name)));
            }
            self.writer.write_block(&block.into_block()).map_err(io::Error::other)?;
            self.interfaces += 1;
        }
        let comment = comment.map(|text| EnhancedPacketOption::Common(CommonOption::Comment(Cow::Borrowed(text))));
        let block = EnhancedPacketBlock {
            interface_id: interface as u32,
            timestamp: Duration::from_nanos(nanoseconds),
            original_len: length,
            data: Cow::Borrowed(data),
            options: comment.into_iter().collect(),
        };
        self.writer.write_block(&block.into_block()).map_err(io::Error::other)?;
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
    pub fn finish(self) -> io::Result<W> {
        let mut output = self.writer.into_inner();
        output.flush()?;
        Ok(output)
    }
}
