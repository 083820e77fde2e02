//! Links of the data plane that fail and recover.

use super::data_plane::DataPlane;
use super::flights::Flying;
use super::flows::PortWatch;
use super::link::{LinkPort, LinkState, PortKind};
use super::packet::InTransit;
use super::pausable_port::PausablePort;
use crate::time::NEVER;
use crate::trace::Step;
use tidegate_core::packet::DropReason;
use tidegate_core::units::Time;

impl DataPlane<'_> {
    /// A link fails: what is in its port, in transmission or on the link is lost. The port does not look for work before the transmission would have ended.
    pub(super) fn fail(&mut self, now: u64, link: usize, failure: usize) {
        let (_, queued) = self.links[link].accounts();
        let LinkState { port: LinkPort::Driven(driven), rest, .. } = &mut self.links[link] else { return };
        let Some(failing) = &mut driven.failing else { return };
        (failing.down, failing.ahead) = (failing.down + 1, failing.ahead - 1);
        if failing.down > 1 {
            return;
        }
        failing.by = failure;
        let (slot, late_list) = (driven.slot, driven.disturbance.as_ref().map(|disturbed| disturbed.late_list));
        let (at, reason) = (Time::from_picoseconds(now), DropReason::LinkDown);
        match &mut driven.kind {
            PortKind::Packets { port, .. } => {
                port.drop_queued(at, reason, &mut PortWatch { meter: &mut rest.meter, flows: &mut self.flows });
            }
            _ => {
                if let Some((PausablePort { port, .. }, mut watch)) = self.pausable(link) {
                    port.drop_queued(at, reason, &mut watch);
                }
            }
        }
        self.failures[failure].queued += queued;
        self.agenda.update_port(slot, NEVER);
        let mut flying = std::mem::take(&mut self.links[link].flying);
        self.lose_flying(now, link, link, &mut flying, failure);
        if let Some(late) = late_list {
            let mut flying = std::mem::take(&mut self.late_links[late].1);
            self.lose_flying(now, link, self.links.len() + late, &mut flying, failure);
        }
        self.end_pauses(now, link);
        self.send_pause_frames(now);
    }

    fn lose_flying(&mut self, now: u64, link: usize, list: usize, flying: &mut Flying, failure: usize) {
        while let Some(in_flight) = self.flights.pop(flying) {
            let packet = in_flight.packet();
            let InTransit { meta, length, .. } = packet;
            if self.flows.tracing.is_some() {
                self.flows.trace_on_link(now, Step::Lost, Some(link), &packet);
            }
            self.links[link].count_loss(length);
            let hop = self.hop(meta.cursor);
            self.flows.lose_on_failed_link(link, hop, meta, length);
            self.failures[failure].on_link.add(length);
        }
        self.agenda.set_link_end(list, NEVER);
    }

    /// A link recovers, unless another failure holds it down.
    pub(super) fn recover(&mut self, now: u64, link: usize) {
        if let LinkPort::Driven(driven) = &mut self.links[link].port
            && let Some(failing) = &mut driven.failing
        {
            failing.down -= 1;
            if failing.down == 0 {
                self.ask_again(now, link);
            }
        }
    }

    /// A packet reaches the port of a link that is down.
    #[cold]
    pub(super) fn arrive_at_failed(&mut self, now: u64, packet: InTransit) {
        let hop = self.hop(packet.meta.cursor);
        let queue = self.flows.routes.queue(hop, packet.meta.ecn(), packet.length);
        let LinkState { port: LinkPort::Driven(driven), rest, .. } = &mut self.links[hop.link as usize] else { return };
        let Some(failing) = &driven.failing else { return };
        self.failures[failing.by].arrived.add(packet.length);
        let (packet, reason) = (packet.at_port(now, queue), DropReason::LinkDown);
        let mut watch = PortWatch { meter: &mut rest.meter, flows: &mut self.flows };
        match &mut driven.kind {
            PortKind::Packets { port, .. } => port.refuse(packet, reason, &mut watch),
            // The packet never waits, so no node counts it.
            PortKind::Pausable(PausablePort { port, .. }) => port.refuse(packet, reason, &mut watch),
            _ => {}
        }
    }

    /// True if the link of a list fails once more before the end.
    pub(super) fn fails_later(&self, list: usize) -> bool {
        let link = list.checked_sub(self.links.len()).map_or(list, |late| self.late_links[late].0 as usize);
        let LinkPort::Driven(driven) = &self.links[link].port else { return false };
        driven.failing.as_ref().is_some_and(|failing| failing.ahead > 0)
    }
}
