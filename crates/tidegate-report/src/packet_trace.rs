//! The steps of packets as a Parquet file, one row each; the unit of a column is in its name.

use crate::columnar::{Column, Table, Values};
use std::io::{self, Write};

/// The rows of a row group.
const ROWS: usize = 1 << 17;

/// A step of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketStep<'a> {
    /// When it happens, from the start of the run.
    pub time_ps: u64,
    /// What happens: `offered`, `coloured`, `marked`, `queued`, `dropped`, `started`, `lost`, `copied` or `delivered`.
    pub event: &'a str,
    /// The number of the packet.
    pub packet: u64,
    /// The name of its flow.
    pub flow: &'a str,
    /// It is on the way back: an acknowledgement.
    pub is_answer: bool,
    /// The link; `None` at the end of the path.
    pub link: Option<&'a str>,
    /// Its class at the port of the link.
    pub class: Option<&'a str>,
    /// The number of its queue there.
    pub queue: Option<u32>,
    /// Bytes of its frame.
    pub bytes: u32,
    /// `green`, `yellow` or `red`, after the step.
    pub colour: &'a str,
    /// `not-ect`, `ect0`, `ect1` or `ce`, after the step.
    pub ecn: &'a str,
    /// Why it was dropped.
    pub reason: Option<&'a str>,
    /// Bytes queued at the port after it has joined or left its queue.
    pub backlog_bytes: Option<u64>,
    /// When its last bit leaves the port.
    pub finish_ps: Option<u64>,
    /// When its sender sent it.
    pub created_ps: u64,
}

/// Writes steps to a Parquet file, some 130,000 at a time.
pub struct PacketTrace<'a, W: Write + Send> {
    table: Table<W>,
    rows: Vec<PacketStep<'a>>,
}

impl<'a, W: Write + Send> PacketTrace<'a, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(sink: W) -> io::Result<PacketTrace<'a, W>> {
        Ok(PacketTrace { table: Table::new(&columns(&[]), sink).map_err(io::Error::other)?, rows: Vec::with_capacity(ROWS) })
    }

    /// Adds a step.
    ///
    /// # Errors
    /// If a row group is complete and cannot be written.
    pub fn add(&mut self, step: PacketStep<'a>) -> io::Result<()> {
        self.rows.push(step);
        if self.rows.len() == ROWS { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.table.write(&columns(&self.rows)).map_err(io::Error::other)?;
        self.rows.clear();
        Ok(())
    }

    /// Writes what is left, and ends the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.write()?;
        self.table.finish().map_err(io::Error::other)
    }
}

fn columns<'a>(rows: &[PacketStep<'a>]) -> [Column<'a>; 15] {
    let count = |value: fn(&PacketStep) -> u64| Values::Count(rows.iter().map(value).collect());
    let maybe = |value: fn(&PacketStep) -> Option<u64>| Values::OptionalCount(rows.iter().map(value).collect());
    let text = |value: fn(&PacketStep<'a>) -> &'a str| Values::Text(rows.iter().map(value).collect());
    let maybe_text = |value: fn(&PacketStep<'a>) -> Option<&'a str>| Values::OptionalText(rows.iter().map(value).collect());
    let column = |name, values| Column { name, values };
    [
        column("time_ps", count(|step| step.time_ps)),
        column("event", text(|step| step.event)),
        column("packet", count(|step| step.packet)),
        column("flow", text(|step| step.flow)),
        column("answer", Values::OptionalFlag(rows.iter().map(|step| Some(step.is_answer)).collect())),
        column("link", maybe_text(|step| step.link)),
        column("class", maybe_text(|step| step.class)),
        column("queue", maybe(|step| step.queue.map(u64::from))),
        column("bytes", count(|step| step.bytes.into())),
        column("colour", text(|step| step.colour)),
        column("ecn", text(|step| step.ecn)),
        column("reason", maybe_text(|step| step.reason)),
        column("backlog_bytes", maybe(|step| step.backlog_bytes)),
        column("finish_ps", maybe(|step| step.finish_ps)),
        column("created_ps", count(|step| step.created_ps)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn a_file_has_all_steps_in_groups() {
        let step = PacketStep {
            time_ps: 1,
            event: "offered",
            packet: 0,
            flow: "voice",
            is_answer: false,
            link: Some("line"),
            class: None,
            queue: Some(3),
            bytes: 200,
            colour: "green",
            ecn: "not-ect",
            reason: None,
            backlog_bytes: None,
            finish_ps: None,
            created_ps: 1,
        };
        let mut trace = PacketTrace::new(Vec::new()).unwrap();
        (0..ROWS as u64 + 5).for_each(|packet| trace.add(PacketStep { packet, ..step }).unwrap());
        let reader = SerializedFileReader::new(bytes::Bytes::from(trace.finish().unwrap())).unwrap();
        let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(rows, [ROWS as i64, 5]);
        let last = reader.get_row_iter(None).unwrap().last().unwrap().unwrap().to_string();
        assert!(last.contains(&format!("packet: {}", ROWS + 4)) && last.contains("class: null") && last.contains("queue: 3"), "{last}");
    }
}
