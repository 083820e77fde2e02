//! Traffic sources: what a flow emits, and when. One kind, one file.
//!
//! Lengths are frame lengths, and rates count frames without any link's overhead.
//!
//! To add a source that the clock drives: write its file with its parameters ([`role::TrafficSource`], [`role::Clocked`]) and its running form
//! ([`role::Generator`]), and add its line to the list below.

use crate::fault::Fault;
use crate::random::Stream;
use crate::tcp::Tcp;
use role::{Clocked, Emission, Generator, TrafficSource};
use std::sync::Arc;

mod capture;
mod cbr;
mod frame_trace;
pub(crate) mod greedy;
mod length;
mod on_off;
mod poisson;
pub(crate) mod role;
mod spacing;

pub use capture::{Capture, CapturePacket};
pub use cbr::Cbr;
pub use frame_trace::FrameTrace;
pub use greedy::Greedy;
pub use length::LengthDistribution;
pub use on_off::{OnOff, Remainder};
pub use poisson::Poisson;

/// The registry of the sources, and the enum of the running forms of those that the clock drives.
macro_rules! sources {
    ($d:tt clocked { $($clocked:ident = $type:ty;)* } reactive { $($reactive:ident = $other:ty;)* }) => {
        tidegate_core::registry! { $d
            /// The kinds of sources by name.
            pub kind SourceKind by TrafficSource;
            /// What a flow's source emits, and when.
            #[derive(PartialEq)]
            pub any Source;
            match_source { $($clocked = $type;)* $($reactive = $other;)* }
        }

        $(impl From<$type> for Source {
            fn from(source: $type) -> Source {
                Source::$clocked(source)
            }
        })*

        /// The running form of a source.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyGenerator {
            $($clocked(<$type as Clocked>::Running),)*
            /// The network drives it: its first queue a greedy source, acknowledgements a TCP connection.
            Reactive,
        }

        impl AnyGenerator {
            /// `headers`: see [`Clocked::start`].
            pub(crate) fn new(source: &Source, headers: &Arc<[u32]>) -> AnyGenerator {
                match source {
                    $(Source::$clocked(source) => AnyGenerator::$clocked(source.start(headers)),)*
                    $(Source::$reactive(_) => AnyGenerator::Reactive,)*
                }
            }

            /// The instant of the first packet of a source that starts at `start`, or [`NEVER`](crate::time::NEVER).
            pub(crate) fn first(&mut self, start: u64, stream: &mut Stream) -> u64 {
                match self {
                    $(AnyGenerator::$clocked(source) => source.first(start, stream),)*
                    AnyGenerator::Reactive => start,
                }
            }

            /// The packet that is due at `now`; `None` if the network drives the source.
            #[inline]
            pub(crate) fn emit(&mut self, now: u64, stream: &mut Stream) -> Option<Emission> {
                match self {
                    $(AnyGenerator::$clocked(source) => Some(source.emit(now, stream)),)*
                    AnyGenerator::Reactive => None,
                }
            }
        }
    };
}

sources! { $
    clocked {
        Cbr = Cbr;
        Poisson = Poisson;
        OnOff = OnOff;
        FrameTrace = FrameTrace;
        Capture = Capture;
    }
    reactive {
        Greedy = Greedy;
        Tcp = Box<Tcp>;
    }
}

impl Source {
    /// Checks the values.
    ///
    /// # Errors
    /// The first [`Fault`].
    pub fn check(&self) -> Result<(), Fault> {
        match_source!(self, source => TrafficSource::check(source))
    }

    /// The mean rate in bits of frames per second; `None` if it depends on the network, as for [`Source::Greedy`] and [`Source::Tcp`], for a
    /// capture of no duration, and for an on/off source whose periods are completed and not exponential.
    pub fn mean_bits_per_second(&self) -> Option<f64> {
        match_source!(self, source => TrafficSource::mean_bits_per_second(source))
    }

    /// About how many events of this source a simulated second takes; 0 if that depends on the network.
    pub fn events_per_second(&self) -> f64 {
        match_source!(self, source => TrafficSource::events_per_second(source))
    }
}

impl From<Tcp> for Source {
    fn from(tcp: Tcp) -> Source {
        Source::Tcp(Box::new(tcp))
    }
}

#[cfg(test)]
mod transcripts;
