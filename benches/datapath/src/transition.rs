//! Cost of a transition from one policy to another: nanoseconds per class for which the port is blocked.
//!
//! Every class has ten packets queued, rules and a policer of its own. Nine of ten continue; the tenth is gone, and its packets are classified
//! anew, or every tenth class comes back. The policy beside the port is prepared outside of what is measured.
//!
//! | name | operation |
//! |---|---|
//! | `transition/X` | a port with scheduler X gets another policy |

use crate::Benchmark;
use crate::schedule::PORT_RATE;
use tidegate_core::buffer::BufferParameters;
use tidegate_core::classifier::{ClassRules, Classifier, Header, Network, Prefix, Rule, Transport};
use tidegate_core::packet::Colour;
use tidegate_core::policer::Contract;
use tidegate_core::port::{Port, PortSetup, Transition};
use tidegate_core::registry::{BufferKind, PolicerKind, SchedulerKind};
use tidegate_core::remark::Remarks;
use tidegate_core::scheduler::{FlowParameters, Parameter, Setup};
use tidegate_core::units::{Overhead, Rate, Time};

/// What the names of these operations begin with.
pub(crate) const PREFIX: &str = "transition/";

/// Schedulers between whose policies a port is switched: a ring, two timing wheels, and groups of flows.
const SCHEDULERS: [SchedulerKind; 3] = [SchedulerKind::DeficitRoundRobin, SchedulerKind::Wf2qPlus, SchedulerKind::QuickFair];

/// Packets queued in each class.
const BACKLOG: u32 = 10;
/// The longest packet on the wire, in bytes.
const FRAME: u32 = 1538;

/// The operations.
pub(crate) fn names() -> impl Iterator<Item = String> {
    SCHEDULERS.iter().map(|kind| format!("{PREFIX}{}", kind.name()))
}

/// Builds a port for this scheduler, with packets in each of its classes.
///
/// # Errors
/// An unknown name, or parameters that are refused.
pub(crate) fn set_up(name: &str, classes: u32) -> Result<Benchmark, String> {
    let kind = SCHEDULERS.into_iter().find(|kind| name.strip_prefix(PREFIX) == Some(kind.name()));
    let kind = kind.ok_or_else(|| format!("there is no change of \"{name}\""))?;
    let mut port: Port<u32> = Port::new(Time::ZERO, policy(kind, classes, true)?);
    for class in (0..BACKLOG).flat_map(|_| 0..classes) {
        port.offer(Time::ZERO, port.classifier().classify(&header(class)), 1000, Colour::Green, class, &mut ());
    }
    policy(kind, classes, false)?;
    let (mut is_whole, mut ready, mut retired) = (true, None, None);
    Ok(Benchmark {
        operation: format!("change-{name}"),
        flows: classes,
        facts: format!(",queued={}", port.occupancy().packets()),
        round: Box::new(move || {
            if let Some((transition, classifier)) = ready.take() {
                let reclassify = |_: &_, &class: &u32| Some(Classifier::classify(&classifier, &header(class)));
                // What is left of the old policy is dropped in the next round.
                retired.replace(port.switch(Time::ZERO, transition, reclassify, &mut ()));
                return u64::from(classes);
            }
            drop(retired.take());
            is_whole = !is_whole;
            let transition = Transition::prepare(&port, policy(kind, classes, is_whole).expect("both policies have been built"));
            let classifier = transition.classifier().clone();
            ready = Some((transition, classifier));
            0
        }),
    })
}

/// The header of the packets of this class.
fn header(class: u32) -> Header {
    Header { network: Network::V4 { source: class, destination: 1, transport: Transport::default() }, ..Header::default() }
}

/// The policy with all classes, or without every tenth.
fn policy(kind: SchedulerKind, classes: u32, is_whole: bool) -> Result<PortSetup, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let rules = |class: u32| vec![Rule { source: Some(Prefix::V4 { address: class, length: 32 }), ..Rule::default() }];
    let chosen = (0..classes).filter(|class| is_whole || class % 10 != 1);
    let mut list: Vec<_> = chosen.map(|class| ClassRules { name: format!("class {class}"), queues: 1, rules: rules(class) }).collect();
    list.push(ClassRules { name: "rest".into(), queues: 1, rules: vec![] });
    let classifier = Classifier::new(list, 1).map_err(|error| text(&error))?;
    let rate = Rate::new(PORT_RATE).map_err(|error| text(&error))?;
    let share = Rate::new(PORT_RATE / (u64::from(classes) + 1)).map_err(|error| text(&error))?;
    let given = FlowParameters { rate: kind.requires().contains(&Parameter::Rate).then_some(share), ..FlowParameters::default() };
    // Every packet conforms.
    let contract = Contract { burst: Some(2 * BACKLOG * FRAME), ..Contract::new(share, FRAME) };
    let policer = PolicerKind::Gcra.build(&contract).map_err(|error| text(&error))?;
    let packet_limit = BACKLOG * classes;
    let limits = BufferParameters { flows: classifier.flows(), packets: Some(packet_limit), ..BufferParameters::default() };
    Ok(PortSetup {
        rate,
        overhead: Overhead::ETHERNET,
        policers: vec![Some(policer); classifier.classes().len()],
        aqms: Vec::new(),
        seed: 0,
        buffer: BufferKind::LongestQueuePushOut.build(&limits).map_err(|error| text(&error))?,
        scheduler: kind.build(&Setup::new(rate, FRAME), &vec![given; classifier.flows()]).map_err(|error| text(&error))?,
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
    fn every_second_round_switches_and_no_packet_is_lost() {
        for name in names() {
            let mut benchmark = set_up(&name, 100).unwrap();
            assert_eq!(benchmark.facts, ",queued=1000", "{name}");
            let rounds: Vec<u64> = (0..4).map(|_| (benchmark.round)()).collect();
            assert_eq!(rounds, [0, 100, 0, 100], "{name}");
        }
        assert!(set_up("transition/none", 8).is_err());
    }
}
