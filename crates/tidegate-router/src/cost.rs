//! What a stage costs a packet: the mean by length, times a factor from the packet's row.
//!
//! **Law.** A row is drawn once per packet, never column by column, so the costs of one packet are correlated as they were measured or chosen.
//! Every product is rounded to the nearest picosecond, stage by stage: the service of a level is exactly the sum of its functions.

use crate::machine::{Machine, Variation, Work};
use crate::packet::Packet;
use std::ops::Range;
use tidegate_core::fault;
use tidegate_sim::random::Stream;

/// Rows that are drawn for a synthetic variation. Each column is scaled to a mean of exactly 1.
const SYNTHETIC_ROWS: usize = 4096;

/// Rounds picoseconds to the nearest.
fn round(picoseconds: f64) -> u64 {
    (picoseconds + 0.5) as u64
}

/// Converts work on a machine to picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    cycle: f64,
    memory_scale: f64,
}

impl Clock {
    pub(crate) fn new(machine: &Machine) -> Clock {
        Clock { cycle: 1e12 / machine.clock_hz as f64, memory_scale: machine.memory_scale }
    }

    /// The time that the work takes.
    pub(crate) fn time(&self, work: Work) -> u64 {
        round(self.picoseconds(work))
    }

    fn picoseconds(&self, work: Work) -> f64 {
        work.cycles * self.cycle + work.memory.picoseconds() as f64 * self.memory_scale
    }
}

#[derive(Clone, Copy, Debug)]
struct StageMean {
    base: f64,
    per_byte: f64,
}

/// Factors, row by row, with a column per stage.
#[derive(Clone, Debug, Default)]
struct Rows {
    factors: Vec<f32>,
    count: u64,
}

impl Rows {
    fn new(rows: &[Vec<f64>]) -> Rows {
        Rows { factors: rows.iter().flatten().map(|&factor| factor as f32).collect(), count: rows.len() as u64 }
    }

    #[inline]
    fn factor(&self, draw: u32, stage: usize, stages: usize) -> f64 {
        let row = (u64::from(draw) * self.count) >> 32;
        f64::from(self.factors[row as usize * stages + stage])
    }
}

/// The costs of the path.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    means: Vec<StageMean>,
    woken: Rows,
    batched: Rows,
    is_independent: bool,
}

impl Costs {
    /// The name of the stream that draws synthetic rows.
    pub(crate) const STREAM: &'static str = "rows of costs";

    /// The costs of a machine. `stream` draws the rows of a synthetic variation.
    pub(crate) fn new(machine: &Machine, stream: &mut Stream) -> Costs {
        let clock = Clock::new(machine);
        let route_bits = libm::log2(machine.routes as f64);
        let mean = |stage: &crate::machine::Stage| StageMean {
            base: clock.picoseconds(Work { cycles: stage.cycles, memory: stage.memory })
                + stage.per_route_bit.picoseconds() as f64 * route_bits,
            per_byte: stage.per_byte.picoseconds() as f64,
        };
        let means: Vec<StageMean> = machine.stages.iter().map(mean).collect();
        let (woken, batched, is_independent) = match &machine.variation {
            Variation::None => (Rows::default(), Rows::default(), false),
            &Variation::Lognormal { common, own, independent } => {
                (Rows::default(), lognormal(common, own, means.len(), stream), independent)
            }
            Variation::Rows { woken, batched } => (Rows::new(woken), Rows::new(batched), false),
        };
        Costs { means, woken, batched, is_independent }
    }

    /// What one stage costs a packet.
    #[inline]
    pub(crate) fn stage(&self, packet: &Packet, stage: usize) -> u64 {
        let mean = self.means[stage];
        let cost = mean.base + mean.per_byte * f64::from(packet.length);
        let rows = if packet.woken && self.woken.count > 0 { &self.woken } else { &self.batched };
        if rows.count == 0 {
            return round(cost);
        }
        let draw = if self.is_independent || fault!(RouterDrawsColumns) { another_draw(packet.draw, stage) } else { packet.draw };
        round(cost * rows.factor(draw, stage, self.means.len()))
    }

    /// What consecutive stages cost a packet together.
    #[inline]
    pub(crate) fn stages(&self, packet: &Packet, stages: Range<usize>) -> u64 {
        stages.map(|stage| self.stage(packet, stage)).sum()
    }
}

/// Rows of lognormal factors whose columns share a part.
fn lognormal(common: f64, own: f64, stages: usize, stream: &mut Stream) -> Rows {
    let mut factors = Vec::with_capacity(SYNTHETIC_ROWS * stages);
    let mut sums = vec![0.0; stages];
    for _ in 0..SYNTHETIC_ROWS {
        let shared = common * stream.normal();
        for sum in &mut sums {
            let factor = libm::exp(shared + own * stream.normal());
            *sum += factor;
            factors.push(factor);
        }
    }
    let scaled = |(index, factor): (usize, f64)| (factor * SYNTHETIC_ROWS as f64 / sums[index % stages]) as f32;
    Rows { factors: factors.into_iter().enumerate().map(scaled).collect(), count: SYNTHETIC_ROWS as u64 }
}

/// A draw for one stage that is independent of those for others, from a packet's one draw: the finaliser of MurmurHash3.
fn another_draw(draw: u32, stage: usize) -> u32 {
    let mut mixed = draw.wrapping_add((stage as u32 + 1).wrapping_mul(0x9e37_79b9));
    mixed = (mixed ^ (mixed >> 16)).wrapping_mul(0x85eb_ca6b);
    mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35);
    mixed ^ (mixed >> 16)
}

#[cfg(test)]
mod tests;
