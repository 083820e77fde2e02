//! A run as a waveform: the ports of the design in every cycle, as a value change dump (IEEE 1800, clause 21.7) that any viewer opens.
//!
//! Values are those just before the edge that ends the cycle. Two units of time are one cycle.

use crate::design::{Design, PortNumber};
use crate::layout::bit;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A port and its width in bits.
pub struct Line {
    pub name: &'static str,
    pub port: PortNumber,
    pub bits: usize,
}

/// A dump that is being written.
pub struct Trace<Output: Write = BufWriter<File>> {
    output: Output,
    /// Each with its last value.
    lines: Vec<(Line, Vec<u8>)>,
}

/// The identifier of a line in the dump; the clock has the first one.
fn mark(index: usize) -> char {
    char::from(b'!' + index as u8)
}

impl Trace {
    /// A dump of these lines in a new file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path, lines: Vec<Line>) -> io::Result<Trace> {
        Trace::new(BufWriter::new(File::create(path)?), lines)
    }
}

impl<Output: Write> Trace<Output> {
    fn new(mut output: Output, lines: Vec<Line>) -> io::Result<Trace<Output>> {
        writeln!(output, "$timescale 1ns $end\n$scope module design $end\n$var wire 1 {} clk_i $end", mark(0))?;
        for (index, line) in lines.iter().enumerate() {
            writeln!(output, "$var wire {} {} {} $end", line.bits, mark(index + 1), line.name)?;
        }
        writeln!(output, "$upscope $end\n$enddefinitions $end")?;
        Ok(Trace { output, lines: lines.into_iter().map(|line| (line, Vec::new())).collect() })
    }

    /// Notes what has changed by this cycle.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn sample(&mut self, design: &Design, cycle: u64) -> io::Result<()> {
        self.note(cycle, |port| design.bits(port))
    }

    fn note<'a>(&mut self, cycle: u64, value: impl Fn(PortNumber) -> &'a [u8]) -> io::Result<()> {
        let (output, clock) = (&mut self.output, mark(0));
        writeln!(output, "#{}\n0{clock}", 2 * cycle)?;
        for (index, (line, last)) in self.lines.iter_mut().enumerate() {
            let value = value(line.port);
            if value != last.as_slice() {
                last.clear();
                last.extend_from_slice(value);
                let digits: String = (0..line.bits).rev().map(|at| if bit(value, at) { '1' } else { '0' }).collect();
                writeln!(output, "b{digits} {}", mark(index + 1))?;
            }
        }
        writeln!(output, "#{}\n1{clock}", 2 * cycle + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_noted() {
        let line = |name, number, bits| Line { name, port: PortNumber(number), bits };
        let mut trace = Trace::new(Vec::new(), vec![line("a", 0, 1), line("b", 1, 12)]).unwrap();
        for (cycle, b) in [[0x34, 0x02], [0x34, 0x02], [0x35, 0x02]].iter().enumerate() {
            trace.note(cycle as u64, |port| if port == PortNumber(0) { &[1] } else { b }).unwrap();
        }
        let text = String::from_utf8(trace.output).unwrap();
        let (head, changes) = text.split_once("$enddefinitions $end\n").unwrap();
        assert!(head.contains("$var wire 12 # b $end"));
        assert_eq!(changes, "#0\n0!\nb1 \"\nb001000110100 #\n#1\n1!\n#2\n0!\n#3\n1!\n#4\n0!\nb001000110101 #\n#5\n1!\n");
    }
}
