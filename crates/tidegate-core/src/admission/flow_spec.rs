//! The request for a flow: its path, its traffic specification, the delay or rate that it asks for, and the service.

use crate::units::{Duration, Rate};
use core::cmp::Reverse;
use core::fmt;

/// The largest burst of a traffic specification: 2^33 bits, 1 GiB.
pub const MAX_BURST_BITS: u64 = 1 << 33;

/// The traffic specification (TSpec) of RFC 2215: in any `t` seconds at most `min(longest_packet + peak * t, burst + rate * t)` bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrafficSpec {
    longest_packet: u64,
    shortest_packet: u64,
    burst: u64,
    rate: Rate,
    peak: Rate,
}

/// Why a traffic specification has no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TrafficError {
    /// The longest packet has no bits.
    NoPacket,
    /// The shortest packet is longer than the longest.
    ShortestAboveLongest,
    /// The burst is smaller than the longest packet.
    BurstBelowPacket,
    /// The burst exceeds [`MAX_BURST_BITS`].
    BurstTooLarge,
    /// The peak rate is below the sustained rate.
    PeakBelowRate,
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrafficError::NoPacket => "the longest packet has at least 1 bit",
            TrafficError::ShortestAboveLongest => "the shortest packet is at most the longest",
            TrafficError::BurstBelowPacket => "the burst is at least the longest packet",
            TrafficError::BurstTooLarge => "the burst is at most 2^33 bits",
            TrafficError::PeakBelowRate => "the peak rate is at least the sustained rate",
        })
    }
}

impl core::error::Error for TrafficError {}

impl TrafficSpec {
    /// Longest packet `M` and burst `b` in bits, sustained rate `r`, peak rate `p`.
    ///
    /// ```
    /// use tidegate_core::admission::{TrafficError, TrafficSpec};
    /// use tidegate_core::units::Rate;
    ///
    /// let mbps = |mbps: u64| Rate::new(mbps * 1_000_000).unwrap();
    /// assert!(TrafficSpec::new(12_000, 120_000, mbps(1), mbps(10)).is_ok());
    /// assert_eq!(TrafficSpec::new(12_000, 120_000, mbps(10), mbps(1)), Err(TrafficError::PeakBelowRate));
    /// ```
    ///
    /// # Errors
    /// Unless `0 < M <= b <= 2^33` and `r <= p`.
    pub const fn new(longest_packet: u64, burst: u64, rate: Rate, peak: Rate) -> Result<TrafficSpec, TrafficError> {
        if longest_packet == 0 {
            Err(TrafficError::NoPacket)
        } else if burst < longest_packet {
            Err(TrafficError::BurstBelowPacket)
        } else if burst > MAX_BURST_BITS {
            Err(TrafficError::BurstTooLarge)
        } else if peak.bits_per_second() < rate.bits_per_second() {
            Err(TrafficError::PeakBelowRate)
        } else {
            Ok(TrafficSpec { longest_packet, shortest_packet: 0, burst, rate, peak })
        }
    }

    /// The longest packet `M`, in bits.
    pub const fn longest_packet(&self) -> u64 {
        self.longest_packet
    }

    /// The shortest packet `m`, in bits; 0 if it is unknown.
    pub const fn shortest_packet(&self) -> u64 {
        self.shortest_packet
    }

    /// The same traffic with packets of at least `m` bits.
    ///
    /// # Errors
    /// If `m` is above the longest packet.
    pub const fn with_shortest_packet(self, m: u64) -> Result<TrafficSpec, TrafficError> {
        if m > self.longest_packet {
            return Err(TrafficError::ShortestAboveLongest);
        }
        Ok(TrafficSpec { shortest_packet: m, ..self })
    }

    /// The burst `b`, in bits.
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// The sustained rate `r`; for controlled load the paper's `rho`.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The same traffic with another burst.
    ///
    /// # Errors
    /// As [`TrafficSpec::new`].
    pub const fn with_burst(&self, burst: u64) -> Result<TrafficSpec, TrafficError> {
        self.with(burst, self.rate, self.peak)
    }

    /// Packets of the same lengths with other values.
    pub(super) const fn with(&self, burst: u64, rate: Rate, peak: Rate) -> Result<TrafficSpec, TrafficError> {
        match TrafficSpec::new(self.longest_packet, burst, rate, peak) {
            Ok(traffic) => traffic.with_shortest_packet(self.shortest_packet),
            Err(error) => Err(error),
        }
    }

    /// The peak rate `p`.
    pub const fn peak(&self) -> Rate {
        self.peak
    }
}

