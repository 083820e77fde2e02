//! What BBR knows of the path: bandwidth, round trip, aggregation, and the bounds that losses have set.
//!
//! **Source.** draft-ietf-ccwg-bbr (August 2026), sections 5.5 (the model) and 5.5.10 (its response to losses).

use crate::tcp::delivery::Sample;
use std::collections::VecDeque;

/// The share of a bound that a round of losses leaves at least.
pub(super) const BETA: f64 = 0.7;
/// The share of losses that a probe for bandwidth may cause.
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
/// The share of the long-term bound that is left to others.
const HEADROOM: f64 = 0.15;
/// The least window, in segments.
pub(super) const MIN_WINDOW: f64 = 4.0;
/// How long a round trip is valid, and how long until it is probed, in picoseconds.
const ROUND_TRIP_LIFETIME: u64 = 10_000_000_000_000;
const PROBE_INTERVAL: u64 = 5_000_000_000_000;
/// Rounds for which a measured aggregation is valid.
const AGGREGATION_LIFETIME: u64 = 10;

/// The model. Rates are in segments per picosecond, volumes in segments.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// The greatest rates of the probing cycle before and of this one.
    rates: [f64; 2],
    /// The least round trip, and when it was measured.
    pub round_trip: Option<u64>,
    round_trip_at: u64,
    /// The least since the last probe of the round trip, when it was measured, and whether another probe is due.
    recent_round_trip: Option<u64>,
    pub recent_round_trip_at: u64,
    pub is_probe_due: bool,
    pub round: u64,
    /// Segments delivered so far.
    delivered: u64,
    round_ends: u64,
    pub begins_round: bool,
    /// The same for rounds that begin with a loss.
    loss_round_ends: u64,
    pub begins_loss_round: bool,
    is_loss_in_round: bool,
    /// The greatest rate and volume delivered in this round.
    latest_rate: f64,
    pub latest_volume: f64,
    /// What losses have shown to be safe: now, and from probe to probe.
    short_rate: f64,
    pub short_volume: f64,
    pub long_volume: f64,
    /// The bandwidth to send at.
    pub bandwidth: f64,
    /// Since when more has been acknowledged than the bandwidth accounts for, and how much; the greatest excess of each round.
    surplus_since: u64,
    surplus_delivered: f64,
    surplus: VecDeque<(u64, f64)>,
}

