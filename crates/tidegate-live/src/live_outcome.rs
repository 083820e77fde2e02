//! What a bridge reports while it runs and when it has ended.

use crate::counters::DirectionCounters;
use crate::direction_loop::EngineRecord;
use crate::port_change::PortChanged;
use tidegate_core::units::{Overhead, Rate};
use tidegate_statistics::{Delays, PortRecorder};

/// What a running bridge reports once a second, and once as soon as it runs.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// The time since the bridge was started.
    pub elapsed: std::time::Duration,
    /// The counters from A to B and from B to A, at most 50 ms old.
    pub directions: &'a [DirectionCounters; 2],
    /// Warnings and changes of state since the last tick.
    pub notices: &'a [String],
}

/// The results of a bridge.
#[derive(Clone, Debug)]
pub struct LiveOutcome {
    /// From A to B, from B to A.
    pub directions: [DirectionOutcome; 2],
    /// How long the bridge ran, the draining included.
    pub elapsed: std::time::Duration,
    /// All notices of the run.
    pub notices: Vec<String>,
}

/// The results of one direction.
#[derive(Clone, Debug)]
pub struct DirectionOutcome {
    /// The incoming interface.
    pub from: String,
    /// The outgoing interface.
    pub to: String,
    /// The port's rate.
    pub rate: Rate,
    /// What the port adds to every frame.
    pub overhead: Overhead,
    /// The final counters.
    pub counters: DirectionCounters,
    /// Volumes and delays in the port per class, and their course over time.
    pub record: PortRecorder,
    /// How long after its instant a packet was handed to the kernel: the delay that the machine adds to the port's.
    pub lateness: Delays,
    /// The share of the time for which the link was transmitting, 0 to 1.
    pub utilisation: f64,
    /// The decision engine's counters, if it had a thread of its own ([`Options::end_system`](crate::Options::end_system)).
    pub engine: Option<EngineRecord>,
    /// What each change of [`LiveConfig`](crate::LiveConfig) did, in their order; those after the end, or after another policy came, did not take place.
    pub changes: Vec<PortChanged>,
}
