//! Completed connections as a Parquet file, one row each; the unit of a column is in its name.

use crate::columnar::{self, Column, Encoded, Table, Values};
use std::io::{self, Write};

/// The rows of a row group.
const ROWS: usize = 1 << 16;

/// A connection that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompletedConnection<'a> {
    /// The replication, from 1.
    pub replication: u32,
    /// Its workload.
    pub workload: &'a str,
    /// Its number among those of the workload, from 0.
    pub connection: u64,
    /// Its round, from 0: connections of one round began at one instant.
    pub round: u64,
    /// Its sender.
    pub from: &'a str,
    /// Its receiver.
    pub to: &'a str,
    /// Its data in bytes.
    pub bytes: u64,
    /// When it arrived, from the start of the run.
    pub began_ps: u64,
    /// From there to the last byte at the receiver.
    pub time_ps: u64,
    /// How long it takes alone.
    pub ideal_ps: u64,
}

/// Writes connections to a Parquet file, some 65,000 at a time.
pub struct CompletionLog<'a, W: Write + Send> {
    rows: Vec<CompletedConnection<'a>>,
    table: Table<W>,
}

impl<'a, W: Write + Send> CompletionLog<'a, W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(sink: W) -> io::Result<CompletionLog<'a, W>> {
        let table = Table::new(&columns(&[]), sink, columnar::properties().build()).map_err(io::Error::other)?;
        Ok(CompletionLog { rows: Vec::new(), table })
    }

    /// Adds a connection.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, connection: CompletedConnection<'a>) -> io::Result<()> {
        self.rows.push(connection);
        if self.rows.len() < ROWS { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        let columns = columns(&self.rows);
        let mut encoded: Vec<Encoded> = columns.iter().map(|column| Encoded::like(&column.values)).collect();
        encoded.iter_mut().zip(&columns).for_each(|(encoded, column)| encoded.append(&column.values));
        self.rows.clear();
        self.table.write(&encoded).map_err(io::Error::other)
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

fn columns<'a>(rows: &[CompletedConnection<'a>]) -> [Column<'a>; 11] {
    let count = |value: fn(&CompletedConnection) -> u64| Values::Count(rows.iter().map(value).collect());
    let text = |value: fn(&CompletedConnection<'a>) -> &'a str| Values::Text(rows.iter().map(value).collect());
    let column = |name, values| Column { name, values };
    [
        column("replication", count(|row| row.replication.into())),
        column("workload", text(|row| row.workload)),
        column("connection", count(|row| row.connection)),
        column("round", count(|row| row.round)),
        column("from", text(|row| row.from)),
        column("to", text(|row| row.to)),
        column("bytes", count(|row| row.bytes)),
        column("began_ps", count(|row| row.began_ps)),
        column("time_ps", count(|row| row.time_ps)),
        column("ideal_ps", count(|row| row.ideal_ps)),
        column("slowdown", Values::Number(rows.iter().map(|row| row.time_ps as f64 / row.ideal_ps.max(1) as f64).collect())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn connections_are_read_back() {
        let mut log = CompletionLog::new(Vec::new()).unwrap();
        for number in 0..70_000 {
            let row = CompletedConnection {
                replication: 1,
                workload: "web",
                connection: number,
                round: number,
                from: "a",
                to: "b",
                bytes: 1000 + number,
                began_ps: 7 * number,
                time_ps: 3_000,
                ideal_ps: 1_000,
            };
            log.add(row).unwrap();
        }
        let reader = SerializedFileReader::new(bytes::Bytes::from(log.finish().unwrap())).unwrap();
        assert_eq!((reader.num_row_groups(), reader.metadata().file_metadata().num_rows()), (2, 70_000));
        let last: Vec<(String, Field)> = reader.get_row_iter(None).unwrap().last().unwrap().unwrap().into_columns();
        assert_eq!(last[6], ("bytes".into(), Field::ULong(70_999)));
        assert_eq!(last[10], ("slowdown".into(), Field::Double(3.0)));
    }
}
