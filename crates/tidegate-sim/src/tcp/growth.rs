//! How far an acknowledgement of several segments lets the window grow: the effect of delayed acknowledgements on Reno and CUBIC.
//!
//! **Law.** With one acknowledgement per segment all choices are the same. With one per b segments, [`Growth::PerAck`] grows b times as slowly in
//! congestion avoidance. Under a share p of random losses its rate is then sqrt(3 / (2 b p)) segments per round trip; the others behave as if b
//! were 1.
//!
//! **Source.** RFC 5681, section 3.1 (equations 2 and 3, and the recommendation to count bytes); RFC 3465 (appropriate byte counting). Linux
//! `tcp_slow_start` and `tcp_cong_avoid_ai`. Padhye, Firoiu, Towsley and Kurose, SIGCOMM 1998, equation 20 (the law).

tidegate_core::fields! {
    /// What of an acknowledgement counts.
    #[derive(Default)]
    pub enum Growth {
        /// Every acknowledgement counts as one segment.
        PerAck = "per-ack",
        /// Segments count in congestion avoidance, acknowledgements in slow start.
        #[default]
        Rfc5681 = "rfc5681",
        /// Segments count in both.
        Linux = "linux",
    }
}

impl Growth {
    /// One sentence: what delayed acknowledgements do.
    pub const fn summary(self) -> &'static str {
        match self {
            Growth::PerAck => "each acknowledgement counts as one segment: delayed ones halve the growth (RFC 5681, equation 3)",
            Growth::Rfc5681 => {
                "segments count in congestion avoidance, which delayed acknowledgements do not slow, and acknowledgements in slow start"
            }
            Growth::Linux => "segments count in slow start too, so delayed acknowledgements slow neither (Linux)",
        }
    }

    /// What `acked` segments count in congestion avoidance.
    #[inline]
    pub(crate) fn in_avoidance(self, acked: u64) -> u64 {
        if self == Growth::PerAck { 1 } else { acked }
    }

    /// What `acked` segments count in slow start.
    #[inline]
    pub(crate) fn in_slow_start(self, acked: u64) -> u64 {
        if self == Growth::Linux { acked } else { 1 }
    }
}
