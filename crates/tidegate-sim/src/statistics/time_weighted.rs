//! A quantity that changes at instants: its mean over time, its maximum and its course.

/// A quantity over time. Instants are picoseconds from the start of the simulation.
#[derive(Clone, PartialEq, Debug)]
pub struct TimeWeighted {
    value: u64,
    /// Up to when `integral` reaches.
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

    /// Forgets mean and maximum up to `now`; the course is kept.
    pub(crate) fn restart(&mut self, now: u64) {
        self.set(now, self.value);
        // The sample under way began before the restart: a base below zero, on the wrapping axis, keeps its part so far.
        self.start = now;
        self.maximum = self.value;
        self.sample_base = self.sample_base.wrapping_sub(self.integral);
        self.integral = 0;
    }

    /// Brings the quantity up to the end of the simulation.
    pub(crate) fn finish(&mut self, end: u64) {
        self.set(end, self.value);
    }

    /// The mean over the time since the warm-up; 0 if that is no time.
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
mod tests {
    use super::*;

    #[test]
    fn mean_and_maximum_start_with_the_restart_and_samples_do_not() {
        let mut quantity = TimeWeighted::new(10);
        quantity.set(2, 100);
        quantity.set(5, 10);
        quantity.set(12, 20);
        quantity.restart(15);
        quantity.set(18, 0);
        quantity.finish(45);
        // From 15 to 18 at 20, then nothing.
        assert_eq!(quantity.mean(), 60.0 / 30.0);
        assert_eq!(quantity.maximum(), 20);
        // 3 at 100 and 5 at 10; 2 at 10 and 6 at 20; silence twice; the half sample at the end is left out.
        assert_eq!(quantity.samples(), [35.0, 14.0, 0.0, 0.0]);
    }

    #[test]
    fn no_time_has_no_mean() {
        let mut quantity = TimeWeighted::new(0);
        quantity.set(7, 3);
        quantity.restart(7);
        assert_eq!(quantity.mean(), 0.0);
        assert_eq!(quantity.maximum(), 3);
        assert!(quantity.samples().is_empty());
    }
}