/// What a guaranteed flow asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Target {
    /// A bound on its delay, from the arrival at the first port to the end of the last link. Admission computes the rate.
    Delay(Duration),
    /// A rate `R` at every hop, in bit/s, at least the sustained rate. Admission computes the delay, and reserves `R`.
    Rate(u64),
}

/// The service that a flow asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Service {
    /// Guaranteed service (RFC 2212): a proven delay, and no loss of conforming packets.
    Guaranteed,
    /// Controlled load (RFC 2211): as on a lightly loaded link. Admission is by measurement; there is no proven delay.
    ControlledLoad,
}

/// The request for a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSpec<'a> {
    /// The caller's name of the flow.
    pub id: u64,
    /// The ports that it passes, in order; none twice. Where admission knows the classes of a port, the queues that it passes.
    pub path: &'a [u32],
    /// Other paths that it may take, which a refusal may offer.
    pub alternatives: &'a [&'a [u32]],
    /// What it sends.
    pub traffic: TrafficSpec,
    /// What it asks for: required for guaranteed service, absent for controlled load.
    pub target: Option<Target>,
    /// The service.
    pub kind: Service,
}

impl FlowSpec<'_> {
    /// Checks what no network needs to be known for.
    ///
    /// # Errors
    /// A path without a port, and a target that does not fit the service or the traffic.
    pub fn check(&self) -> Result<(), RequestError> {
        match (self.kind, self.target) {
            _ if self.path.is_empty() => Err(RequestError::EmptyPath),
            (Service::Guaranteed, None) => Err(RequestError::TargetMissing),
            (Service::ControlledLoad, Some(_)) => Err(RequestError::TargetWithoutGuarantee),
            (_, Some(Target::Rate(rate))) if rate < self.traffic.rate().bits_per_second() => Err(RequestError::RateBelowSustained),
            _ => Ok(()),
        }
    }

    /// The widest of the shortest alternatives that would be admitted, by its index: its bottleneck has the largest free rate.
    ///
    /// `bottleneck` gives that rate for a path, or `None` if the path would not be admitted.
    pub fn widest_shortest(&self, mut bottleneck: impl FnMut(&[u32]) -> Option<u64>) -> Option<u8> {
        let admitted =
            (0..=u8::MAX).zip(self.alternatives).filter_map(|(index, path)| Some((path.len(), Reverse(bottleneck(path)?), index)));
        admitted.min().map(|(.., index)| index)
    }
}

/// Why a request has no answer: it has no meaning, or a table is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RequestError {
    /// The path has no port.
    EmptyPath,
    /// The path has more ports than set-up allows.
    PathTooLong {
        /// The most that set-up allows.
        limit: usize,
    },
    /// There is no port of this number.
    UnknownPort(u32),
    /// The path visits this port twice.
    RepeatedPort(u32),
    /// A flow of this name is admitted already.
    FlowExists(u64),
    /// The table of flows is full: of this port, or of the network.
    TooManyFlows {
        /// The port, or `None` for the network.
        port: Option<u32>,
    },
    /// Guaranteed service needs a target.
    TargetMissing,
    /// Controlled load promises no delay and no fixed rate, and takes no target.
    TargetWithoutGuarantee,
    /// The rate that was asked for is below the sustained rate.
    RateBelowSustained,
    /// The admission control knows guaranteed service only.
    OnlyGuaranteed,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::EmptyPath => f.write_str("the path needs at least one port"),
            RequestError::PathTooLong { limit } => write!(f, "the path has more than {limit} ports, which is the limit"),
            RequestError::UnknownPort(port) => write!(f, "there is no port {port}"),
            RequestError::RepeatedPort(port) => write!(f, "the path visits port {port} twice"),
            RequestError::FlowExists(id) => write!(f, "flow {id} is admitted already: release it first"),
            RequestError::TooManyFlows { port: Some(port) } => write!(f, "the flow table of port {port} is full"),
            RequestError::TooManyFlows { port: None } => f.write_str("the flow table of the network is full"),
            RequestError::TargetMissing => f.write_str("guaranteed service needs a target: a delay or a rate"),
            RequestError::TargetWithoutGuarantee => f.write_str("controlled load takes no target: it promises no delay and no fixed rate"),
            RequestError::RateBelowSustained => f.write_str("the rate asked for is below the sustained rate of the traffic specification"),
            RequestError::OnlyGuaranteed => f.write_str("admission by proven delays knows guaranteed service only"),
        }
    }
}

impl core::error::Error for RequestError {}
