//! One replication on several threads, each of which plays a part of the network.
//!
//! **Law.** The outcome has the same bytes as on one thread. A part plays the events of its nodes in the order in which one thread plays them: its
//! slots keep their order. What comes from another part comes later than all that has been played.

use super::data_plane::DataPlane;
use super::exchange::Exchange;
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

/// The windows that a part has played.
struct Windows {
    number: u64,
    /// The events after which progress and cancellation are looked at.
    next_tick: u64,
}

impl<'a> Simulation<'a> {
    /// Plays everything before `limit` together with the other parts.
    fn play_windows(
        &mut self,
        limit: u64,
        exchange: &Exchange,
        windows: &mut Windows,
        tick: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), SimulationError> {
        let Some(share) = self.plane.outbox.as_ref().map(|outbox| outbox.share) else { return Ok(()) };
        let part = share.part as usize;
        loop {
            let next = self.plane.agenda.first().0;
            let out = self.plane.outbox.as_mut().map_or(&mut [][..], |outbox| &mut outbox.mail);
            let next = exchange.post(part, windows.number, next, out).map_err(|_| SimulationError::Cancelled)?;
            for mail in exchange.take(part, windows.number) {
                let mut messages = mail.messages.iter();
                for &(link, packet) in &mail.packets {
                    self.plane.receive(link as usize, packet, &mut messages);
                }
                mail.transfers.iter().for_each(|&(connection, transfer)| self.connections.expect(connection as usize, transfer));
            }
            windows.number += 1;
            if self.plane.events >= windows.next_tick {
                windows.next_tick = self.plane.events + u64::from(EVENTS_PER_TICK);
                self.tick(tick)?;
            }
            if next >= limit {
                return Ok(());
            }
            self.play_until(limit.min(next.saturating_add(share.partition.lookahead)), tick)?;
        }
    }

    /// Plays a part to the end.
    fn play_part(mut self, exchange: &Exchange, tick: &mut dyn FnMut(f64) -> bool) -> Result<Played<'a>, SimulationError> {
        let mut windows = Windows { number: 0, next_tick: 0 };
        self.play_windows(self.warm_up, exchange, &mut windows, tick)?;
        self.restart();
        self.play_windows(self.end, exchange, &mut windows, tick)?;
        Ok(self.close().0)
    }
}

/// Runs a replication of an experiment on a thread per part. `tick` as for [`Simulation::run`].
pub(crate) fn run_divided(
    network: &Network,
    experiment: &Experiment,
    course: &Course,
    replication: u32,
    partition: &Partition,
    tick: &mut dyn FnMut(f64) -> bool,
) -> Result<Replication, SimulationError> {
    let exchange = Exchange::new(partition.parts);
    let play = |part: usize, tick: &mut dyn FnMut(f64) -> bool| {
        let mut closing = Closing { exchange: &exchange, is_armed: true };
        let share = Share { partition, part: part as u32 };
        let played = Simulation::new(network, experiment, course, replication, None, None, Some(share)).play_part(&exchange, tick);
        closing.is_armed = played.is_err();
        played
    };
    let parts = thread::scope(|scope| {
        let play = &play;
        let others: Vec<_> = (1..partition.parts).map(|part| scope.spawn(move || play(part, &mut |_| true))).collect();
        let mut parts = vec![play(0, tick)];
        for other in others {
            parts.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        parts
    });
    // Of several errors, the one that is not the consequence of another.
    let mut played = Vec::with_capacity(parts.len());
    let mut error = None;
    for part in parts {
        match part {
            Ok(part) => played.push(part),
            Err(SimulationError::Cancelled) => error = error.or(Some(SimulationError::Cancelled)),
            Err(other) => error = Some(other),
        }
    }
    if let Some(error) = error {
        return Err(error);
    }
    tick(1.0);
    combine(network, course, replication, experiment.duration.picoseconds(), Some(partition), played, Replication::default())
}

/// Lets no other part wait for one that fails or panics.
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
