//! How fast the network delivers: a sample of the rate with every acknowledgement, for congestion controls that want to know.
//!
//! **Law.** A sample never exceeds the rate at which the network delivered, nor that at which the segments in question were sent: it is taken over
//! the longer of the two times, so acknowledgements that come in bursts do not make a network look fast.
//!
//! **Source.** draft-cheng-iccrg-delivery-rate-estimation-00, sections 2 and 3, in segments.
//!
//! **State.** 40 bytes per segment of the receiver's window, and seven words.
//!
//! **Cost.** A record written when a segment is sent and read when it is delivered.
//!
//! **Deviations.** A segment that a timeout has made to be sent again counts once more when that one arrives, because what the receiver had reported
//! is forgotten then.

/// What was known when a segment was sent. Instants are in picoseconds, deliveries in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// When; 0 if it has been delivered since.
    at: u64,
    /// How many segments had been delivered then, and when the last of them was.
    delivered: u64,
    delivered_at: u64,
    /// When the segment was sent whose delivery was the latest then: what was sent since is what the sample is about.
    first_sent: u64,
    is_limited: bool,
    is_repeated: bool,
}

/// What one acknowledgement says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sample {
    /// Segments that this acknowledgement is the first to speak of.
    pub news: u64,
    /// Segments delivered so far.
    pub total: u64,
    /// Segments delivered so far when the segment was sent that has been delivered now, the latest sent of them.
    pub prior: u64,
    /// Segments delivered since, and how long that took in picoseconds; 0 if it cannot be said.
    pub delivered: u64,
    pub interval: u64,
    /// The round trip of that segment in picoseconds, if it was sent only once.
    pub round_trip: Option<u64>,
    /// True if the application, and not the network, may have been what kept the rate down.
    pub is_limited: bool,
    /// Segments estimated to have been in flight before the acknowledgement came, and to be in flight now.
    pub in_flight_before: u64,
    pub in_flight: u64,
    /// True if a segment was found to be lost.
    pub is_loss: bool,
    /// True until all is well again after a loss.
    pub is_recovering: bool,
}

/// Counts deliveries of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Deliveries {
    /// By segment number, going round.
    sent: Box<[Sent]>,
    total: u64,
    latest_at: u64,
    first_sent: u64,
    /// Up to how many deliveries samples may be too low for want of data; 0 if they are not.
    limited_to: u64,
    /// The record of the acknowledgement under way: the latest sent segment that it delivers.
    latest: Option<Sent>,
    news: u64,
}

impl Deliveries {
    /// For a window of this many segments.
    pub(crate) fn new(window: u64) -> Deliveries {
        let length = (window + 1).next_power_of_two() as usize;
        let sent = vec![Sent::default(); length].into();
        Deliveries { sent, total: 0, latest_at: 0, first_sent: 0, limited_to: 0, latest: None, news: 0 }
    }

    fn place(&self, segment: u64) -> usize {
        segment as usize & (self.sent.len() - 1)
    }

    /// A segment is sent, the first time or again; `is_alone` if nothing else is in flight.
    pub(crate) fn send(&mut self, now: u64, segment: u64, is_alone: bool, is_repeated: bool) {
        if is_alone {
            (self.first_sent, self.latest_at) = (now, now);
        }
        let place = self.place(segment);
        self.sent[place] = Sent {
            at: now.max(1),
            delivered: self.total,
            delivered_at: self.latest_at,
            first_sent: self.first_sent,
            is_limited: self.limited_to > 0,
            is_repeated,
        };
    }

    /// The application has no more to send while the window has room for it.
    pub(crate) fn limit(&mut self, in_flight: u64) {
        self.limited_to = (self.total + in_flight).max(1);
    }

    /// The acknowledgement under way is the first to report this segment.
    pub(crate) fn deliver(&mut self, now: u64, segment: u64) {
        let place = self.place(segment);
        let sent = std::mem::take(&mut self.sent[place]);
        if sent.at == 0 {
            return;
        }
        self.total += 1;
        self.news += 1;
        self.latest_at = now;
        if self.latest.is_none_or(|latest| sent.delivered >= latest.delivered) {
            self.latest = Some(sent);
            self.first_sent = sent.at;
        }
    }

    /// All that the acknowledgement reports has been told: what it says of the rate.
    pub(crate) fn sample(&mut self, now: u64) -> Sample {
        if self.total > self.limited_to {
            self.limited_to = 0;
        }
        let mut sample = Sample { news: std::mem::take(&mut self.news), total: self.total, ..Sample::default() };
        if let Some(sent) = self.latest.take() {
            sample.prior = sent.delivered;
            sample.delivered = self.total - sent.delivered;
            sample.interval = (sent.at - sent.first_sent.min(sent.at)).max(now - sent.delivered_at);
            sample.round_trip = (!sent.is_repeated).then(|| now - sent.at);
            sample.is_limited = sent.is_limited;
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn the_rate_is_that_of_the_bottleneck_however_acknowledgements_come() {
        // A segment per millisecond leaves, passes the bottleneck, and is acknowledged 10 ms after it left; the last four acknowledgements together.
        let mut meter = Deliveries::new(64);
        for segment in 1..=20 {
            meter.send(segment * MS, segment, segment == 1, false);
        }
        let mut sample = Sample::default();
        for segment in 1..=16 {
            meter.deliver((segment + 10) * MS, segment);
            sample = meter.sample((segment + 10) * MS);
        }
        // Segment 16 left when none had been delivered: 15 segments' time to send, 25 ms until they were.
        assert_eq!((sample.news, sample.total, sample.prior, sample.delivered), (1, 16, 0, 16));
        assert_eq!((sample.interval, sample.round_trip), (25 * MS, Some(10 * MS)));
        for segment in 17..=20 {
            meter.deliver(30 * MS, segment);
        }
        let burst = meter.sample(30 * MS);
        assert_eq!((burst.news, burst.delivered, burst.interval), (4, 20, 29 * MS));
    }

    #[test]
    fn in_the_steady_state_as_many_are_delivered_in_a_round_trip_as_were_sent() {
        let mut meter = Deliveries::new(64);
        let mut last = Sample::default();
        for now in 1..200u64 {
            if now > 10 {
                meter.deliver(now * MS, now - 10);
                last = meter.sample(now * MS);
            }
            meter.send(now * MS, now, now == 1, false);
        }
        assert_eq!((last.delivered, last.interval), (10, 10 * MS));
        assert!(!last.is_limited);
    }

    #[test]
    fn what_is_sent_again_measures_no_round_trip_and_want_of_data_is_remembered() {
        let mut meter = Deliveries::new(8);
        meter.send(MS, 1, true, false);
        meter.limit(1);
        meter.send(5 * MS, 1, false, true);
        meter.deliver(9 * MS, 1);
        let sample = meter.sample(9 * MS);
        assert_eq!((sample.news, sample.round_trip, sample.is_limited), (1, None, true));
        // Reported before: nothing new.
        meter.deliver(10 * MS, 1);
        assert_eq!(meter.sample(10 * MS).news, 0);
        // Whatever is delivered beyond what was in flight when data ran out ends the want; what was sent until then remembers it.
        meter.send(11 * MS, 2, true, false);
        meter.deliver(12 * MS, 2);
        let sample = meter.sample(12 * MS);
        assert_eq!((sample.delivered, sample.interval, sample.is_limited), (1, MS, true));
        meter.send(13 * MS, 3, true, false);
        meter.deliver(14 * MS, 3);
        assert!(!meter.sample(14 * MS).is_limited);
    }
}
