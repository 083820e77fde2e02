//! Cost of changes at a port with many subscribers: the time for which the port is blocked.
//!
//! The link shares by WF2Q+. Each subscriber has a node with a contract, and below it eight queues of sparse round robin with CoDel. Every hundredth has
//! packets queued.
//!
//! | name | operation |
//! |---|---|
//! | `transition/one-subscriber` | a subscriber gets another plan: nanoseconds per subscriber that changes |
//! | `transition/subscribers` | the port switches to a policy as a whole: nanoseconds per subscriber |

use crate::Benchmark;
use crate::schedule::PORT_RATE;
use tidegate_core::aqm::{AqmParameters, AqmSetup};
use tidegate_core::buffer::{BufferParameters, FlowLimit, FlowShare, Override};
use tidegate_core::classifier::{ClassRules, Classifier, Header, Network, Prefix, Rule, Transport};
use tidegate_core::packet::{Colour, Flow};
use tidegate_core::port::{Amendment, Port, PortSetup, Transition};
use tidegate_core::registry::{AnyAqm, AnyScheduler, AqmKind, BufferKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Hierarchy, LeafSpec, Member, NodeSpec};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::{Overhead, Rate, Time};

const AMEND: &str = "transition/one-subscriber";
const SWITCH: &str = "transition/subscribers";

/// The queues of a subscriber.
const QUEUES: u32 = 8;
/// The longest packet on the wire, in bytes.
const FRAME: u32 = 1538;
/// Packets queued for a subscriber that has any.
const BACKLOG: u32 = 10;

/// The operations.
pub(crate) fn names() -> impl Iterator<Item = String> {
    [AMEND, SWITCH].into_iter().map(str::to_owned)
}

/// Builds a port for this operation; `None` for a name of another module.
///
/// # Errors
/// Parameters that are refused.
pub(crate) fn set_up(name: &str, subscribers: u32) -> Result<Option<Benchmark>, String> {
    if name != AMEND && name != SWITCH {
        return Ok(None);
    }
    let mut port: Port<u32> = Port::new(Time::ZERO, policy(subscribers)?);
    for subscriber in (0..BACKLOG).flat_map(|_| (0..subscribers).step_by(100)) {
        port.offer(Time::ZERO, port.classifier().classify(&header(subscriber)), 1000, Colour::Green, subscriber, &mut ());
    }
    let facts = format!(",queued={}", port.occupancy().packets());
    let operation = format!("change-{name}");
    if name == AMEND {
        let mut number = 0u32;
        let (mut prepared, mut replaced): (Option<Amendment>, Option<Amendment>) = (None, None);
        return Ok(Some(Benchmark {
            operation,
            flows: subscribers,
            facts,
            round: Box::new(move || {
                if let Some(mut amendment) = prepared.take() {
                    port.amend(Time::ZERO, &mut amendment).expect("both plans have been built");
                    // What was replaced is dropped in the next round.
                    replaced.replace(amendment);
                    return 1;
                }
                drop(replaced.take());
                number = number.wrapping_add(7919);
                prepared = Some(amendment(number % subscribers, number));
                0
            }),
        }));
    }
    let (mut ready, mut retired) = (None, None);
    Ok(Some(Benchmark {
        operation,
        flows: subscribers,
        facts,
        round: Box::new(move || {
            if let Some(transition) = ready.take() {
                retired.replace(port.switch(Time::ZERO, transition, |packet, _| Some(packet.flow), &mut ()));
                return u64::from(subscribers);
            }
            drop(retired.take());
            ready = Some(Transition::prepare(&port, policy(subscribers).expect("it has been built")));
            0
        }),
    }))
}

/// Another plan for a subscriber.
fn amendment(subscriber: u32, number: u32) -> Amendment {
    let megabits = 5 + number % 90;
    let share = FlowShare { limit: limit(megabits), ..FlowShare::default() };
    let class = subscriber as usize;
    let flows = subscriber * QUEUES..(subscriber + 1) * QUEUES;
    Amendment {
        members: vec![(Member::Node(1 + class), plan(megabits))],
        shares: flows.map(|flow| (Flow(flow), share)).collect(),
        aqms: vec![(class, Some(codel(megabits)))],
        ..Amendment::default()
    }
}

fn rate(megabits: u32) -> Rate {
    Rate::new(u64::from(megabits) * 1_000_000).expect("a rate of some megabits is one")
}

