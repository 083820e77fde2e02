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

macro_rules! sources {
    (clocked { $($clocked:ident = $type:ty;)* } reactive { $($reactive:ident = $other:ty;)* }) => {
        /// What a flow's source emits, and when.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs)]
        pub enum Source { $($clocked($type),)* $($reactive($other),)* }

        /// The kinds of sources by name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[allow(missing_docs)]
        pub enum SourceKind { $($clocked,)* $($reactive,)* }

        impl SourceKind {
            /// Every kind, in the order of the list.
            pub const ALL: &'static [SourceKind] = &[$(SourceKind::$clocked,)* $(SourceKind::$reactive,)*];

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(SourceKind::$clocked => <$type as TrafficSource>::NAME,)*
                    $(SourceKind::$reactive => <$other as TrafficSource>::NAME,)*
                }
            }

            /// One sentence.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(SourceKind::$clocked => <$type as TrafficSource>::SUMMARY,)*
                    $(SourceKind::$reactive => <$other as TrafficSource>::SUMMARY,)*
                }
            }
        }

        impl Source {
            /// Checks the values.
            ///
            /// # Errors
            /// The first [`Fault`].
            pub fn check(&self) -> Result<(), Fault> {
                match self { $(Source::$clocked(source) => source.check(),)* $(Source::$reactive(source) => TrafficSource::check(source),)* }
            }

            /// The mean rate in bits of frames per second; `None` if it depends on the network, as for [`Source::Greedy`] and [`Source::Tcp`], for a
            /// capture of no duration, and for an on/off source whose periods are completed and not exponential.
            pub fn mean_bits_per_second(&self) -> Option<f64> {
                match self {
                    $(Source::$clocked(source) => source.mean_bits_per_second(),)*
                    $(Source::$reactive(source) => TrafficSource::mean_bits_per_second(source),)*
                }
            }

            /// About how many events of this source a simulated second takes; 0 if that depends on the network.
            pub fn events_per_second(&self) -> f64 {
                match self {
                    $(Source::$clocked(source) => source.events_per_second(),)*
                    $(Source::$reactive(source) => TrafficSource::events_per_second(source),)*
                }
            }
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

sources! {
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

impl From<Tcp> for Source {
    fn from(tcp: Tcp) -> Source {
        Source::Tcp(Box::new(tcp))
    }
}

#[cfg(test)]
mod transcripts;
