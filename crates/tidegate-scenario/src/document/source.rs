//! The table of a flow's source, exactly as it is written; see [`super`].

use crate::choice::{AfterIdleName, CongestionName, EcnName, GrowthName, Holding, RecoveryName, SourceKind, TimerName};
use crate::diagnostic::Span;
use crate::value::{At, Block, Bytes, Decimal, Given, Packets, Text, Whole};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::units::{Duration, Rate};

/// Adds a list of the keys that are given, and one of those that only TCP has, which come last.
macro_rules! source_table {
    (
        $(#[$meta:meta])* pub struct $table:ident {
            $(#[$about_kind:meta])* pub kind: $kind:ty,
            $($(#[$about:meta])* pub $key:ident: $type:ty,)*
            tcp $keys:ident $($(#[$about_tcp:meta])* pub $tcp:ident: $tcp_type:ty,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $table {
            $(#[$about_kind])* pub kind: $kind,
            $($(#[$about])* pub $key: $type,)*
            $($(#[$about_tcp])* pub $tcp: $tcp_type,)*
        }

        impl $table {
            /// The keys of a TCP source, all optional.
            pub const $keys: &[&str] = &["holding", "pareto_shape", $(stringify!($tcp)),*];

            /// The keys that are given, with their places; without `kind`.
            pub fn given(&self) -> Vec<(&'static str, Span)> {
                let keys = [$((stringify!($key), self.$key.place()),)* $((stringify!($tcp), self.$tcp.place()),)*];
                keys.into_iter().filter_map(|(key, place)| Some((key, place?))).collect()
            }
        }
    };
}

source_table! {
    /// What is sent, and when. Rates count frames as they are, without any link's overhead.
    #[derive(Clone, Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct SourceTable {
        /// The kind of source, on which the other keys depend.
        pub kind: At<SourceKind>,
        /// For `cbr` and `poisson`: the mean rate.
        #[schemars(extend("examples" = ["2 Mbit/s"]))]
        pub rate: Option<At<Rate>>,
        /// For `cbr` in place of `rate`: the time from packet to packet. For `frames`: the time from frame to frame.
        #[schemars(extend("examples" = ["20 ms"]))]
        pub interval: Option<At<Duration>>,
        /// The size of every packet, as a frame without overhead. For `frames`: the longest packet that frames are cut into.
        #[schemars(extend("examples" = ["200 B"]))]
        pub packet: Option<At<Bytes>>,
        /// For `poisson` in place of `packet`: exponentially distributed sizes with this mean. Longer ones than the policy's
        /// `longest_frame` are dropped as oversize.
        #[schemars(extend("examples" = ["1000 B"]))]
        pub mean_packet: Option<At<Bytes>>,
        /// For `poisson` in place of `packet`: sizes and how often each occurs.
        #[schemars(extend("examples" = [[{ "packet": "64 B", "weight": 7 }, { "packet": "1500 B", "weight": 3 }]]))]
        pub packet_mix: Option<Block<Vec<Block<MixTable>>>>,
        /// For `on-off`: the rate while it is on.
        #[schemars(extend("examples" = ["1.5 Mbit/s"]))]
        pub peak: Option<At<Rate>>,
        /// For `on-off`: the mean time it stays on.
        #[schemars(extend("examples" = ["2 ms"]))]
        pub on: Option<At<Duration>>,
        /// For `on-off`: the mean time it stays off.
        #[schemars(extend("examples" = ["2 ms"]))]
        pub off: Option<At<Duration>>,
        /// For `on-off`: how the times on and off are distributed. For `tcp`: how the times between transfers are.
        #[schemars(extend("default" = "exponential"))]
        pub holding: Option<At<Holding>>,
        /// For `on-off` with `holding = "pareto"`: the exponent of the distribution, above 1. Below 2 the variance is infinite.
        #[schemars(extend("examples" = [1.5]))]
        pub pareto_shape: Option<At<Decimal>>,
        /// For `frames`: the sizes of the frames, in order; they repeat.
        #[schemars(extend("examples" = [["30 kB", "6 kB", "6 kB"]]))]
        pub sizes: Option<Block<Vec<At<Bytes>>>>,
        /// For `capture`: the capture file (pcap or pcapng, also compressed with gzip or zstd), relative to the scenario file.
        #[schemars(extend("examples" = ["captures/quic-video.pcap"]))]
        pub file: Option<At<Text>>,
        /// For `capture`: true to use the packets before damage in the middle of the file; false to refuse such a file.
        #[schemars(extend("default" = false))]
        pub until_damage: Option<At<bool>>,
        /// For `greedy`: how many packets it keeps in the first queue of its path.
        #[schemars(extend("default" = "10 packets"))]
        pub window: Option<At<Packets>>,
        /// For `cbr` and `frames`: true to start within a random part of the first interval (for `frames`, at a random frame), so that
        /// several sources are not in step; false to start at once.
        #[schemars(extend("default" = true))]
        pub random_phase: Option<At<bool>>,
        tcp KEYS
        /// For `tcp`: how far the window goes up and down.
        #[schemars(extend("default" = "cubic"))]
        pub congestion: Option<At<CongestionName>>,
        /// For `tcp`: when a segment is lost, and what is sent then.
        #[schemars(extend("default" = "rack"))]
        pub recovery: Option<At<RecoveryName>>,
        /// For `tcp`: how long to wait for an acknowledgement.
        #[schemars(extend("default" = "linux"))]
        pub timer: Option<At<TimerName>>,
        /// For `tcp`: the distance of the timer's ticks.
        #[schemars(extend("default" = "1 ms; 500 ms for `timer = \"bsd\"`", "examples" = ["100 ms"]))]
        pub granularity: Option<At<Duration>>,
        /// For `tcp`: the least time to wait for an acknowledgement; with `timer = "linux"` the least that is added to the smoothed round-trip time.
        #[schemars(extend("default" = "200 ms; 1 s for `timer = \"bsd\"`", "examples" = ["1 s"]))]
        pub minimum_timeout: Option<At<Duration>>,
        /// For `tcp`: the greatest time to wait for an acknowledgement.
        #[schemars(extend("default" = "120 s; 60 s for `timer = \"rfc6298\"`, 64 s for `timer = \"bsd\"`"))]
        pub maximum_timeout: Option<At<Duration>>,
        /// For `tcp`: the time to wait before a round-trip time has been measured.
        #[schemars(extend("default" = "1 s; 6 s for `timer = \"bsd\"`"))]
        pub initial_timeout: Option<At<Duration>>,
        /// For `tcp`: the data in a segment, headers excluded.
        #[schemars(extend("default" = "1460 B"))]
        pub segment: Option<At<Bytes>>,
        /// For `tcp`: what headers add to every segment and acknowledgement, as a frame without overhead.
        #[schemars(extend("default" = "54 B", "examples" = ["40 B"]))]
        pub headers: Option<At<Bytes>>,
        /// For `tcp`: the congestion window of a fresh connection, in segments.
        #[schemars(extend("default" = 10))]
        pub initial_window: Option<At<Whole<1, 1000>>>,
        /// For `tcp`: the receiver's window.
        #[schemars(extend("default" = "1 MiB", "examples" = ["64 kB"]))]
        pub receive_window: Option<At<Bytes>>,
        /// For `tcp`: false to do without the window scale option, and so with a window of 65535 B at most.
        #[schemars(extend("default" = true))]
        pub window_scale: Option<At<bool>>,
        /// For `tcp`: how long an acknowledgement may wait for a second segment; `0 s` acknowledges every segment at once.
        #[schemars(extend("default" = "40 ms"))]
        pub delayed_ack: Option<At<Duration>>,
        /// For `tcp`: what an acknowledgement of several segments does to the window of `reno` and `cubic`, that is, whether delayed acknowledgements slow
        /// its growth.
        #[schemars(extend("default" = "rfc5681"))]
        pub growth: Option<At<GrowthName>>,
        /// For `tcp`: what is left of the window of `reno` and `cubic` when nothing was sent for longer than the retransmission timeout. `bbr`, `bbr3` and `prague` keep it.
        #[schemars(extend("default" = "linux"))]
        pub after_idle: Option<At<AfterIdleName>>,
        /// For `tcp`: whether the first two duplicate acknowledgements let a new segment go each (RFC 3042).
        #[schemars(extend("default" = true))]
        pub limited_transmit: Option<At<bool>>,
        /// For `tcp`: whether a loss reduces the window in proportion to what is estimated to be in the network (RFC 6675's pipe, as in ns-3) rather
        /// than to all that has not been acknowledged in order (RFC 5681).
        #[schemars(extend("default" = false))]
        pub halve_pipe: Option<At<bool>>,
        /// For `tcp` with `recovery = "rack"` or `"sack"`, and a congestion control that does not measure: whether a recovery replaces a
        /// share of what is delivered until the window is down (proportional rate reduction, RFC 9937), rather than wait.
        #[schemars(extend("default" = "true where it has an effect", "examples" = [false]))]
        pub prr: Option<At<bool>>,
        /// For `tcp` with `recovery = "rack"` and a congestion control that does not measure: whether the first slow start ends where round
        /// trips grow (HyStart++, RFC 9406).
        #[schemars(extend("default" = "true for `congestion = \"cubic\"` with `recovery = \"rack\"`", "examples" = [false]))]
        pub hystart: Option<At<bool>>,
        /// For `tcp` with `recovery = "rack"`: whether a segment is sent early where acknowledgements stop (RFC 8985).
        #[schemars(extend("default" = "true where it has an effect", "examples" = [false]))]
        pub tail_loss_probe: Option<At<bool>>,
        /// For `tcp` with `recovery = "rack"`: whether acknowledgements report segments that come twice (RFC 2883). The sender then waits longer
        /// for late segments (RFC 8985).
        #[schemars(extend("default" = "true where it has an effect", "examples" = [false]))]
        pub dsack: Option<At<bool>>,
        /// For `tcp`: whether a connection begins with a packet there and one back.
        #[schemars(extend("default" = true))]
        pub handshake: Option<At<bool>>,
        /// For `tcp`: whether queues may mark its segments in place of a loss, and how marks are echoed; true for `classic`, false for `off`. The
        /// `aqm` of a class marks, and `mark_above` of a link.
        #[schemars(extend("default" = "off; `dctcp` and `l4s` for `congestion = \"dctcp\"` and `\"prague\"`", "examples" = ["l4s"]))]
        pub ecn: Option<At<EcnName>>,
        /// For `tcp` with `congestion = "prague"`: whether a mark reduces the window as it does CUBIC's where round trips vary as in a classic queue.
        #[schemars(extend("default" = false))]
        pub classic_fallback: Option<At<bool>>,
        /// For `tcp`: the most by which the start is put off, at random, so that several connections are not in step.
        #[schemars(extend("default" = "0 s", "examples" = ["100 ms"]))]
        pub start_within: Option<At<Duration>>,
        /// For `tcp`: the time that a segment takes through the sending host.
        #[schemars(extend("default" = "0 s", "examples" = ["300 us"]))]
        pub processing: Option<At<Duration>>,
        /// For `tcp`: the most that is added to it, at random for each segment. A packet's time on the link keeps connections with equal
        /// round-trip times from locking into a pattern in which some lose all the time.
        #[schemars(extend("default" = "0 s", "examples" = ["100 us"]))]
        pub jitter: Option<At<Duration>>,
        /// For `tcp`: the data of a transfer, on average. Without it there always is more to send.
        #[schemars(extend("default" = "endless", "examples" = ["1 MB"]))]
        pub transfer: Option<At<Bytes>>,
        /// For `tcp` with `transfer`: how sizes are distributed; with `pareto_shape` if it is `pareto`.
        #[schemars(extend("default" = "constant"))]
        pub transfer_sizes: Option<At<Holding>>,
        /// For `tcp` with `transfer`: how many transfers there are, one after the other.
        #[schemars(extend("default" = "1; without end if there is `think`", "examples" = [100]))]
        pub transfers: Option<At<Whole<1, 1_000_000_000>>>,
        /// For `tcp` with `transfer`: the mean time from the end of one to the beginning of the next.
        #[schemars(extend("default" = "0 s", "examples" = ["1 s"]))]
        pub think: Option<At<Duration>>,
        /// For `tcp` with `transfer`: the packet with which the receiving end asks for each, as a frame without overhead. Without it the
        /// sending end begins by itself.
        #[schemars(extend("default" = "none", "examples" = ["300 B"]))]
        pub request: Option<At<Bytes>>,
        /// For `tcp` with `transfer`: true for a new connection for each, with a fresh window; false to keep the first.
        #[schemars(extend("default" = false))]
        pub reconnect: Option<At<bool>>,
    }
}

/// A size of packets, and how often it occurs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MixTable {
    /// The size.
    pub packet: At<Bytes>,
    /// How often it occurs, relative to the others.
    pub weight: At<Whole<1, 1_000_000>>,
}
