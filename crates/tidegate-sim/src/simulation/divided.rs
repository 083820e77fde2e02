//! One replication on several threads, each of which plays a part of the network, or several parts.
//!
//! **Law.** The outcome has the same bytes as on one thread. A part plays the events of its nodes in the order in which one thread plays them: its
//! slots keep their order. What comes from another part comes later than all that has been played.

use super::data_plane::DataPlane;
use super::exchange::Exchange;
use super::outbox::Outbox;
use super::packet::{InFlight, InTransit};
use super::{EVENTS_PER_TICK, Played, Simulation, combine};
use crate::course::Course;
use crate::error::SimulationError;
use crate::experiment::Experiment;
use crate::network::Network;
use crate::partition::{Partition, Share, ends};
use crate::route::{BACK, Hop};
use crate::statistics::Replication;
use crate::tcp::receiving_end::Transfer;
use crate::tcp::segment::Message;
use std::slice::Iter;
use std::thread;

impl DataPlane<'_> {
    /// A packet is on its way to a node of another part.
    pub(super) fn post(&mut self, part: u32, link: usize, hop: Hop, arrives: u64, packet: InTransit) {
        let Some(outbox) = &mut self.outbox else { return };
        let mail = &mut outbox.mail[part as usize];
        if hop.flow & BACK != 0 {
            mail.messages.push(self.flows.reverse_path.take(packet.meta.flags));
        }
        mail.earliest = mail.earliest.min(arrives);
        mail.packets.push((link as u32, InFlight::new(arrives, packet)));
    }

    /// The sending end of a connection, the receiving end of which is in another part, begins a transfer.
    pub(super) fn announce(&mut self, flow: usize, connection: usize, transfer: Transfer) {
        let Some(outbox) = &mut self.outbox else { return };
        let (_, to) = ends(outbox.network, &outbox.network.flows[flow]);
        let part = outbox.share.partition.part_of(to);
        outbox.mail[part as usize].transfers.push((connection as u32, transfer));
    }

    /// A packet comes from another part.
    fn receive(&mut self, link: usize, in_flight: InFlight, messages: &mut Iter<Message>) {
        let (arrives, mut packet) = (in_flight.arrives(), in_flight.packet());
        let hop = self.flows.routes.hop(packet.meta.cursor);
        if hop.flow & BACK != 0
            && let Some(message) = messages.next()
        {
            packet.meta.flags = self.flows.reverse_path.put(*message);
        }
        self.enter(link, hop, packet, arrives);
    }
}

impl Simulation<'_> {
    /// Posts what this part has for the others.
    fn post_mail(&mut self, exchange: &Exchange, window: u64) {
        let next = self.plane.agenda.first().0;
        if let Some(Outbox { share, mail, .. }) = self.plane.outbox.as_deref_mut() {
            exchange.post(share.part as usize, window, next, mail);
        }
    }

    /// Takes what the others have posted to this part.
    fn take_mail(&mut self, exchange: &Exchange, window: u64) {
        let Some(part) = self.plane.outbox.as_ref().map(|outbox| outbox.share.part as usize) else { return };
        for mail in exchange.take(part, window) {
            let mut messages = mail.messages.iter();
            for &(link, packet) in &mail.packets {
                self.plane.receive(link as usize, packet, &mut messages);
            }
            mail.transfers.iter().for_each(|&(connection, transfer)| self.connections.expect(connection as usize, transfer));
        }
    }
}

/// The parts that one thread plays, together with those of the others.
struct Parts<'a, 'e> {
    parts: Vec<Simulation<'a>>,
    exchange: &'e Exchange,
    lookahead: u64,
    /// The windows that have been played.
    window: u64,
    /// The events after which progress and cancellation are looked at.
    next_tick: u64,
}

impl<'a> Parts<'a, '_> {
    /// Plays everything before `limit`.
    fn play_until(&mut self, limit: u64, tick: &mut dyn FnMut(f64) -> bool) -> Result<(), SimulationError> {
        loop {
            let (exchange, window) = (self.exchange, self.window);
            self.parts.iter_mut().for_each(|part| part.post_mail(exchange, window));
            let next = exchange.meet(window).map_err(|_| SimulationError::Cancelled)?;
            self.parts.iter_mut().for_each(|part| part.take_mail(exchange, window));
            self.window += 1;
            let events: u64 = self.parts.iter().map(|part| part.plane.events).sum();
            if events >= self.next_tick {
                self.next_tick = events + u64::from(EVENTS_PER_TICK);
                self.parts[0].tick(tick)?;
            }
            if next >= limit {
                return Ok(());
            }
            let end = limit.min(next.saturating_add(self.lookahead));
            self.parts.iter_mut().try_for_each(|part| part.play_until(end, tick))?;
        }
    }

    /// Plays all parts to the end.
    fn play(mut self, (warm_up, end): (u64, u64), tick: &mut dyn FnMut(f64) -> bool) -> Result<Vec<Played<'a>>, SimulationError> {
        self.play_until(warm_up, tick)?;
        self.parts.iter_mut().for_each(Simulation::restart);
        self.play_until(end, tick)?;
        Ok(self.parts.into_iter().map(|part| part.close().0).collect())
    }
}

/// Runs a replication of an experiment on `threads` threads, at most one per part. `tick` as for [`Simulation::run`].
pub(crate) fn run_divided(
    network: &Network,
    experiment: &Experiment,
    course: &Course,
    replication: u32,
    (partition, threads): (&Partition, usize),
    tick: &mut dyn FnMut(f64) -> bool,
) -> Result<Replication, SimulationError> {
    let exchange = Exchange::new(partition.parts, threads);
    let (warm_up, end) = (experiment.warm_up.picoseconds(), experiment.duration.picoseconds());
    let play = |thread: usize, tick: &mut dyn FnMut(f64) -> bool| {
        let mut closing = Closing { exchange: &exchange, is_armed: true };
        let [first, behind] = [thread, thread + 1].map(|thread| thread * partition.parts / threads);
        let part = |part: usize| {
            let share = Share { partition, part: part as u32 };
            Simulation::new(network, experiment, course, replication, None, None, Some(share))
        };
        let parts = (first..behind).map(part).collect();
        let parts = Parts { parts, exchange: &exchange, lookahead: partition.lookahead, window: 0, next_tick: 0 };
        let played = parts.play((warm_up, end), tick);
        closing.is_armed = played.is_err();
        played
    };
    let of_threads = thread::scope(|scope| {
        let play = &play;
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || play(thread, &mut |_| true))).collect();
        let mut of_threads = vec![play(0, tick)];
        for other in others {
            of_threads.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        of_threads
    });
    // Of several errors, the one that is not the consequence of another.
    let mut played = Vec::with_capacity(partition.parts);
    let mut error = None;
    for parts in of_threads {
        match parts {
            Ok(parts) => played.extend(parts),
            Err(SimulationError::Cancelled) => error = error.or(Some(SimulationError::Cancelled)),
            Err(other) => error = Some(other),
        }
    }
    if let Some(error) = error {
        return Err(error);
    }
    tick(1.0);
    combine(network, course, replication, end, Some(partition), played, Replication::default())
}

/// Lets no other thread wait for one that fails or panics.
struct Closing<'a> {
    exchange: &'a Exchange,
    is_armed: bool,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            self.exchange.close();
        }
    }
}
