//! Traffic sources: what a flow emits, and when. One kind, one file.
//!
//! Lengths are frame lengths, and rates count frames without any link's overhead.
//!
//! To add a source: write its file, with its parameters (`role::TrafficSource`) and its running form (`role::Generator`), and add its line to
//! the list below.

use crate::fault::Fault;
use crate::tcp::Tcp;
use role::TrafficSource;
use std::sync::Arc;

mod capture;
mod cbr;
mod frame_trace;
pub(crate) mod greedy;
mod length;
mod on_off;
mod poisson;
pub(crate) mod role;
pub(crate) mod sender_shaper;
mod spacing;

pub use capture::{Capture, CapturePacket};
pub use cbr::Cbr;
pub use frame_trace::FrameTrace;
pub use greedy::Greedy;
pub use length::LengthDistribution;
pub use on_off::{OnOff, Remainder};
pub use poisson::Poisson;
pub use role::{Emission, Generator};

tidegate_core::registry! { $
    /// The kinds of sources by name.
    pub kind SourceKind by TrafficSource;
    /// What a flow's source emits, and when.
    #[derive(PartialEq)]
    pub any Source;
    match_source {
        Cbr = Cbr;
        Poisson = Poisson;
        OnOff = OnOff;
        FrameTrace = FrameTrace;
        Capture = Capture;
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
        match_source!(self, source => source.mean_bits_per_second())
    }

    /// About how many events of this source a simulated second takes; 0 if that depends on the network.
    pub fn events_per_second(&self) -> f64 {
        match_source!(self, source => source.events_per_second())
    }

    /// The running form, for a model that is no [`Network`](crate::Network). `None` if the network drives the source, as for [`Source::Greedy`]
    /// and [`Source::Tcp`].
    ///
    /// ```
    /// use tidegate_sim::random::Stream;
    /// use tidegate_sim::source::{Cbr, Source};
    /// use tidegate_core::units::Rate;
    /// // 1000 bits per packet at 1 Mbit/s: a packet per millisecond.
    /// let source = Source::Cbr(Cbr { rate: Rate::new(1_000_000).unwrap(), length: 125, random_phase: false });
    /// let (mut generator, mut stream) = (source.generator().unwrap(), Stream::new(1, 0, "flow"));
    /// let first = generator.first(0, &mut stream);
    /// let emission = generator.emit(first, &mut stream);
    /// assert_eq!((first, emission.length, emission.next), (0, 125, 1_000_000_000));
    /// ```
    pub fn generator(&self) -> Option<Box<dyn Generator>> {
        let headers = match self {
            Source::Capture(capture) => vec![0; capture.packets.len()],
            _ => Vec::new(),
        };
        self.start(&headers.into())
    }

    /// The lengths of its frames in bytes, with the part of all packets that have them: the mean alone for exponential lengths, none if that depends on the
    /// network.
    pub fn lengths(&self) -> Vec<(f64, f64)> {
        match_source!(self, source => source.lengths())
    }

    /// The same source with all its times divided by `factor`: bursts keep their packets. `None` if the network sets its pace, or if a time or a rate leaves
    /// what sources can have.
    pub fn faster(&self, factor: f64) -> Option<Source> {
        let mut faster = self.clone();
        match_source!(&mut faster, source => source.play_faster(factor))?;
        faster.check().ok()?;
        Some(faster)
    }

    /// Starts the source; see [`TrafficSource::start`].
    pub(crate) fn start(&self, headers: &Arc<[u32]>) -> Option<Box<dyn Generator>> {
        match_source!(self, source => source.start(headers))
    }
}

#[cfg(test)]
mod transcripts;
