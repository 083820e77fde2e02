//! How packets pass a port that can be paused, and how pause frames are sent and heard.

use super::agenda::Agenda;
use super::data_plane::DataPlane;
use super::flows::PortWatch;
use super::link::{LinkPort, LinkState, PortKind, queues_of};
use super::packet::{InTransit, PacketMeta};
use super::pausable_port::PausablePort;
use super::pauses::{Account, Frame, Pauses};
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
        let Some((driven, mut watch)) = self.pausable(link) else { return };
        let PausablePort { port, .. } = driven;
        if packet.meta.mark_if_congested(port.occupancy().bytes(), watch.mark_above) {
            watch.ports.flows.trace_mark(now, &packet);
            watch.ports.meter.ce_marked(watch.ports.flows.routes.queue(hop, Ecn::Ce, packet.length), packet.length);
        }
        let (queue, key) = watch.ports.flows.routes.queue_and_key(hop, packet.meta.ecn(), packet.length);
        watch.pauses.hold(watch.ports.flows.routes.account(packet.meta.cursor), packet.length);
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
    pub(super) fn send_pause_frames(&mut self, now: u64) {
        let Some(pauses) = self.pauses.as_deref_mut() else { return };
        // The order of changes decides the order of frames.
        for touched in 0..pauses.touched.len() {
            let number = pauses.touched[touched];
            let account = &mut pauses.accounts[number];
            account.greatest = account.greatest.max(account.held);
            let pauser = &pauses.pausers[account.pause];
            let asks = if account.is_asked { account.held > pauser.below } else { account.held > pauser.above };
            if asks != account.is_asked {
                account.is_asked = asks;
                send_frame(now, number, pauses, &mut self.links, &mut self.agenda);
            }
        }
        pauses.touched.clear();
    }

    /// A link fails. The port of a link that fails, or whose link back does, is not paused any more: frames under way are lost.
    pub(super) fn end_pauses(&mut self, now: u64, link: usize) {
        let Some(pauses) = self.pauses.as_deref_mut() else { return };
        for index in 0..pauses.pausers.len() {
            if !pauses.pausers[index].takes(link) {
                continue;
            }
            pauses.pausers[index].frames.clear();
            self.agenda.set_pause_frame(index, NEVER);
            for number in 0..pauses.accounts.len() {
                if pauses.accounts[number].pause == index && pauses.accounts[number].since != NEVER {
                    set_pause(now, number, false, pauses, &mut self.links, &mut self.agenda);
                }
            }
        }
    }

    /// A link has recovered. Nodes ask again for the pauses that they ask for, if both directions work.
    pub(super) fn ask_again(&mut self, now: u64, link: usize) {
        let Some(pauses) = self.pauses.as_deref_mut() else { return };
        for number in 0..pauses.accounts.len() {
            let Account { pause, is_asked, .. } = pauses.accounts[number];
            if is_asked && pauses.pausers[pause].takes(link) {
                send_frame(now, number, pauses, &mut self.links, &mut self.agenda);
            }
        }
    }

    /// A pause frame arrives.
    pub(super) fn hear_pause(&mut self, now: u64, pause: usize) {
        let Some(pauses) = self.pauses.as_deref_mut() else { return };
        let pauser = &mut pauses.pausers[pause];
        let Some(Frame { account, pauses: is_pause, .. }) = pauser.frames.pop_front() else { return };
        self.agenda.set_pause_frame(pause, pauser.frames.front().map_or(NEVER, |frame| frame.arrives));
        set_pause(now, account, is_pause, pauses, &mut self.links, &mut self.agenda);
    }

    /// A port that can be paused, and what observes it.
    pub(super) fn pausable(&mut self, link: usize) -> Option<(&mut PausablePort, PauseWatch<'_, 'a>)> {
        let LinkState { port: LinkPort::Driven(driven), rest, .. } = &mut self.links[link] else { return None };
        let PortKind::Pausable(port) = &mut driven.kind else { return None };
        let mark_above = rest.mark_above;
        let ports = PortWatch { meter: &mut rest.meter, flows: &mut self.flows };
        Some((port, PauseWatch { ports, pauses: self.pauses.as_deref_mut()?, mark_above }))
    }
}

/// Sends a frame that asks for what an account asks for, unless a direction of the link has failed.
fn send_frame(now: u64, number: usize, pauses: &mut Pauses, links: &mut [LinkState], agenda: &mut Agenda) {
    let Account { pause, is_asked, .. } = pauses.accounts[number];
    let pauser = &mut pauses.pausers[pause];
    if !pauser.works(links) {
        return;
    }
    let LinkState { port: LinkPort::Driven(driven), rest, propagation, .. } = &mut links[pauser.back] else { return };
    let PortKind::Pausable(PausablePort { port, busy_until }) = &mut driven.kind else { return };
    let start = now.max(*busy_until);
    *busy_until = start + pauser.frame_time;
    port.skip_to(Time::from_picoseconds(*busy_until));
    rest.meter.sent_part(start, *busy_until);
    let arrives = *busy_until + *propagation;
    if pauser.frames.is_empty() {
        agenda.set_pause_frame(pause, arrives);
    }
    pauser.frames.push_back(Frame { arrives, account: number, pauses: is_asked });
}

/// The class of an account is paused from now on, or is not any more.
fn set_pause(now: u64, number: usize, is_pause: bool, pauses: &mut Pauses, links: &mut [LinkState], agenda: &mut Agenda) {
    let account = &mut pauses.accounts[number];
    account.set(now, is_pause);
    let LinkState { port: LinkPort::Driven(driven), .. } = &mut links[pauses.pausers[account.pause].link] else { return };
    let slot = driven.slot;
    let PortKind::Pausable(PausablePort { port, busy_until }) = &mut driven.kind else { return };
    let queues: Vec<Flow> = queues_of(port.classifier(), account.class).collect();
    let at = Time::from_picoseconds(now);
    for queue in queues {
        if is_pause { port.scheduler_mut().pause(at, queue) } else { port.scheduler_mut().release(at, queue) }
    }
    if !is_pause && port.occupancy().packets() > 0 {
        agenda.set_port(slot, now.max(*busy_until));
    }
}

/// Observes a port as any other, and counts what leaves it.
pub(super) struct PauseWatch<'b, 'a> {
    ports: PortWatch<'b, 'a>,
    pauses: &'b mut Pauses,
    /// The queued bytes from which on packets are marked.
    mark_above: u64,
}

impl PauseWatch<'_, '_> {
    fn let_go(&mut self, packet: &Packet<PacketMeta>) {
        self.pauses.let_go(self.ports.flows.routes.account(packet.payload.cursor), packet.length);
    }
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
        self.let_go(&packet);
        self.ports.dropped(now, packet, reason, occupancy);
    }

    fn sent(&mut self, now: Time, packet: &Packet<PacketMeta>, finish: Time, occupancy: &Occupancy) {
        self.let_go(packet);
        self.ports.sent(now, packet, finish, occupancy);
    }
}
