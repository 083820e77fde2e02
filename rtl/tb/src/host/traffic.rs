//! Random runs of an engine between AXI4-Streams, beside the golden model.
//!
//! Only the streams of words are compared. The host loads contracts, sends packets while nothing is decided, and takes reports until all
//! queues are empty; several times, so that streams come back. Words come and are taken at random.
//!
//! **Law.**
//! 1. Decisions, their clock, and the heads that are dropped before each are those of the model, each once.
//! 2. A word that is offered stays as it is until it is taken.
//! 3. Of every stream, packets sent = served + dropped; at the end none is left.
//! 4. Each question gets one answer, which is the model's.

use super::{Edge, Host};
use crate::contracts::{Traffic, contracts};
use crate::golden::golden;
use crate::mismatch::Checked;
use crate::random::Random;
use crate::reports::Served;
use crate::setup::{Done, Failure, Setup, until};
use std::collections::VecDeque;
use tidegate_core::dwcs::{Choice, Dwcs, Stream};
use tidegate_core::packet::Flow;
use tidegate_rtl_model::MOST_STREAMS;

/// Drops are rare in random contracts, and come in every decision where all ask for every slot.
const TRAFFIC: &[Traffic] = &[Traffic::Random, Traffic::Random, Traffic::AllDrop, Traffic::AllMiss, Traffic::Alike];

/// Seed after seed, each with a design and contracts of its own.
pub fn random(setup: &Setup, edge: Edge, first: u64, decisions: u64) -> Result<Done, Failure> {
    let depth = setup.parameters.get("Depth")? as u64;
    until(decisions, first, |seed, _| {
        let mut random = Random::new(seed);
        let total = setup.streams;
        let start = random.pick(&[0, 32_700, 65_500, 65_530]) + random.below(30);
        // Denominators beyond 255, which the scan does not know, do not come up.
        let is_device = total <= MOST_STREAMS;
        let penalties: &[u32] = if is_device { &[0, 1, 100] } else { &[0] };
        let streams = contracts(random.pick(TRAFFIC), total, (1, start), penalties, &mut random);
        let mut model = golden(is_device.then_some(total), &streams, start)?;
        let mut host = Host::new(setup.design(random.bits())?, edge, random.bits())?;
        run(&mut host, &mut *model, &streams, (start, depth), &mut random).map_err(Failure::of(seed))?;
        Ok(Done { decisions: host.decisions, cycles: host.cycle, unhindered: (0, 0) })
    })
}

/// Contracts, then several times packets and decisions until none is left.
fn run(host: &mut Host, model: &mut dyn Dwcs, streams: &[Stream], (start, depth): (u64, u64), random: &mut Random) -> Checked<()> {
    let total = streams.len();
    host.reset(start)?;
    let mut order: Vec<usize> = (0..total).collect();
    random.shuffle(&mut order);
    for stream in order {
        host.contract(stream, &streams[stream], start)?;
    }
    host.count()?;

    let mut now = start;
    for _ in 0..if host.edge.lanes.is_some() { 40 } else { 3 } {
        // Packets of several streams in turn, none later than the clock; some streams get none.
        let mut queues = vec![VecDeque::new(); total];
        let mut arrival = now.saturating_sub(random.below(5000));
        let mut due: Vec<usize> = match host.edge.lanes {
            Some(lanes) => (0..lanes).map(|lane| lane + lanes * random.below((total / lanes) as u64) as usize).collect(),
            None => {
                let most = 1 + random.below(depth);
                (0..total).flat_map(|stream| std::iter::repeat_n(stream, random.below(most + 1) as usize)).collect()
            }
        };
        random.shuffle(&mut due);
        for stream in due {
            arrival = (arrival + random.below(3)).min(now);
            host.packet(stream, arrival)?;
            queues[stream].push_back(arrival);
        }
        for (stream, queue) in queues.iter_mut().enumerate() {
            if let Some(first) = queue.pop_front() {
                model.activate(now, Flow(stream as u32), first);
            }
        }
        host.decide()?;
        let mut drops = Vec::new();
        loop {
            match model.select(now) {
                Choice::Discard(stream) => {
                    drops.push(stream.index());
                    model.lost(stream, queues[stream.index()].pop_front());
                }
                Choice::Serve(stream) => {
                    host.expect(&mut drops, Some(Served { stream: stream.index(), timestamp: now as u16 }))?;
                    now += 1;
                    model.served(stream, now, queues[stream.index()].pop_front());
                }
                Choice::WaitUntil(_) | Choice::Idle => break,
            }
        }
        host.expect(&mut drops, None)?;
        host.rest()?;
        if let Some(stream) = (0..total).find(|&stream| !queues[stream].is_empty()) {
            return host.fail("report", format!("the model has packets of stream {stream} left"));
        }
        let asked = random.below(total as u64) as usize;
        let questions: Vec<_> = (0..total.min(16))
            .map(|stream| (asked + stream) % total)
            .map(|stream| (stream, streams[stream], model.standing(Flow(stream as u32))))
            .collect();
        host.ask(&questions, now)?;
    }
    Ok(())
}
