//! What happened at a port: volumes, delays and time lines per class, recorded by an observer.
//!
//! [`PortRecorder`] watches one [`Port`](tidegate_core::port::Port) in whichever world it runs. The core keeps no statistics beyond the
//! counters of its conservation law; everything a report shows is recorded here.

mod delays;
mod histogram;
mod recorder;
mod timeline;

pub use delays::Delays;
pub use histogram::{Buckets, CoarseHistogram, Histogram};
pub use recorder::{ClassRecord, PortRecorder};
pub use timeline::Timeline;