/// The rate of a sample; 0 if it measures nothing.
pub(super) fn rate_of(sample: &Sample, least: Option<u64>) -> f64 {
    let is_valid = sample.interval > 0 && least.is_none_or(|least| sample.interval >= least);
    if is_valid { sample.delivered as f64 / sample.interval as f64 } else { 0.0 }
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            rates: [0.0; 2],
            round_trip: None,
            round_trip_at: 0,
            recent_round_trip: None,
            recent_round_trip_at: 0,
            is_probe_due: false,
            round: 0,
            delivered: 0,
            round_ends: 0,
            begins_round: false,
            loss_round_ends: 0,
            begins_loss_round: false,
            is_loss_in_round: false,
            latest_rate: 0.0,
            latest_volume: 0.0,
            short_rate: f64::INFINITY,
            short_volume: f64::INFINITY,
            long_volume: f64::INFINITY,
            bandwidth: 0.0,
            surplus_since: 0,
            surplus_delivered: 0.0,
            surplus: VecDeque::new(),
        }
    }

    pub(super) fn begin(&mut self, now: u64) {
        (self.round_trip_at, self.recent_round_trip_at, self.surplus_since) = (now, now, now);
    }

    pub(super) fn max_rate(&self) -> f64 {
        self.rates[0].max(self.rates[1])
    }

    /// The product of a rate and the round trip; `None` before there is one.
    pub(super) fn product(&self, rate: f64) -> Option<f64> {
        self.round_trip.map(|round_trip| rate * round_trip as f64)
    }

    /// A round begins with what is delivered of what is sent from now on.
    pub(super) fn start_round(&mut self) {
        self.round_ends = self.delivered;
    }

    pub(super) fn note_loss(&mut self) {
        if !self.is_loss_in_round {
            self.loss_round_ends = self.delivered;
        }
        self.is_loss_in_round = true;
    }

    /// Segments are delivered: the first that an acknowledgement does.
    pub(super) fn deliver(&mut self, sample: &Sample) {
        self.delivered = sample.total;
    }

    /// Its rates and rounds.
    pub(super) fn on_sample(&mut self, sample: &Sample, rate: f64) {
        self.latest_rate = self.latest_rate.max(rate);
        self.latest_volume = self.latest_volume.max(sample.delivered as f64);
        self.begins_loss_round = sample.delivered > 0 && sample.prior >= self.loss_round_ends;
        if self.begins_loss_round {
            self.loss_round_ends = sample.total;
        }
        self.begins_round = sample.delivered > 0 && sample.prior >= self.round_ends;
        if self.begins_round {
            self.start_round();
            self.round += 1;
        }
        if rate > 0.0 && (rate >= self.max_rate() || !sample.is_limited) {
            self.rates[1] = self.rates[1].max(rate);
        }
    }

    /// A round of losses is over. Unless the connection probes for bandwidth, it adapts to what is delivered.
    pub(super) fn on_loss_round(&mut self, window: f64, probes: bool) {
        if self.is_loss_in_round && !probes {
            let bound = |short: f64, usual: f64, latest: f64| latest.max(BETA * if short == f64::INFINITY { usual } else { short });
            self.short_rate = bound(self.short_rate, self.max_rate(), self.latest_rate);
            self.short_volume = bound(self.short_volume, window, self.latest_volume);
        }
        self.is_loss_in_round = false;
    }

    /// The last part of an acknowledgement.
    pub(super) fn advance(&mut self, sample: &Sample, rate: f64) {
        if self.begins_loss_round {
            (self.latest_rate, self.latest_volume) = (rate, sample.delivered as f64);
        }
        self.bandwidth = self.max_rate().min(self.short_rate);
    }

    pub(super) fn forget_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.latest_rate, self.latest_volume) = (0.0, 0.0);
    }

    pub(super) fn forget_short_term(&mut self) {
        (self.short_rate, self.short_volume) = (f64::INFINITY, f64::INFINITY);
    }

    /// A probing cycle is over.
    pub(super) fn next_cycle(&mut self) {
        self.rates = [self.rates[1], 0.0];
    }

    pub(super) fn measure_round_trip(&mut self, now: u64, sample: &Sample) {
        self.is_probe_due = now > self.recent_round_trip_at + PROBE_INTERVAL;
        if let Some(measured) = sample.round_trip
            && (self.is_probe_due || self.recent_round_trip.is_none_or(|least| measured < least))
        {
            (self.recent_round_trip, self.recent_round_trip_at) = (Some(measured), now);
        }
        let is_old = now > self.round_trip_at + ROUND_TRIP_LIFETIME;
        if let Some(recent) = self.recent_round_trip
            && (is_old || self.round_trip.is_none_or(|least| recent < least))
        {
            (self.round_trip, self.round_trip_at) = (Some(recent), self.recent_round_trip_at);
        }
    }

    /// What has been acknowledged beyond the bandwidth, and the greatest such volume of the last rounds.
    pub(super) fn measure_aggregation(&mut self, now: u64, sample: &Sample, window: f64, is_full: bool) {
        let expected = |since: u64| self.bandwidth * (now - since) as f64;
        if self.surplus_delivered <= expected(self.surplus_since) {
            (self.surplus_delivered, self.surplus_since) = (0.0, now);
        }
        self.surplus_delivered += sample.news as f64;
        let excess = (self.surplus_delivered - self.bandwidth * (now - self.surplus_since) as f64).min(window);
        while self.surplus.back().is_some_and(|last| last.1 <= excess) {
            self.surplus.pop_back();
        }
        self.surplus.push_back((self.round, excess));
        let lifetime = if is_full { AGGREGATION_LIFETIME } else { 1 };
        while self.surplus.front().is_some_and(|first| first.0 + lifetime < self.round) {
            self.surplus.pop_front();
        }
    }

    /// Nothing was in flight: the next acknowledgements say nothing of aggregation.
    pub(super) fn restart_aggregation(&mut self, now: u64) {
        self.surplus_since = now;
    }

    pub(super) fn aggregation(&self) -> f64 {
        self.surplus.front().map_or(0.0, |first| first.1)
    }

    /// The long-term bound, less what is left to others.
    pub(super) fn with_headroom(&self) -> f64 {
        if self.long_volume == f64::INFINITY {
            return f64::INFINITY;
        }
        (self.long_volume - (HEADROOM * self.long_volume).max(1.0)).max(MIN_WINDOW)
    }
}
