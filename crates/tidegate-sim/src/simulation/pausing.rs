//! How packets pass a port that can be paused, and how pause frames are sent and heard.

use super::data_plane::DataPlane;
use super::flows::PortWatch;
use super::link::{LinkPort, LinkState, PortKind, queues_of};
use super::packet::{InTransit, PacketMeta};
use super::pausable_port::PausablePort;
use super::pauses::{Frame, Pauses};
use crate::route::Hop;
use crate::time::NEVER;
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet};
use tidegate_core::port::{Next, Transmission};
use tidegate_core::queue::Occupancy;
use tidegate_core::units::Time;

impl<'a> DataPlane<'a> {
    /// A packet reaches a port that can be paused.
    pub(super) fn arrive_at_pausable(&mut self, now: u64, link: usize, hop: Hop, mut packet: InTransit) {
        let routes = self.flows.routes.fixed;
        let Some((driven, mut watch)) = self.pausable(link) else { return };
        let PausablePort { port, .. } = driven;
        if packet.meta.mark_if_congested(port.occupancy().bytes(), watch.mark_above) {
            watch.ports.flows.trace_mark(now, &packet);
            watch.ports.meter.ce_marked(routes.queue(hop, Ecn::Ce, packet.length), packet.length);
        }
        let (queue, key) = routes.queue_and_key(hop, packet.meta.ecn(), packet.length);
        watch.pauses.hold(packet.meta.cursor, packet.length);
        port.offer_keyed(packet.at_port(now, queue), key, &mut watch);
        let (busy_until, waits) = (driven.busy_until, driven.port.occupancy().packets() > 0);
        if busy_until <= now {
            return self.serve_pausable(now, link);
        }
        if let LinkPort::Driven(port) = &self.links[link].port
            && self.agenda.port(port.slot) == NEVER
            && waits
        {
            self.agenda.set_port(port.slot, busy_until);
        }
        self.send_pause_frames(now);
    }

    /// The event of a port that can be paused is due.
    pub(super) fn serve_pausable(&mut self, now: u64, link: usize) {
        let Some((PausablePort { port, busy_until }, mut watch)) = self.pausable(link) else { return };
        let wake = match port.poll(Time::from_picoseconds(now), &mut watch) {
            Next::Transmit(Transmission { packet, start, finish }) => {
                let (start, finish) = (start.picoseconds(), finish.picoseconds());
                *busy_until = finish;
                let more = port.occupancy().packets() > 0;
                let ecn = packet.payload.ecn();
                self.transmit(link, ecn, InTransit::from_port(&packet), start, finish);
                if more { finish } else { NEVER }
            }
            Next::WaitUntil(time) => time.picoseconds(),
            Next::Idle => NEVER,
        };
        if let LinkPort::Driven(port) = &self.links[link].port {
            self.agenda.update_port(port.slot, wake);
        }
        self.send_pause_frames(now);
    }

    /// Sends the frames for what has just come to be held, or has left.
    fn send_pause_frames(&mut self, now: u64) {
        let Some(pauses) = self.pauses.as_deref_mut() else { return };
        // The order of changes decides the order of frames.
        for touched in 0..pauses.touched.len() {
            let number = pauses.touched[touched];
            let account = &mut pauses.accounts[number];
            account.greatest = account.greatest.max(account.held);
            let pauser = &mut pauses.pausers[account.pause];
            let asks = if account.is_asked { account.held > pauser.below } else { account.held > pauser.above };
            if asks == account.is_asked {
                continue;
            }
            account.is_asked = asks;
            let LinkState { port: LinkPort::Driven(driven), rest, propagation, .. } = &mut self.links[pauser.back] else { continue };
            let PortKind::Pausable(PausablePort { port, busy_until }) = &mut driven.kind else { continue };
            let start = now.max(*busy_until);
            *busy_until = start + pauser.frame_time;
            port.skip_to(Time::from_picoseconds(*busy_until));
            rest.meter.sent_part(start, *busy_until);
            let arrives = *busy_until + *propagation;
            if pauser.frames.is_empty() {
                self.agenda.set_pause_frame(account.pause, arrives);
            }
            pauser.frames.push_back(Frame { arrives, account: number, pauses: asks });
        }
        pauses.touched.clear();
    }

    /// A pause frame arrives.
    pub(super) fn hear_pause(&mut self, now: u64, pause: usize) {
        let Some(pauses) = self.pauses.as_deref_mut() else { return };
        let pauser = &mut pauses.pausers[pause];
        let Some(Frame { account, pauses: is_pause, .. }) = pauser.frames.pop_front() else { return };
        self.agenda.set_pause_frame(pause, pauser.frames.front().map_or(NEVER, |frame| frame.arrives));
        let account = &mut pauses.accounts[account];
        account.set(now, is_pause);
        let LinkState { port: LinkPort::Driven(driven), .. } = &mut self.links[pauser.link] else { return };
        let slot = driven.slot;
        let PortKind::Pausable(PausablePort { port, busy_until }) = &mut driven.kind else { return };
        let queues: Vec<Flow> = queues_of(port.classifier(), account.class).collect();
        let at = Time::from_picoseconds(now);
        for queue in queues {
            if is_pause { port.scheduler_mut().pause(at, queue) } else { port.scheduler_mut().release(at, queue) }
        }
        if !is_pause && port.occupancy().packets() > 0 {
            self.agenda.set_port(slot, now.max(*busy_until));
        }
    }

    /// A port that can be paused, and what observes it.
    fn pausable(&mut self, link: usize) -> Option<(&mut PausablePort, PauseWatch<'_, 'a>)> {
        let LinkState { port: LinkPort::Driven(driven), rest, .. } = &mut self.links[link] else { return None };
        let PortKind::Pausable(port) = &mut driven.kind else { return None };
        let mark_above = rest.mark_above;
        let ports = PortWatch { meter: &mut rest.meter, flows: &mut self.flows };
        Some((port, PauseWatch { ports, pauses: self.pauses.as_deref_mut()?, mark_above }))
    }
}

/// Observes a port as any other, and counts what leaves it.
struct PauseWatch<'b, 'a> {
    ports: PortWatch<'b, 'a>,
    pauses: &'b mut Pauses<'a>,
    /// The queued bytes from which on packets are marked.
    mark_above: u64,
}

impl Observer<PacketMeta> for PauseWatch<'_, '_> {
    fn offered(&mut self, now: Time, packet: &Packet<PacketMeta>) {
        self.ports.offered(now, packet);
    }

    fn marked(&mut self, now: Time, packet: &Packet<PacketMeta>, from: Colour) {
        self.ports.marked(now, packet, from);
    }

    fn remarked(&mut self, now: Time, packet: &Packet<PacketMeta>, from: Colour) {
        self.ports.remarked(now, packet, from);
    }

    fn congestion_marked(&mut self, now: Time, packet: &Packet<PacketMeta>) {
        self.ports.congestion_marked(now, packet);
    }

    fn queued(&mut self, now: Time, packet: &Packet<()>, occupancy: &Occupancy) {
        self.ports.queued(now, packet, occupancy);
    }

    fn dropped(&mut self, now: Time, packet: Packet<PacketMeta>, reason: DropReason, occupancy: &Occupancy) {
        self.pauses.let_go(packet.payload.cursor, packet.length);
        self.ports.dropped(now, packet, reason, occupancy);
    }

    fn sent(&mut self, now: Time, packet: &Packet<PacketMeta>, finish: Time, occupancy: &Occupancy) {
        self.pauses.let_go(packet.payload.cursor, packet.length);
        self.ports.sent(now, packet, finish, occupancy);
    }
}
