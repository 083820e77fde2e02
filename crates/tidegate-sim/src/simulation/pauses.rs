//! Ports that can be paused, and the nodes that pause them: [`crate::pause`] has the rules.

use super::data_plane::DataPlane;
use super::flows::PortWatch;
use super::link::{LinkPort, LinkState, PortKind, queues_of};
use super::packet::{InTransit, PacketMeta};
use crate::id::LinkId;
use crate::network::{Network, Pause};
use crate::pause::{Holders, frame_time, links_back};
use crate::route::Hop;
use crate::statistics::port::PauseStatistics;
use crate::time::NEVER;
use std::collections::{HashMap, HashSet, VecDeque};
use tidegate_core::observer::Observer;
use tidegate_core::packet::{Colour, DropReason, Ecn, Flow, Packet};
use tidegate_core::port::{Next, Port, PortSetup, Transmission};
use tidegate_core::queue::Occupancy;
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

/// What nodes hold, and what they have paused.
pub(super) struct Pauses<'a> {
    holders: &'a Holders,
    accounts: Vec<Account>,
    pausers: Vec<Pauser>,
    /// The accounts that have changed since the last look.
    touched: Vec<usize>,
}

/// One class of one link that its far end may pause.
#[derive(Clone, Copy)]
struct Account {
    /// The index of its pause.
    pause: usize,
    /// The class of the link's port.
    class: usize,
    /// The bytes that the node at the far end holds, and the most it has held since the warm-up.
    held: u64,
    greatest: u64,
    /// The last frame for it asked for a pause.
    is_asked: bool,
    /// Since when its class has been paused, at the port; [`NEVER`] if it is not.
    since: u64,
    /// How often it was paused since the warm-up, for how long in all, and for how long at most.
    pauses: u64,
    time: u64,
    longest: u64,
}

/// The far end of a link.
struct Pauser {
    link: usize,
    back: usize,
    above: u64,
    below: u64,
    /// How long a pause frame takes on the link back.
    frame_time: u64,
    /// The frames on their way, in the order in which they arrive.
    frames: VecDeque<Frame>,
}

struct Frame {
    arrives: u64,
    account: usize,
    pauses: bool,
}

impl Account {
    /// Its class is paused at `now`, or is not any more.
    fn set(&mut self, now: u64, is_paused: bool) {
        if is_paused && self.since == NEVER {
            (self.since, self.pauses) = (now, self.pauses + 1);
        } else if !is_paused && self.since != NEVER {
            self.count_until(now);
            self.since = NEVER;
        }
    }

    /// Counts the pause that lasts.
    fn count_until(&mut self, now: u64) {
        if self.since != NEVER {
            self.time += now - self.since;
            self.longest = self.longest.max(now - self.since);
        }
    }
}

