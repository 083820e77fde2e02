//! The delivery rate of the network: a sample with every acknowledgement, for congestion controls that measure.
//!
//! **Law.** A sample never exceeds the rate at which the network delivered, nor the rate at which the segments in question were sent. It is taken over
//! the longer of the two times, so bursts of acknowledgements do not make a network look fast.
//!
//! **Source.** draft-cheng-iccrg-delivery-rate-estimation-00, sections 2 and 3, in segments.
//!
//! **State.** 48 bytes per segment of the receiver's window, and seven words.
//!
//! **Cost.** A record written when a segment is sent and read when it is delivered.
//!
//! **Deviations.** A segment that is sent again after a timeout counts once more when it arrives, because a timeout forgets the receiver's
//! reports.

/// What was known when a segment was sent. Instants are in picoseconds, deliveries in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    /// When; 0 if it has been delivered since.
    at: u64,
    /// The segments delivered by then, and the instant of the last delivery.
    delivered: u64,
    delivered_at: u64,
    /// When the segment with the latest delivery was sent: the sample covers what was sent since.
    first_sent: u64,
    is_limited: bool,
    is_repeated: bool,
    /// What was in flight then, itself included, and the segments found to be lost by then.
    in_flight: u32,
    lost: u32,
}

/// The sample of one acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sample {
    /// Segments that this acknowledgement is the first to report.
    pub news: u64,
    pub total: u64,
    /// Segments delivered when the latest sent of the segments delivered now was sent.
    pub prior: u64,
    /// Segments delivered since, and the time of that in picoseconds; 0 if unknown.
    pub delivered: u64,
    pub interval: u64,
    /// The round trip of that segment in picoseconds, if it was sent only once.
    pub round_trip: Option<u64>,
    /// True if the application, not the network, may have limited the rate.
    pub is_limited: bool,
    /// Segments estimated to have been in flight before the acknowledgement came, and to be in flight now.
    pub in_flight_before: u64,
    pub in_flight: u64,
    /// Segments in flight when the latest sent of the segments delivered now was sent, itself included, and segments lost since.
    pub sent_in_flight: u64,
    pub lost: u64,
    /// Segments found to be lost since the last sample.
    pub newly_lost: u64,
    /// True if the window has held back a segment since the last sample.
    pub is_window_limited: bool,
    /// True if a segment was found to be lost.
    pub is_loss: bool,
    /// True from a loss to the end of the recovery.
    pub is_recovering: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Deliveries {
    /// A ring, by segment number.
    sent: Box<[Sent]>,
    total: u64,
    latest_at: u64,
    first_sent: u64,
    /// Segments found to be lost, and those of them that the last sample had.
    lost: u64,
    lost_before: u64,
    /// The number of deliveries up to which samples may be too low for lack of data; 0 if they are not.
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
        Deliveries { sent, total: 0, latest_at: 0, first_sent: 0, lost: 0, lost_before: 0, limited_to: 0, latest: None, news: 0 }
    }

    fn place(&self, segment: u64) -> usize {
        segment as usize & (self.sent.len() - 1)
    }

    /// This many segments have been found to be lost so far.
    pub(crate) fn lose(&mut self, total: u64) {
        self.lost = total;
    }

    /// A segment is sent, the first time or again; `is_alone` if nothing else is in flight, where `in_flight` includes it.
    pub(crate) fn send(&mut self, now: u64, segment: u64, is_alone: bool, is_repeated: bool, in_flight: u64) {
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
            in_flight: in_flight as u32,
            lost: self.lost as u32,
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

    /// True if data ran out, and not all that was in flight then is delivered.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited_to > 0
    }

    /// The sample, once all that the acknowledgement reports has been delivered.
    pub(crate) fn sample(&mut self, now: u64) -> Sample {
        if self.total > self.limited_to {
            self.limited_to = 0;
        }
        let mut sample = Sample { news: std::mem::take(&mut self.news), total: self.total, ..Sample::default() };
        sample.newly_lost = self.lost - std::mem::replace(&mut self.lost_before, self.lost);
        if let Some(sent) = self.latest.take() {
            sample.prior = sent.delivered;
            sample.delivered = self.total - sent.delivered;
            sample.interval = (sent.at - sent.first_sent.min(sent.at)).max(now - sent.delivered_at);
            sample.round_trip = (!sent.is_repeated).then(|| now - sent.at);
            sample.is_limited = sent.is_limited;
            sample.sent_in_flight = u64::from(sent.in_flight);
            sample.lost = u64::from((self.lost as u32).wrapping_sub(sent.lost));
        }
        sample
    }
}

#[cfg(test)]
mod tests;
