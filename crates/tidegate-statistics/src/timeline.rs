//! Time lines: a quantity over time in bins whose width adapts to the length of the run.

use tidegate_core::units::PICOSECONDS_PER_SECOND;

/// A quantity over elapsed time, in at most [`Timeline::BINS`] bins unless fewer are asked for. When a run outgrows them, neighbours merge and the width doubles,
/// so a second and a decade both fit, each with the resolution a plot can show.
///
/// ```
/// use tidegate_statistics::Timeline;
/// let mut bytes = Timeline::sum(1_000_000_000_000); // one-second bins
/// bytes.add(500_000_000_000, 100.0);
/// bytes.add(1_500_000_000_000, 50.0);
/// assert_eq!(bytes.points(), [(0.0, 100.0), (1.0, 50.0)]);
/// ```
#[derive(Clone, Debug)]
pub struct Timeline {
    width: u128,
    bins: Vec<f64>,
    /// The most bins.
    most: usize,
    merge: fn(f64, f64) -> f64,
}

impl Timeline {
    /// The most bins kept of any.
    pub const BINS: usize = 2048;

    /// A time line that adds up what falls into a bin; bins start `width` picoseconds wide.
    pub fn sum(width: u64) -> Timeline {
        Timeline::new(width, |a, b| a + b)
    }

    /// A time line that keeps the largest value of a bin.
    pub fn maximum(width: u64) -> Timeline {
        Timeline::new(width, f64::max)
    }

    fn new(width: u64, merge: fn(f64, f64) -> f64) -> Timeline {
        Timeline { width: u128::from(width.max(1)), bins: Vec::new(), most: Timeline::BINS, merge }
    }

    /// The same with at most this many bins, at least 2.
    #[must_use]
    pub fn with_bins(self, most: usize) -> Timeline {
        Timeline { most: most.clamp(2, Timeline::BINS), ..self }
    }

    /// Adds `value` at `elapsed` picoseconds after the start.
    pub fn add(&mut self, elapsed: u128, value: f64) {
        while elapsed / self.width >= self.most as u128 {
            self.widen();
        }
        if self.bins.capacity() == 0 {
            self.bins.reserve_exact(self.most);
        }
        let bin = (elapsed / self.width) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0.0);
        }
        self.bins[bin] = (self.merge)(self.bins[bin], value);
    }

    fn widen(&mut self) {
        self.width *= 2;
        // In place, so that the packets that a recorder observes do not wait for memory.
        for bin in 0..self.bins.len().div_ceil(2) {
            let right = self.bins.get(2 * bin + 1).copied();
            let left = self.bins[2 * bin];
            self.bins[bin] = right.map_or(left, |right| (self.merge)(left, right));
        }
        self.bins.truncate(self.bins.len().div_ceil(2));
    }

    /// Adds another time line of the same kind and first width, bin by bin. Of maxima the sum comes out: what both are at most.
    pub fn plus(&mut self, mut other: Timeline) {
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), 0.0);
        }
        self.bins.iter_mut().zip(other.bins).for_each(|(sum, value)| *sum += value);
    }

    /// Adds `value` to every bin from `from` to `to`, both in picoseconds after the start.
    pub fn fill(&mut self, from: u128, to: u128, value: f64) {
        self.add(to, value);
        for bin in (from / self.width)..(to / self.width) {
            let at = bin as usize;
            self.bins[at] = (self.merge)(self.bins[at], value);
        }
    }

    /// The width of a bin in seconds.
    pub fn width_seconds(&self) -> f64 {
        self.width as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// The bins as (start in seconds, value).
    pub fn points(&self) -> Vec<(f64, f64)> {
        self.bins.iter().enumerate().map(|(i, &value)| (i as f64 * self.width_seconds(), value)).collect()
    }
}

#[cfg(test)]
mod tests;
