//! What the sender of a connection has done and measured.

/// What the sender has done and measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// Segments sent, again or for the first time.
    pub segments: u64,
    /// Bytes of data in them.
    pub bytes: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    /// Recoveries that duplicate acknowledgements began.
    pub recoveries: u64,
    /// Reductions that congestion marks asked for.
    pub marks: u64,
    /// Round-trip times measured: how many, their sum, the least and the greatest, in picoseconds.
    pub round_trips: (u64, u64, u64, u64),
}

impl Counts {
    pub(crate) fn measure(&mut self, round_trip: u64) {
        let (count, sum, least, greatest) = &mut self.round_trips;
        *least = if *count == 0 { round_trip } else { round_trip.min(*least) };
        *greatest = round_trip.max(*greatest);
        *count += 1;
        *sum += round_trip;
    }

    /// What has been added since `before`. Round-trip times stay as they are: they are counted anew from the end of the warm-up.
    pub(crate) fn since(self, before: Counts) -> Counts {
        Counts {
            segments: self.segments - before.segments,
            bytes: self.bytes - before.bytes,
            retransmissions: self.retransmissions - before.retransmissions,
            timeouts: self.timeouts - before.timeouts,
            recoveries: self.recoveries - before.recoveries,
            marks: self.marks - before.marks,
            round_trips: self.round_trips,
        }
    }
}