impl<'a> Pauses<'a> {
    pub(super) fn new(network: &Network, holders: &'a Holders) -> Pauses<'a> {
        let account = |&(pause, class): &(u32, usize)| {
            let pause = pause as usize;
            Account { pause, class, held: 0, greatest: 0, is_asked: false, since: NEVER, pauses: 0, time: 0, longest: 0 }
        };
        let pauser = |(pause, back): (&Pause, Option<LinkId>)| {
            // A network that has been checked has a link back.
            let back = back.unwrap_or(pause.link);
            let frame_time = frame_time(&network.links[back.0]).picoseconds();
            Pauser { link: pause.link.0, back: back.0, above: pause.above, below: pause.below, frame_time, frames: VecDeque::new() }
        };
        Pauses {
            holders,
            accounts: holders.accounts.iter().map(account).collect(),
            pausers: network.pauses.iter().zip(links_back(network)).map(pauser).collect(),
            touched: Vec::new(),
        }
    }

    /// A packet comes to wait at the port of its hop.
    #[inline]
    fn hold(&mut self, cursor: u32, length: u32) {
        let Some(number) = self.holders.account(cursor) else { return };
        let account = &mut self.accounts[number];
        account.held += u64::from(length);
        self.touched.push(number);
    }

    /// A packet waits no more.
    #[inline]
    fn let_go(&mut self, cursor: u32, length: u32) {
        let Some(number) = self.holders.account(cursor) else { return };
        self.accounts[number].held -= u64::from(length);
        self.touched.push(number);
    }

    /// The warm-up ends.
    pub(super) fn restart(&mut self, now: u64) {
        for account in &mut self.accounts {
            let is_paused = account.since != NEVER;
            (account.greatest, account.pauses, account.time, account.longest) = (account.held, u64::from(is_paused), 0, 0);
            if is_paused {
                account.since = now;
            }
        }
    }

    /// By link, what its far end has paused.
    pub(super) fn finish(mut self, end: u64, links: usize) -> Vec<Vec<PauseStatistics>> {
        let mut of_link = vec![Vec::new(); links];
        for account in &mut self.accounts {
            account.count_until(end);
            let Account { pause, class, greatest, since, pauses, time, longest, .. } = *account;
            let statistics = PauseStatistics { class, pauses, time, longest, is_paused: since != NEVER, greatest_held: greatest };
            of_link[self.pausers[pause].link].push(statistics);
        }
        of_link
    }

    /// What each account holds in each class of the ports behind it, counted from the packets: by account, then link and class.
    fn counted(&self, links: &[LinkState]) -> HashMap<(usize, usize, usize), u64> {
        let mut held = HashMap::new();
        for (link, state) in links.iter().enumerate() {
            let LinkPort::Driven(driven) = &state.port else { continue };
            let PortKind::Pausable(PausablePort { port, .. }) = &driven.kind else { continue };
            for flow in (0..port.classifier().flows() as u32).map(Flow) {
                for (packet, meta) in port.queued(flow) {
                    if let Some(account) = self.holders.account(meta.cursor) {
                        *held.entry((account, link, port.classifier().class_of(flow))).or_insert(0) += u64::from(packet.length);
                    }
                }
            }
        }
        held
    }

    /// The first account whose count differs from the packets that wait: its link, the count, and what waits.
    pub(super) fn miscounted(&self, links: &[LinkState]) -> Option<(usize, u64, u64)> {
        let mut waits = vec![0; self.accounts.len()];
        self.counted(links).into_iter().for_each(|((account, ..), bytes)| waits[account] += bytes);
        let differs = self.accounts.iter().zip(waits).find(|(account, waits)| account.held != *waits);
        differs.map(|(account, waits)| (self.pausers[account.pause].link, account.held, waits))
    }

    /// The links and classes of a deadlock: each is paused because of packets that wait for another of them, so none is ever released.
    /// Of all sets of paused classes of which this is true it is the greatest. In the order of a cycle if there is one, which begins with the first link.
    pub(super) fn deadlock(&self, links: &[LinkState]) -> Vec<(usize, usize)> {
        let mut stuck: HashSet<usize> = (0..self.accounts.len()).filter(|&account| self.accounts[account].is_asked).collect();
        let place = |account: &Account| (self.pausers[account.pause].link, account.class);
        let by_place: HashMap<(usize, usize), usize> =
            self.accounts.iter().enumerate().map(|(number, account)| (place(account), number)).collect();
        if stuck.is_empty() {
            return Vec::new();
        }
        // By account, what of it waits in paused classes: the account of the class, and the bytes.
        let mut waits: Vec<Vec<(usize, u64)>> = vec![Vec::new(); self.accounts.len()];
        for ((account, link, class), bytes) in self.counted(links) {
            if let Some(&other) = by_place.get(&(link, class)) {
                waits[account].push((other, bytes));
            }
        }
        let waits_for = |stuck: &HashSet<usize>, number: usize| {
            waits[number].iter().copied().filter(|(other, _)| stuck.contains(other)).collect::<Vec<_>>()
        };
        loop {
            let is_released = |&number: &usize| {
                let stays: u64 = waits_for(&stuck, number).iter().map(|(_, bytes)| bytes).sum();
                stays <= self.pausers[self.accounts[number].pause].below
            };
            let released: Vec<usize> = stuck.iter().copied().filter(is_released).collect();
            if released.is_empty() {
                break;
            }
            released.iter().for_each(|number| {
                stuck.remove(number);
            });
        }
        // From the first on, each waits for the next; what leads back to one that was seen closes the cycle.
        let mut way: Vec<usize> = stuck.iter().copied().min().into_iter().collect();
        while let Some(&last) = way.last() {
            let Some((next, _)) = waits_for(&stuck, last).into_iter().min() else { break };
            if let Some(first) = way.iter().position(|&seen| seen == next) {
                way.drain(..first);
                break;
            }
            way.push(next);
        }
        way.into_iter().map(|number| place(&self.accounts[number])).collect()
    }
}

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
