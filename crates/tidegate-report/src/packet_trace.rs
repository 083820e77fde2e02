//! The steps of packets as a Parquet file, one row each; the unit of a column is in its name.

use crate::columnar::{self, Column, Encoded, Table, Values};
use parquet::basic::Encoding;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::io::{self, Write};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

/// The rows of a row group.
const ROWS: usize = 1 << 17;

/// Steps that become columns together: few enough to be in a cache still.
const CHUNK: usize = 1 << 10;

/// A step of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketStep<'a> {
    /// When it happens, from the start of the run.
    pub time_ps: u64,
    /// What happens: `offered`, `coloured`, `marked`, `queued`, `dropped`, `started`, `lost`, `copied` or `delivered`.
    pub event: &'a str,
    /// The number of the packet.
    pub packet: u64,
    /// The name of its flow, or of the workload of its connection.
    pub flow: &'a str,
    /// The number of its connection among those of the workload; `None` for a flow.
    pub connection: Option<u64>,
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

/// Writes steps to a Parquet file, some 130,000 at a time, in a thread of its own.
pub struct PacketTrace<'a, W: Write + Send + 'static> {
    /// Steps that are no columns yet.
    rows: Vec<PacketStep<'a>>,
    columns: Vec<Encoded>,
    /// The rows of `columns`.
    count: usize,
    groups: Option<SyncSender<Vec<Encoded>>>,
    writer: Option<JoinHandle<io::Result<W>>>,
}

impl<'a, W: Write + Send + 'static> PacketTrace<'a, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(sink: W) -> io::Result<PacketTrace<'a, W>> {
        let none = columns(&[]);
        let mut table = Table::new(&none, sink, layout()).map_err(io::Error::other)?;
        let (groups, of_groups) = mpsc::sync_channel::<Vec<Encoded>>(1);
        let write = move || {
            for group in of_groups {
                table.write(&group).map_err(io::Error::other)?;
            }
            table.finish().map_err(io::Error::other)
        };
        let writer = thread::Builder::new().name("tidegate-trace".into()).spawn(write)?;
        let columns = none.iter().map(|column| Encoded::like(&column.values)).collect();
        Ok(PacketTrace { rows: Vec::with_capacity(CHUNK), columns, count: 0, groups: Some(groups), writer: Some(writer) })
    }

    /// Adds a step.
    ///
    /// # Errors
    /// If an earlier row group could not be written.
    pub fn add(&mut self, step: PacketStep<'a>) -> io::Result<()> {
        self.rows.push(step);
        if self.rows.len() < CHUNK {
            return Ok(());
        }
        self.encode();
        if self.count < ROWS { Ok(()) } else { self.pass_on() }
    }

    fn encode(&mut self) {
        self.columns.iter_mut().zip(columns(&self.rows)).for_each(|(encoded, column)| encoded.append(&column.values));
        self.count += self.rows.len();
        self.rows.clear();
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.count = 0;
        let group = self.columns.iter_mut().map(Encoded::take).collect();
        match self.groups.as_ref().map(|groups| groups.send(group)) {
            Some(Ok(())) => Ok(()),
            // The thread has ended because it could not write.
            _ => Err(self.end().err().unwrap_or_else(|| io::Error::other("the file has ended"))),
        }
    }

    /// Waits for the thread.
    fn end(&mut self) -> io::Result<W> {
        drop(self.groups.take());
        let ended =
            self.writer.take().map(|writer| writer.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes panicked"))));
        ended.unwrap_or_else(|| Err(io::Error::other("the file could not be written before")))
    }

    /// Writes what is left, and ends the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.encode();
        self.pass_on()?;
        self.end()
    }
}

/// Instants, numbers of packets and backlogs are written as differences: they hardly repeat, and a dictionary of them would cost more than all else. Texts
/// have no statistics, which nothing asks for.
fn layout() -> WriterProperties {
    let differences = ["time_ps", "packet", "connection", "backlog_bytes", "finish_ps", "created_ps"];
    let texts = ["event", "flow", "link", "class", "colour", "ecn", "reason"];
    let layout = differences.into_iter().fold(columnar::properties(), |layout, name| {
        let column = ColumnPath::from(name);
        layout.set_column_dictionary_enabled(column.clone(), false).set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
    });
    texts.into_iter().fold(layout, |layout, name| layout.set_column_statistics_enabled(name.into(), EnabledStatistics::None)).build()
}

fn columns<'a>(rows: &[PacketStep<'a>]) -> [Column<'a>; 16] {
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
        column("connection", maybe(|step| step.connection)),
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

    const STEP: PacketStep<'static> = PacketStep {
        time_ps: 1,
        event: "offered",
        packet: 0,
        flow: "voice",
        connection: None,
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

    #[test]
    fn a_file_has_all_steps_in_groups() {
        let mut trace = PacketTrace::new(Vec::new()).unwrap();
        (0..ROWS as u64 + 5).for_each(|packet| trace.add(PacketStep { packet, ..STEP }).unwrap());
        let reader = SerializedFileReader::new(bytes::Bytes::from(trace.finish().unwrap())).unwrap();
        let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(rows, [ROWS as i64, 5]);
        let last = reader.get_row_iter(None).unwrap().last().unwrap().unwrap().to_string();
        assert!(last.contains(&format!("packet: {}", ROWS + 4)) && last.contains("class: null") && last.contains("queue: 3"), "{last}");
    }

    /// A device that is full after some bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_ended_the_file_is_said() {
        let mut trace = PacketTrace::new(Full(1000)).unwrap();
        let added = (0..10 * ROWS as u64).try_for_each(|packet| trace.add(PacketStep { packet, ..STEP }));
        assert!(added.unwrap_err().to_string().contains("no storage space"), "a full device ends the trace before its end");
        assert!(trace.finish().is_err());
        assert!(PacketTrace::new(Full(1000)).and_then(PacketTrace::finish).is_err(), "a table without rows is longer");
    }
}
