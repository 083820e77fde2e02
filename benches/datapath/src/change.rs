//! Cost of changing flows while others are served: nanoseconds per flow.
//!
//! Flows are changed in random order, each to parameters of its own; every second one is backlogged.
//!
//! | name | operation |
//! |---|---|
//! | `X` | a flow of scheduler X, backlogged or not, gets other parameters |
//! | `X/replace` | a flow that is not backlogged leaves, and another one takes its place |
//! | `transition/X` | a port gets another policy: the module of transitions says more |
//! | `transition/subscribers`, `transition/one-subscriber` | a port with subscribers changes: the module of their changes says more |

use crate::flows::Random;
use crate::schedule::{PORT_RATE, draw};
use crate::{Benchmark, PACKET_BYTES, subscriber_changes, transition};
use tidegate_core::packet::{Colour, Flow, Head};
use tidegate_core::registry::SchedulerKind;
use tidegate_core::scheduler::{FlowParameters, Scheduler, Setup};
use tidegate_core::units::{Rate, Time};

/// Changes in one round; few in the tests.
const ROUND_CHANGES: u64 = if cfg!(any(test, debug_assertions)) { 1 << 10 } else { 1 << 16 };

/// Parameters that flows get in turn.
const DRAWS: u32 = 1021;

/// What follows the name of a scheduler if flows are replaced.
const REPLACE: &str = "/replace";

/// Every scheduler that does not shape, with both operations, and transitions between policies.
pub fn names() -> impl Iterator<Item = String> {
    of_flows().chain(transition::names()).chain(subscriber_changes::names())
}

fn of_flows() -> impl Iterator<Item = String> {
    let plain = SchedulerKind::ALL.iter().filter(|kind| !kind.shapes());
    plain.flat_map(|kind| ["", REPLACE].map(|operation| format!("{}{operation}", kind.name())))
}

/// Builds the scheduler of the named operation, with every second flow backlogged.
///
/// # Errors
/// An unknown name, or parameters that the scheduler refuses.
pub fn set_up(name: &str, flows: u32) -> Result<Benchmark, String> {
    if let Some(benchmark) = subscriber_changes::set_up(name, flows)? {
        return Ok(benchmark);
    }
    if name.starts_with(transition::PREFIX) {
        return transition::set_up(name, flows);
    }
    let replaced = name.strip_suffix(REPLACE);
    let is_replaced = replaced.is_some();
    let kind = SchedulerKind::from_name(replaced.unwrap_or(name)).filter(|kind| !kind.shapes());
    let kind = kind.ok_or_else(|| format!("there is no change of \"{name}\""))?;
    let mut random = Random::new();
    let given: Vec<FlowParameters> = (0..flows).map(|_| draw(kind, flows, &mut random)).collect();
    let others: Vec<FlowParameters> = (0..DRAWS).map(|_| draw(kind, flows, &mut random)).collect();
    let rate = Rate::new(PORT_RATE).map_err(|error| error.to_string())?;
    let mut scheduler = kind.build(&Setup::new(rate, 1522), &given).map_err(|error| error.to_string())?;
    scheduler.start(Time::ZERO);
    let order = random.shuffled(flows);
    for (number, &flow) in order.iter().filter(|&&flow| flow % 2 == 0).enumerate() {
        let head = Head { length: PACKET_BYTES, number: number as u32, arrival: Time::ZERO, colour: Colour::Green };
        scheduler.activate(Time::ZERO, Flow(flow), head);
    }
    let order: Vec<u32> = order.into_iter().filter(|&flow| !is_replaced || flow % 2 == 1 || flows == 1).collect();
    if is_replaced && flows == 1 {
        scheduler.lost(Time::ZERO, Flow(0), None);
    }
    let (mut next_flow, mut next_draw) = (0, 0);
    Ok(Benchmark {
        operation: format!("change-{name}"),
        flows,
        facts: String::new(),
        round: Box::new(move || {
            for _ in 0..ROUND_CHANGES {
                let flow = Flow(order[next_flow]);
                next_flow = if next_flow + 1 == order.len() { 0 } else { next_flow + 1 };
                next_draw = if next_draw + 1 == others.len() { 0 } else { next_draw + 1 };
                if is_replaced {
                    scheduler.forget(Time::ZERO, flow);
                }
                scheduler.change(Time::ZERO, flow, &others[next_draw]).expect("what was drawn fits any flow");
            }
            ROUND_CHANGES
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_can_be_measured() {
        for name in of_flows() {
            for flows in [1, 1000] {
                let mut benchmark = set_up(&name, flows).unwrap();
                assert_eq!((benchmark.round)(), ROUND_CHANGES, "{name}");
            }
        }
        assert!(set_up("none", 8).is_err());
    }
}
