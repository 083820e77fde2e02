//! What engines report to their hosts, as the words of their outputs.

use crate::layout::{Record, bit, field};

/// The streams whose heads were dropped, and then the one that is served, if any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Ascending.
    pub drops: Vec<usize>,
    pub served: Option<Served>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    pub stream: usize,
    pub timestamp: u16,
}

impl Report {
    pub fn dropped(drops: Vec<usize>) -> Report {
        Report { drops, served: None }
    }

    /// A decision alone.
    pub fn served(stream: usize, timestamp: u16) -> Report {
        Report { drops: Vec::new(), served: Some(Served { stream, timestamp }) }
    }
}

/// How an engine packs its reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reports {
    /// One word per decision, with a bit for each stream whose head was dropped before: `decision_t`.
    Mask,
    /// A word of drops for every tile that has some, with a bit per lane; another for the decision.
    Tiles { round_bits: usize, lanes: usize },
    /// A word for every drop, and one for the decision: the number of the stream, the time, and the bit that marks a drop.
    Events { id_bits: usize, drop_bit: usize },
}

impl Reports {
    /// Reads a word.
    pub fn decode(self, bits: &[u8]) -> Report {
        match self {
            Reports::Mask => {
                let record = Record::decode(bits);
                let served = record.winner.map(|stream| Served { stream: stream as usize, timestamp: record.timestamp });
                Report { drops: (0..32).filter(|stream| record.drops >> stream & 1 == 1).collect(), served }
            }
            Reports::Tiles { round_bits, lanes } => {
                let id_bits = round_bits + lanes.trailing_zeros() as usize;
                if bit(bits, (round_bits + lanes).max(id_bits + 16)) {
                    let tile = field(bits, lanes, round_bits) as usize;
                    Report::dropped((0..lanes).filter(|&lane| bit(bits, lane)).map(|lane| tile * lanes + lane).collect())
                } else {
                    Report::served(field(bits, 0, id_bits) as usize, field(bits, id_bits, 16) as u16)
                }
            }
            Reports::Events { id_bits, drop_bit } => {
                let stream = field(bits, 0, id_bits) as usize;
                if bit(bits, drop_bit) { Report::dropped(vec![stream]) } else { Report::served(stream, field(bits, id_bits, 16) as u16) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let tiles = Reports::Tiles { round_bits: 2, lanes: 4 };
        // The kind is bit 20 = max(2 + 4, 4 + 16).
        assert_eq!(tiles.decode(&[0b10_0101, 0, 0x10, 0]), Report::dropped(vec![8, 10]));
        assert_eq!(tiles.decode(&[0x7b, 0x56, 0x04, 0]), Report::served(11, 0x4567));
        let events = Reports::Events { id_bits: 4, drop_bit: 20 };
        assert_eq!(events.decode(&[0x0b, 0, 0x10, 0]), Report::dropped(vec![11]));
        assert_eq!(events.decode(&[0x7b, 0x56, 0x04, 0]), Report::served(11, 0x4567));
    }
}
