//! The machine as one first-in first-out queue with one server: what a model without levels, bus and limits predicts.
//!
//! **Law.** Lindley's recursion: a packet starts when it has arrived and the one before has left the server. The bus both ways
//! and the outgoing wire, all idle, are added to each delay.

use crate::arrivals::Emitter;
use crate::bus_timing::Timing;
use crate::cost::Costs;
use crate::kernel::Entries;
use crate::machine::{Machine, RouterFlow};
use crate::measure::Measures;
use crate::nic::Wire;
use crate::outcome::{Batches, CoreUse, GuardUse, RouterOutcome, Trial};
use tidegate_sim::events::Events;
use tidegate_sim::random::Stream;

/// Runs one trial of the single queue of a machine that has been checked. The wires in are as in the other models.
pub(crate) fn run(machine: &Machine, flows: &[RouterFlow], trial: &Trial, has_entries: bool) -> RouterOutcome {
    let (begin, end) = trial.window();
    let last = end + trial.tail.picoseconds();
    let costs = Costs::new(machine, &mut Stream::new(trial.seed, 0, Costs::STREAM));
    let entries = Entries::new(machine);
    let entry = if has_entries { 2 * entries.interrupt + entries.soft + entries.reclaim } else { 0 };
    let timing = Timing::new(&machine.bus);
    let wires: Vec<Wire> = machine.nics.iter().map(Wire::new).collect();
    let mut emitters = Emitter::all(flows, trial.seed);
    let mut events = Events::new(emitters.len());
    emitters.iter_mut().enumerate().for_each(|(index, emitter)| events.set(index, emitter.first()));
    let mut measures = Measures::new(flows.len(), begin..end);
    let mut link_free = vec![0; machine.nics.len()];
    let mut held = vec![0; flows.len()];
    let (mut free, mut busy, mut count) = (0, 0, 0);
    loop {
        let (at, index) = events.first();
        if at > last {
            break;
        }
        count += 1;
        let (mut packet, next) = emitters[index].emit(at);
        events.set(index, next);
        let flow = &flows[packet.flow as usize];
        let link = &mut link_free[flow.input];
        *link = at.max(*link) + wires[flow.input].time(packet.length);
        packet.arrived = *link;
        let service = costs.stages(&packet, 0..machine.stages.len()) + entry;
        free = packet.arrived.max(free) + service;
        busy += service;
        let beyond = flow.output.map_or(0, |output| wires[output].time(packet.length));
        let transfers = timing.whole(true, packet.length).time + timing.whole(false, packet.length).time;
        let done = free + transfers + beyond;
        if packet.arrived <= last {
            measures.arrive(&packet);
            if done <= last {
                measures.leave(&packet, done);
            } else {
                held[packet.flow as usize] += 1;
            }
        }
    }
    let part = busy as f64 / free.max(1) as f64;
    RouterOutcome {
        flows: measures.finish(&held),
        measured: trial.duration,
        cores: vec![CoreUse { kernel: part, ..CoreUse::default() }],
        bus: Vec::new(),
        batches: Batches::default(),
        guard: GuardUse::default(),
        events: count,
    }
}
