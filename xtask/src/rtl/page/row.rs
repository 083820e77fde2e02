//! A row of the page: an architecture in one size, measured.

use crate::rtl::design::Variant;
use crate::rtl::plot::grouped;
use crate::rtl::results::{Outcome, Placement};

/// An architecture in one size, measured.
pub struct Row {
    pub variant: &'static Variant,
    pub streams: u32,
    pub outcome: Outcome,
}

impl Row {
    /// As sentences call it.
    pub fn shown(&self) -> String {
        format!("{} with {}", self.variant.title, grouped(u64::from(self.streams)))
    }

    /// Clock in MHz: the median of the seeds.
    pub fn median(&self) -> f64 {
        median(&self.outcome.placements)
    }

    pub fn cycles(&self) -> u32 {
        (self.variant.cycles)(self.streams)
    }

    /// Millions of decisions per second at a clock in MHz.
    pub fn rate(&self, megahertz: f64) -> f64 {
        megahertz / f64::from(self.cycles())
    }

    /// Nanoseconds from one decision to the next, at the median clock.
    pub fn period(&self) -> f64 {
        1000.0 / self.rate(self.median())
    }
}

/// The median clock in MHz.
pub fn median(placements: &[Placement]) -> f64 {
    let mut all: Vec<f64> = placements.iter().map(|placement| placement.megahertz).collect();
    all.sort_by(f64::total_cmp);
    let middle = all.len() / 2;
    if all.len() % 2 == 1 { all[middle] } else { f64::midpoint(all[middle - 1], all[middle]) }
}

/// The best clock in MHz.
pub fn best(placements: &[Placement]) -> f64 {
    placements.iter().map(|placement| placement.megahertz).fold(0.0, f64::max)
}
