//! One TCP connection in one replication.

use super::{Histogram, TimeWeighted};
use crate::tcp::counts::Counts;
use tidegate_core::port::Volume;

/// What the two ends of a connection did, from the end of the warm-up.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TcpStatistics {
    /// Bytes of data that arrived, each once, when they arrived: in order or not.
    pub delivered: u64,
    /// Segments sent.
    pub segments: u64,
    /// Of them, those sent again.
    pub retransmissions: u64,
    /// How often the retransmission timer fired.
    pub timeouts: u64,
    /// How often duplicate acknowledgements began a recovery.
    pub recoveries: u64,
    /// How often a congestion mark reduced the window.
    pub marks: u64,
    /// The number of measured round-trip times and their sum, in picoseconds; segments that were sent twice are not measured.
    pub round_trips: (u64, u64),
    /// The least and the greatest of them in picoseconds; 0 if there is none.
    pub round_trip_range: (u64, u64),
    /// Times of complete transfers: from the request, or from the first byte written, to the last byte delivered.
    pub completions: Histogram,
    /// The mean congestion window in bytes; `None` if there are no series.
    pub cwnd_mean: Option<f64>,
    /// The mean congestion window in bytes in each sample interval from the start of the simulation.
    pub cwnd_over_time: Vec<f64>,
    /// What came back: acknowledgements and requests sent, and of them those that were lost. From the start of the simulation.
    pub acknowledgements: (Volume, Volume),
}

impl TcpStatistics {
    /// The mean round-trip time in seconds; `None` if none was measured.
    pub fn mean_round_trip(&self) -> Option<f64> {
        let (count, sum) = self.round_trips;
        (count > 0).then(|| sum as f64 / count as f64 / 1e12)
    }

    /// What the sending end did, what its congestion window was, what arrived at the receiving end, and what came back.
    pub(crate) fn of(
        (counts, cwnd): (Counts, Option<TimeWeighted>),
        (delivered, completions): (u64, Histogram),
        back: &AckMeter,
    ) -> TcpStatistics {
        let (count, total, least, greatest) = counts.round_trips;
        TcpStatistics {
            delivered,
            segments: counts.segments,
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            recoveries: counts.recoveries,
            marks: counts.marks,
            round_trips: (count, total),
            round_trip_range: (least, greatest),
            completions,
            cwnd_mean: cwnd.as_ref().map(|cwnd| cwnd.mean()),
            cwnd_over_time: cwnd.map_or_else(Vec::new, |cwnd| cwnd.samples().to_vec()),
            acknowledgements: (back.emitted, back.lost),
        }
    }
}

/// Counts what takes one direction of a connection, from the start of the simulation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckMeter {
    pub emitted: Volume,
    /// Copies that links made.
    pub duplicated: Volume,
    pub delivered: Volume,
    pub lost: Volume,
}

impl AckMeter {
    /// True if nothing is under way.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.emitted.packets + self.duplicated.packets == self.delivered.packets + self.lost.packets
    }

    /// Adds what was counted in another part of the network.
    pub(crate) fn absorb(&mut self, other: AckMeter) {
        self.emitted += other.emitted;
        self.duplicated += other.duplicated;
        self.delivered += other.delivered;
        self.lost += other.lost;
    }

    /// What is under way; `None` if more came out than went in, which only a defect can cause.
    pub(crate) fn under_way(&self) -> Option<Volume> {
        let gone = self.delivered + self.lost;
        let all = self.emitted + self.duplicated;
        (gone.packets <= all.packets && gone.bytes <= all.bytes).then(|| all - gone)
    }
}
