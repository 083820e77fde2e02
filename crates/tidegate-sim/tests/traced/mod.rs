//! What a trace has, and the laws that it keeps.
#![allow(dead_code)]

use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use tidegate_sim::{Completion, LinkId, Network, Origin, Outcome, Step, TraceEvent, TracedConnection, Tracer};

/// Keeps every step.
#[derive(Default)]
pub struct Steps(pub Mutex<Vec<TraceEvent>>);

impl Tracer for Steps {
    fn step(&self, event: &TraceEvent) {
        self.0.lock().unwrap().push(*event);
    }
}

/// The steps of each packet, by its number.
pub fn lives_of(steps: &[TraceEvent]) -> BTreeMap<u64, Vec<TraceEvent>> {
    let mut lives: BTreeMap<u64, Vec<TraceEvent>> = BTreeMap::new();
    steps.iter().for_each(|event| lives.entry(event.packet).or_default().push(*event));
    lives
}

/// Steps come in the order of time, and the ports and the sinks count what the trace has. The outcome is that of one replication without warm-up.
pub fn counts(outcome: &Outcome, steps: &[TraceEvent]) -> Result<(), TestCaseError> {
    prop_assert!(steps.is_sorted_by(|a, b| !b.at.is_before(a.at)));
    for (index, port) in outcome.ports.iter().enumerate() {
        let count =
            |is: fn(&Step) -> bool| steps.iter().filter(|event| event.link == Some(LinkId(index)) && is(&event.step)).count() as u64;
        prop_assert_eq!(count(|step| *step == Step::Offered), port.offered.packets);
        prop_assert_eq!(count(|step| matches!(step, Step::Started { .. })), port.sent.packets);
        prop_assert_eq!(count(|step| matches!(step, Step::Dropped(_))), port.dropped.iter().map(|volume| volume.packets).sum::<u64>());
    }
    for (index, flow) in outcome.flows.iter().enumerate() {
        let is_delivery = |event: &&TraceEvent| event.step == Step::Delivered && event.origin == Origin::Flow(index) && !event.is_answer;
        prop_assert_eq!(steps.iter().filter(is_delivery).count() as u64, flow.delivered.packets);
    }
    Ok(())
}

/// Every packet takes its steps in their order, and none after its end.
pub fn lives(steps: &[TraceEvent]) -> Result<(), TestCaseError> {
    for life in lives_of(steps).values().filter(|life| life.iter().all(|event| event.step != Step::Copied)) {
        prop_assert!(matches!(life[0].step, Step::Offered | Step::Marked), "{:?}", life);
        for pair in life.windows(2) {
            let follows = match pair[0].step {
                Step::Offered => matches!(pair[1].step, Step::Coloured | Step::Marked | Step::Queued { .. } | Step::Dropped(_)),
                Step::Coloured | Step::Marked => pair[1].step != Step::Delivered,
                Step::Queued { .. } => !matches!(pair[1].step, Step::Offered | Step::Queued { .. } | Step::Lost | Step::Delivered),
                Step::Started { .. } => matches!(pair[1].step, Step::Offered | Step::Marked | Step::Lost | Step::Delivered),
                Step::Dropped(_) | Step::Lost | Step::Delivered | Step::Copied => false,
            };
            prop_assert!(follows, "{:?}", life);
        }
    }
    Ok(())
}

/// Every packet of a connection goes from its sender to its receiver, or back, over links that follow each other. Every completion, of which `headers` of each packet
/// are no data, has a connection of its number: its last byte is delivered at its end. Connections without a completion are those that the outcome counts.
pub fn of_connections(
    network: &Network,
    outcome: &Outcome,
    complete: &[Completion],
    headers: u32,
    steps: &[TraceEvent],
) -> Result<(), TestCaseError> {
    for life in lives_of(steps).values() {
        let Origin::Connection(TracedConnection { from, to, .. }) = life[0].origin else { continue };
        let (from, to) = if life[0].is_answer { (to, from) } else { (from, to) };
        let mut at = from;
        prop_assert!(life.iter().all(|event| event.origin == life[0].origin), "{:?}", life);
        if life.iter().any(|event| event.step == Step::Copied) {
            continue;
        }
        for event in life {
            match (event.step, event.link) {
                (Step::Delivered, _) => prop_assert_eq!(at, to, "{:?}", life),
                (Step::Lost, _) | (_, None) => {}
                (step, Some(LinkId(link))) => {
                    prop_assert_eq!(at, network.links[link].from, "{:?}", life);
                    if let Step::Started { .. } = step {
                        at = network.links[link].to;
                    }
                }
            }
        }
    }
    let mut of_connection: HashMap<(usize, u64), Vec<TraceEvent>> = HashMap::new();
    for event in steps {
        if let Origin::Connection(connection) = event.origin {
            of_connection.entry((connection.workload, connection.number)).or_default().push(*event);
        }
    }
    let mut seen = HashSet::new();
    for completion in complete {
        let key = (completion.workload, completion.number);
        prop_assert!(seen.insert(key), "{:?}", completion);
        let events = &of_connection[&key];
        let connection = TracedConnection { workload: key.0, number: key.1, from: completion.from, to: completion.to };
        prop_assert!(events.iter().all(|event| event.origin == Origin::Connection(connection)), "{:?}", completion);
        prop_assert!(events.iter().all(|event| !event.created.is_before(completion.began)));
        let end = completion.began + completion.time;
        let deliveries = || events.iter().filter(|event| event.step == Step::Delivered && !event.is_answer && !end.is_before(event.at));
        let data: u64 = deliveries().map(|event| u64::from(event.length - headers)).sum();
        prop_assert!(data >= completion.bytes && deliveries().any(|event| event.at == end), "{:?}: {}", completion, data);
    }
    for (index, workload) in outcome.workloads.iter().enumerate() {
        let arrived = workload.arrivals - workload.refused;
        let numbers = of_connection.keys().chain(&seen).filter(|(of, _)| *of == index).map(|(_, number)| *number);
        prop_assert!(numbers.max().is_none_or(|number| number < arrived));
        let of_workload = complete.iter().filter(|completion| completion.workload == index).count() as u64;
        prop_assert_eq!(of_workload + workload.unfinished, arrived);
    }
    Ok(())
}
