//! What a bridge reports while it runs and when it has ended.

use crate::counters::DirectionCounters;
use crate::direction_loop::EngineRecord;
use crate::port_change::PortChanged;
use tidegate_core::port::Volume;
use tidegate_core::units::{Overhead, Rate};
use tidegate_statistics::{ClassRecord, Delays, PortRecorder};

/// The state of a direction at a tick.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DirectionState {
    /// Its counters.
    pub counters: DirectionCounters,
    /// The volumes of each class, in the order of the policy.
    pub classes: Vec<ClassState>,
}

/// The volumes of a class at a tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassState {
    /// Packets offered to the port.
    pub offered: Volume,
    /// Packets that the port sent.
    pub sent: Volume,
    /// Packets that the port dropped.
    pub dropped: Volume,
    /// Packets whose colour the policer changed.
    pub marked: Volume,
}

impl DirectionState {
    pub(crate) fn new(counters: DirectionCounters, recorder: &PortRecorder) -> DirectionState {
        DirectionState { counters, classes: recorder.classes().iter().map(ClassState::of).collect() }
    }

    /// Replaces the state by the current one, without allocating.
    pub(crate) fn update(&mut self, counters: DirectionCounters, recorder: &PortRecorder) {
        self.counters = counters;
        for (class, record) in self.classes.iter_mut().zip(recorder.classes()) {
            *class = ClassState::of(record);
        }
    }
}

impl ClassState {
    fn of(record: &ClassRecord) -> ClassState {
        ClassState { offered: record.offered, sent: record.sent, dropped: record.dropped_in_all(), marked: record.marked }
    }
}

/// What a running bridge reports once a second, and once as soon as it runs.
#[derive(Clone, Copy, Debug)]
pub struct Tick<'a> {
    /// The time since the bridge was started.
    pub elapsed: std::time::Duration,
    /// From A to B, from B to A. The counters are at most 50 ms old.
    pub directions: &'a [DirectionState; 2],
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
    /// What each change of the policy did, in their order; those after the end did not take place.
    pub changes: Vec<PortChanged>,
}
