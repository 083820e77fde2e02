//! The measured load of controlled load: the largest sample of a time window.
//!
//! **Law**: the load is at least every sample of the last full window, and at least what was added by admission until a window passed. One
//! flow adds at most its peak rate and two packets, whatever it sends.
//!
//! **Source**: S. Jamin, P. Danzig, S. Shenker, L. Zhang, "A measurement-based admission control algorithm for integrated services packet
//! networks", IEEE/ACM Transactions on Networking 5(1), 1997, section III: the time-window estimator.
//!
//! **State**: 96 bytes per link, 24 per flow.
//!
//! **Cost**: O(1) per departure; two multiplications, no division. After an idle time the samples that were missed, at most two windows.
//!
//! **RTL twin**: none.
//!
//! **Deviations**: the limit to the declared peak is ours. Without it one flow that sends 10 Mbit/s closes a link of 10 Mbit/s to all others. The load is
//! kept in picobits (10^-12 bit) per sample, so that bits and rates add up exactly.

use crate::units::{Duration, PICOSECONDS_PER_SECOND, Rate, Time, TimePerByte};

/// Limits what is counted of one flow: a token bucket of two packets, filled at the peak rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeakBucket {
    /// When the bucket is full again.
    full: Time,
    time_per_byte: TimePerByte,
    /// In bytes.
    longest_packet: u32,
}

impl PeakBucket {
    /// A full bucket. `longest_packet` is in bits.
    pub(super) fn new(peak: Rate, longest_packet: u64) -> PeakBucket {
        let longest_packet = longest_packet.div_ceil(8).min(u64::from(crate::units::MAX_BYTES)) as u32;
        PeakBucket { full: Time::ZERO, time_per_byte: peak.time_per_byte(), longest_packet }
    }

    /// Fills the bucket; called before its first packet, and when `full` is far in the past.
    pub(super) fn fill(&mut self, now: Time) {
        self.full = now;
    }

    /// Fills the bucket if it is full already at `now`: then `full` compares correctly for another horizon.
    pub(super) fn refresh(&mut self, now: Time) {
        if self.full.is_before(now) {
            self.full = now;
        }
    }

    /// True if a packet of this many bytes counts: the bucket holds a longest packet at least.
    #[inline]
    fn takes(&mut self, bytes: u32, now: Time) -> bool {
        let missing = self.full.since(now);
        if missing > self.time_per_byte.floor(self.longest_packet) {
            return false;
        }
        // Rounded down, so that a flow at exactly its peak rate is counted in full.
        self.full = now + missing + self.time_per_byte.floor(bytes);
        true
    }
}

/// The time-window estimator of one link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadMeasurement {
    /// `S`.
    sample: Duration,
    /// `T/S`, the samples of a window.
    samples: u32,
    /// The samples taken in this window.
    taken: u32,
    /// The end of the sample that runs, once there is one.
    end: Option<Time>,
    /// What the running sample has counted, in bits.
    bits: u64,
    /// The largest sample of this window, in picobits per sample.
    largest: u128,
    /// The measured load `nu`, in picobits per sample.
    load: u128,
}

impl LoadMeasurement {
    pub(super) fn new(sample: Duration, samples: u32) -> LoadMeasurement {
        LoadMeasurement { sample, samples, taken: 0, end: None, bits: 0, largest: 0, load: 0 }
    }

    /// True once a sample runs.
    #[inline]
    pub(super) fn has_started(&self) -> bool {
        self.end.is_some()
    }

    /// Ends the samples that are over at `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Time) {
        match self.end {
            Some(end) if now.is_before(end) => {}
            _ => self.catch_up(now),
        }
    }

    fn catch_up(&mut self, now: Time) {
        let Some(mut end) = self.end else {
            self.end = Some(now + self.sample);
            return;
        };
        // After two windows without a packet all is zero, and the samples begin anew.
        let mut steps = 2 * self.samples;
        while !now.is_before(end) {
            if steps == 0 {
                (end, self.taken) = (now, 0);
            } else {
                self.end_sample();
                steps -= 1;
            }
            end += self.sample;
        }
        self.end = Some(end);
    }

    fn end_sample(&mut self) {
        let sample = u128::from(self.bits) * u128::from(PICOSECONDS_PER_SECOND);
        self.bits = 0;
        self.largest = self.largest.max(sample);
        self.load = self.load.max(sample);
        self.taken += 1;
        if self.taken == self.samples {
            self.load = self.largest;
            self.restart();
        }
    }

    /// Counts a packet of `bits` of a flow, within the limit of its bucket.
    #[inline]
    pub(super) fn count(&mut self, bits: u32, now: Time, bucket: &mut PeakBucket) {
        if bucket.takes(bits.div_ceil(8), now) {
            self.bits += u64::from(bits);
        }
    }

    /// Adds the peak rate of a flow that is admitted, in bit/s, and restarts the window.
    pub(super) fn add(&mut self, peak: u64) {
        self.load += u128::from(peak) * u128::from(self.sample.picoseconds());
        self.restart();
    }

    fn restart(&mut self) {
        (self.largest, self.taken) = (0, 0);
    }

    /// The measured load `nu` in bit/s, rounded up.
    pub(super) fn load(&self) -> u64 {
        self.load.div_ceil(u128::from(self.sample.picoseconds())).try_into().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a second, ten in a window.
    fn measurement() -> LoadMeasurement {
        LoadMeasurement::new(Duration::from_seconds(1), 10)
    }

    fn after(ms: u64) -> Time {
        Time::ZERO + Duration::from_milliseconds(ms)
    }

    #[test]
    fn a_larger_sample_raises_the_load_and_a_window_replaces_it() {
        let mut measured = measurement();
        let mut second = 0;
        let mut take = |measured: &mut LoadMeasurement, bits| {
            measured.bits += bits;
            second += 1;
            measured.advance(after(1000 * second));
            measured.load()
        };
        measured.advance(Time::ZERO);
        assert_eq!([1, 3, 2].map(|bits| take(&mut measured, bits)), [1, 3, 3]);
        measured.add(5);
        assert_eq!(measured.load(), 8);
        assert_eq!([4; 10].map(|bits| take(&mut measured, bits)), [8, 8, 8, 8, 8, 8, 8, 8, 8, 4]);
    }

    #[test]
    fn the_load_of_an_idle_link_is_zero_after_two_windows() {
        let mut measured = measurement();
        measured.advance(Time::ZERO);
        measured.bits = 7;
        measured.advance(after(1_000));
        measured.advance(after(10_999));
        assert_eq!(measured.load(), 7);
        measured.advance(after(20_000));
        assert_eq!(measured.load(), 0);
        measured.bits = 5;
        measured.advance(after(1_000_500));
        assert_eq!((measured.load(), measured.end), (0, Some(after(1_001_500))));
    }

    /// 1000 bit at 1 kbit/s: one packet a second; a flow that sends ten times as much counts once, after two at once.
    #[test]
    fn a_flow_counts_up_to_its_peak_rate() {
        let count = |gap_ms: u64| {
            let mut bucket = PeakBucket::new(Rate::MIN, 1_000);
            let mut measured = measurement();
            (0..100_000 / gap_ms).for_each(|packet| measured.count(1_000, after(packet * gap_ms), &mut bucket));
            measured.bits / 1_000
        };
        assert_eq!([2_000, 1_000, 500, 100].map(count), [50, 100, 101, 101]);
    }
}
