//! The ports that admit flows: their admission control, and the rates that their schedulers were told.
//!
//! A set-up or a release changes the rates of all flows of controlled load at a port, and touches none of them. A flow's scheduler is told its new
//! rate when a packet of the flow comes or leaves, so that signalling costs O(log n) per call. A head that is stamped in between has the rate of the
//! flow's last packet: a change holds at the latest from the second head on.

use super::packet::PacketMeta;
use crate::network::Network;
use tidegate_core::admission::{AdmissionControl, Link, PathAdmission};
use tidegate_core::packet::Flow;
use tidegate_core::port::Port;
use tidegate_core::scheduler::FlowParameters;
use tidegate_core::units::{Rate, Time};

/// What the scheduler was told of a flow of controlled load.
struct Told {
    /// The flow's name for admission control.
    id: u64,
    /// The epoch of its rate.
    epoch: u32,
    parameters: FlowParameters,
}

/// Admission control, and what schedulers were told.
pub(super) struct AdmittingPorts {
    pub paths: PathAdmission,
    /// By link, the number of its port for admission.
    port_of: Vec<Option<u32>>,
    /// By port for admission and by queue; empty without calls of controlled load.
    told: Vec<Vec<Option<Told>>>,
}

impl AdmittingPorts {
    /// The ports of a network that has been checked; `None` if none admits flows.
    pub(super) fn of(network: &Network) -> Option<AdmittingPorts> {
        let mut settings = Vec::new();
        let port_of = network.links.iter().map(|link| {
            settings.push(link.admission?);
            Some(settings.len() as u32 - 1)
        });
        let port_of: Vec<Option<u32>> = port_of.collect();
        let paths = network.path_admission(&settings).expect("the network has been checked");
        let told = settings.iter().map(|_| Vec::new()).collect();
        (!settings.is_empty()).then_some(AdmittingPorts { paths, port_of, told })
    }

    /// The port of a link for admission, if it admits flows.
    pub(super) fn port_of(&self, link: usize) -> Option<u32> {
        self.port_of[link]
    }

    /// The rate that a flow has at a port now.
    pub(super) fn rate_of(&self, port: u32, id: u64) -> Rate {
        self.paths.link(port).map_or(Rate::MIN, |link| rate_at(link, id))
    }

    /// A scheduler was told the parameters of a flow of controlled load at this instant.
    pub(super) fn set_told(&mut self, port: u32, queue: Flow, id: u64, parameters: FlowParameters) {
        let epoch = self.paths.link(port).map_or(0, Link::epoch);
        let told = &mut self.told[port as usize];
        if told.len() <= queue.index() {
            told.resize_with(queue.index() + 1, || None);
        }
        told[queue.index()] = Some(Told { id, epoch, parameters });
    }

    /// The flow of a queue has left a port.
    pub(super) fn forget(&mut self, port: u32, queue: Flow) {
        if let Some(told) = self.told[port as usize].get_mut(queue.index()) {
            *told = None;
        }
    }

    /// Tells the scheduler the rate of a flow whose packet comes or leaves, if it has changed since it was told.
    #[cold]
    pub(super) fn renew(&mut self, now: u64, link: usize, queue: Flow, port: &mut Port<PacketMeta>) {
        let Some(number) = self.port_of[link] else { return };
        let Some(Some(told)) = self.told[number as usize].get_mut(queue.index()) else { return };
        let Some(link) = self.paths.link(number) else { return };
        if std::mem::replace(&mut told.epoch, link.epoch()) == link.epoch() {
            return;
        }
        let rate = rate_at(link, told.id);
        if told.parameters.rate.replace(rate) != Some(rate) {
            let changed = port.change_flow(Time::from_picoseconds(now), queue, &told.parameters);
            debug_assert!(changed.is_ok(), "{changed:?}");
        }
    }

    /// Counts a packet that leaves a link.
    pub(super) fn measure(&mut self, now: u64, link: usize, id: u64, bits: u32) {
        if let Some(port) = self.port_of[link] {
            self.paths.measured(port, id, bits, Time::from_picoseconds(now));
        }
    }
}

/// A flow's rate, and the least there is if guaranteed flows have the whole link.
fn rate_at(link: &Link, id: u64) -> Rate {
    Rate::new(link.rate_of(id).unwrap_or(0)).unwrap_or(Rate::MIN)
}
