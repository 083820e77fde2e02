//! What happened at a port: volumes, delays and time lines per class, recorded by an observer.
//!
//! [`PortRecorder`] observes one [`Port`](tidegate_core::port::Port) in any world. The core keeps no statistics beyond the counters of its
//! conservation law; everything in a report is recorded here.
//!
//! [`RecentDelays`] and [`SpaceSaving`] are what a running bridge shows: the delays of the last minute, and the heaviest flows.
//!
//! A [`StageTrace`] is another record: the instants at which each packet passed the stages of a path.

mod delays;
mod histogram;
mod recent_delays;
mod recorder;
mod space_saving;
mod stage_trace;
mod timeline;

pub use delays::Delays;
pub use histogram::{Buckets, CoarseHistogram, Histogram};
pub use recent_delays::{RecentDelays, Window};
pub use recorder::{ClassCourse, ClassRecord, ExpectedClasses, PortRecorder};
pub use space_saving::{Heavy, SpaceSaving};
pub use stage_trace::{StageRecord, StageTrace, StageTraceError};
pub use timeline::Timeline;
