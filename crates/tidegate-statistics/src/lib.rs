//! What happened at a port: volumes, delays and time lines per class, recorded by an observer.
//!
//! [`PortRecorder`] observes one [`Port`](tidegate_core::port::Port) in any world. The core keeps no statistics beyond the counters of its
//! conservation law; everything in a report is recorded here.
//!
//! A [`StageTrace`] is another record: the instants at which each packet passed the stages of a path.

mod delays;
mod histogram;
mod recorder;
mod stage_trace;
mod timeline;

pub use delays::Delays;
pub use histogram::{Buckets, CoarseHistogram, Histogram};
pub use recorder::{ClassRecord, PortRecorder};
pub use stage_trace::{StageRecord, StageTrace, StageTraceError};
pub use timeline::Timeline;
