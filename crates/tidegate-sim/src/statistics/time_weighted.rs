//! A quantity that changes at instants: its mean over time, its maximum and its samples.

/// A quantity over time. Instants are picoseconds from the start of the simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct TimeWeighted {
    value: u64,
    /// The instant up to which `integral` reaches.
    since: u64,
    /// The sum of value times picoseconds since `start`.
    integral: u128,
    start: u64,
    maximum: u64,
    interval: u64,
    /// The end of the current sample, and the integral at its beginning.
    sample_end: u64,
    sample_base: u128,
    samples: Vec<f64>,
}

impl TimeWeighted {
    /// A quantity of 0, sampled every `interval` picoseconds; 0 for not at all.
    pub(crate) fn new(interval: u64) -> TimeWeighted {
        TimeWeighted {
            value: 0,
            since: 0,
            integral: 0,
            start: 0,
            maximum: 0,
            interval,
            sample_end: if interval == 0 { u64::MAX } else { interval },
            sample_base: 0,
            samples: Vec::new(),
        }
    }

    /// The quantity at present.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// The quantity becomes `value` at `now`.
    #[inline]
    pub(crate) fn set(&mut self, now: u64, value: u64) {
        if now >= self.sample_end {
            self.sample(now);
        }
        self.integral += u128::from(self.value) * u128::from(now - self.since);
        self.since = now;
        self.value = value;
        self.maximum = self.maximum.max(value);
    }

    /// The quantity was `value` for no time at all.
    pub(crate) fn touch(&mut self, value: u64) {
        self.maximum = self.maximum.max(value);
    }

    #[cold]
    fn sample(&mut self, now: u64) {
        while now >= self.sample_end {
            self.integral += u128::from(self.value) * u128::from(self.sample_end - self.since);
            self.since = self.sample_end;
            self.samples.push(self.integral.wrapping_sub(self.sample_base) as f64 / self.interval as f64);
            self.sample_base = self.integral;
            self.sample_end += self.interval;
        }
    }

    /// Forgets mean and maximum up to `now`; samples are kept.
    pub(crate) fn restart(&mut self, now: u64) {
        self.set(now, self.value);
        // The present sample began before the restart: a base below zero, on the wrapping axis, keeps its first part.
        self.start = now;
        self.maximum = self.value;
        self.sample_base = self.sample_base.wrapping_sub(self.integral);
        self.integral = 0;
    }

    /// Brings the quantity up to the end of the simulation.
    pub(crate) fn finish(&mut self, end: u64) {
        self.set(end, self.value);
    }

    /// The mean over the time since the warm-up; 0 over no time.
    pub fn mean(&self) -> f64 {
        if self.since == self.start { 0.0 } else { self.integral as f64 / (self.since - self.start) as f64 }
    }

    /// The greatest value since the warm-up, even if held for no time.
    pub fn maximum(&self) -> u64 {
        self.maximum
    }

    /// The mean of each sample interval from the start of the simulation.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }
}

#[cfg(test)]
mod tests;
