//! A port whose classes can be paused.

use super::packet::PacketMeta;
use tidegate_core::port::{Port, PortSetup};
use tidegate_core::registry::AnyScheduler;
use tidegate_core::scheduler::Pausable;
use tidegate_core::units::Time;

/// A port of packets whose classes can be paused.
pub(super) struct PausablePort {
    pub port: Port<PacketMeta, Pausable<AnyScheduler>>,
    pub busy_until: u64,
}

impl PausablePort {
    pub(super) fn new(setup: PortSetup) -> PausablePort {
        let scheduler = Pausable::new(setup.scheduler, setup.classifier.flows());
        let PortSetup { rate, overhead, classifier, policers, aqms, seed, buffer, packet_limit, longest_frame, remarks, .. } = setup;
        let setup = PortSetup { rate, overhead, classifier, policers, aqms, seed, buffer, scheduler, packet_limit, longest_frame, remarks };
        PausablePort { port: Port::new(Time::ZERO, setup), busy_until: 0 }
    }
}