fn limit(megabits: u32) -> FlowLimit {
    FlowLimit { packets: None, bytes: Some(megabits * 50_000) }
}

fn plan(megabits: u32) -> FlowParameters {
    let shape = Some(ShapingContract::new(rate(megabits), 4 * FRAME, FRAME));
    FlowParameters { weight: Some(megabits * 1000), shape, ..FlowParameters::default() }
}

fn codel(megabits: u32) -> AnyAqm {
    let setup = AqmSetup { flows: QUEUES as usize, rate: rate(megabits), longest_frame: 1518 };
    AqmKind::CoDel.build(&setup, &AqmParameters::default()).expect("CoDel needs no parameters")
}

/// The header of the packets of a subscriber.
fn header(subscriber: u32) -> Header {
    Header { network: Network::V4 { source: subscriber, destination: 1, transport: Transport::default() }, ..Header::default() }
}

fn policy(subscribers: u32) -> Result<PortSetup, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let rules = |number: u32| vec![Rule { source: Some(Prefix::V4 { address: number, length: 32 }), ..Rule::default() }];
    let mut classes: Vec<ClassRules> =
        (0..subscribers).map(|number| ClassRules { name: format!("sub-{number}"), queues: QUEUES, rules: rules(number) }).collect();
    classes.push(ClassRules { name: "rest".into(), queues: 1, rules: vec![] });
    let classifier = Classifier::new(classes, 1).map_err(|error| text(&error))?;
    let link = Rate::new(PORT_RATE).map_err(|error| text(&error))?;
    let megabits = |number: u32| 10 + number % 3 * 20;
    let root = NodeSpec { was: Some(0), ..NodeSpec::new(None, SchedulerKind::Wf2qPlus, link, FlowParameters::default()) };
    let node = |number: u32| {
        let FlowParameters { shape, .. } = plan(megabits(number));
        let parameters = FlowParameters { shape: None, ..plan(megabits(number)) };
        let was = Some(1 + number as usize);
        NodeSpec { shape, was, ..NodeSpec::new(Some(0), SchedulerKind::SparseRoundRobin, rate(megabits(number)), parameters) }
    };
    let nodes: Vec<NodeSpec> = std::iter::once(root).chain((0..subscribers).map(node)).collect();
    let leaf = |flow: usize| {
        let subscriber = flow / QUEUES as usize;
        let is_rest = subscriber == subscribers as usize;
        let parameters = FlowParameters { weight: is_rest.then_some(1000), ..FlowParameters::default() };
        LeafSpec { parent: if is_rest { 0 } else { 1 + subscriber }, parameters, shape: None }
    };
    let tree = Hierarchy::build_with(FRAME, (nodes.len(), |node| nodes[node]), (classifier.flows(), leaf)).map_err(|error| text(&error))?;
    let limits =
        (0..subscribers).map(|number| Override { first_flow: Flow(number * QUEUES), flows: QUEUES, limit: limit(megabits(number)) });
    let packet_limit = 1 << 20;
    let limits = BufferParameters {
        flows: classifier.flows(),
        packets: Some(packet_limit),
        overrides: limits.collect(),
        ..BufferParameters::default()
    };
    let mut aqms: Vec<Option<AnyAqm>> = (0..subscribers).map(|number| Some(codel(megabits(number)))).collect();
    aqms.push(None);
    Ok(PortSetup {
        rate: link,
        overhead: Overhead::ETHERNET,
        policers: vec![None; classifier.classes().len()],
        aqms,
        seed: 0,
        buffer: BufferKind::FattestFlow.build(&limits).map_err(|error| text(&error))?,
        scheduler: AnyScheduler::Hierarchy(Box::new(tree)),
        classifier,
        packet_limit,
        longest_frame: 1518,
        remarks: Remarks::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_round_changes_and_no_packet_is_lost() {
        for (name, changed) in names().zip([1, 200]) {
            let mut benchmark = set_up(&name, 200).unwrap().unwrap();
            assert_eq!(benchmark.facts, ",queued=20", "{name}");
            let rounds: Vec<u64> = (0..4).map(|_| (benchmark.round)()).collect();
            assert_eq!(rounds, [0, changed, 0, changed], "{name}");
        }
        assert!(set_up("transition/none", 8).unwrap().is_none());
    }
}
