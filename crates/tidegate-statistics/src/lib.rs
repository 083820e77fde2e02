//! What happened at a port: volumes, delays and time lines per class, recorded by an observer.
//!
//! [`PortRecorder`] observes one [`Port`](tidegate_core::port::Port) in any world. The core keeps no statistics beyond the counters of its
//! conservation law; everything in a report is recorded here.

mod delays;
mod histogram;
mod recorder;
mod timeline;

pub use delays::Delays;
pub use histogram::{Buckets, CoarseHistogram, Histogram};
pub use recorder::{ClassRecord, PortRecorder};
pub use timeline::Timeline;
