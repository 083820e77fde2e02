//! Cost of enqueue plus dequeue under a tree of subscribers: link, sites, subscribers with a contract each, and their queues.
//!
//! There are about as many sites as subscribers in each. Weights are 1 to 4. Every queue has one packet of 64 bytes, or, after `4x4-`, every
//! subscriber four queues of four. After `general-` the tree is a [`Hierarchy`], which serves the same packets.
//!
//! | name | contracts |
//! |---|---|
//! | `free` | of subscribers, four times their share: none binds |
//! | `wait` | of subscribers, together less than the link: every packet waits for its own |
//! | `blocked` | nine subscribers in ten have a hundredth of their share, the others take the rest |
//! | `caps` | as `free`, and of sites, together less than the link: every packet waits for its site |
//! | `churn` | as `free`; half of the queues are empty, and every packet that leaves comes back to a random queue |

use crate::flows::Random;
use crate::schedule::{Node, PORT_RATE, ROUND_PACKETS};
use crate::{BURST, Benchmark, PACKET_BYTES};
use tidegate_core::packet::Flow;
use tidegate_core::registry::{AnyScheduler, SchedulerKind};
use tidegate_core::scheduler::{FlowParameters, Hierarchy, LeafSpec, NodeSpec};
use tidegate_core::shaper::ShapingContract;
use tidegate_core::units::Rate;

/// The longest packet, in bytes.
const LONGEST: u32 = 1522;

/// What the names begin with.
pub const PREFIX: &str = "subscribers/";

const LOADS: [&str; 5] = ["free", "wait", "blocked", "caps", "churn"];

/// What the names of trees in the general form go on with.
const GENERAL: &str = "general-";

/// Every load, with one packet and with four queues of four.
pub fn names() -> impl Iterator<Item = String> {
    ["", "4x4-", GENERAL].into_iter().flat_map(|form| LOADS.into_iter().map(move |load| format!("{PREFIX}{form}{load}")))
}

/// Builds the tree for this number of subscribers and runs it for two packets per queue.
///
/// # Errors
/// An unknown name, or rates that are out of range.
pub fn set_up(name: &str, subscribers: u32, backlog: u32) -> Result<Benchmark, String> {
    let load = name.strip_prefix(PREFIX).unwrap_or(name);
    let (load, is_general) = load.strip_prefix(GENERAL).map_or((load, false), |load| (load, true));
    let (load, queues, backlog) = match load.strip_prefix("4x4-") {
        Some(load) => (load, 4, 4),
        None => (load, 1, backlog),
    };
    if !LOADS.contains(&load) {
        return Err(format!("no load of subscribers is called \"{load}\""));
    }
    let mut random = Random::new();
    let scheduler = tree(load, subscribers, queues, is_general, &mut random)?;
    let flows = subscribers * queues;
    let is_churn = load == "churn";
    let mut node = Node::new(scheduler, flows, backlog)?;
    let order = random.shuffled(flows);
    // A burst leaves before its packets come back.
    let filled = if is_churn { (node.packets / 2).max(BURST as u32) } else { node.packets };
    for index in 0..filled {
        node.enqueue(Flow(order[(index % flows) as usize]));
    }
    if is_churn {
        node.scatter = Some(random);
    }
    let waits = node.run((2 * u64::from(node.packets)).max(ROUND_PACKETS));
    Ok(Benchmark {
        operation: format!("schedule-{name}"),
        flows: subscribers,
        facts: format!(",waits={waits}"),
        round: Box::new(move || {
            node.run(ROUND_PACKETS);
            ROUND_PACKETS
        }),
    })
}

fn tree(load: &str, subscribers: u32, queues: u32, is_general: bool, random: &mut Random) -> Result<AnyScheduler, String> {
    let link = Rate::new(PORT_RATE).map_err(|error| error.to_string())?;
    let (share, sites) = (PORT_RATE / u64::from(subscribers), subscribers.isqrt().max(1));
    let contract =
        |bits: u64| Rate::new(bits.clamp(1000, PORT_RATE)).map(|rate| ShapingContract::new(rate, 4 * PACKET_BYTES, PACKET_BYTES));
    let part = |of: u64, random: &mut Random| of * u64::from(5000 + random.below(2501)) / 10_000;
    let node = |parent, weight, shape| {
        let parameters = FlowParameters { weight: Some(weight), ..FlowParameters::default() };
        NodeSpec { shape, ..NodeSpec::new(parent, SchedulerKind::DeficitRoundRobin, link, parameters) }
    };
    let mut nodes = vec![node(None, 1, None)];
    for _ in 0..sites {
        let cap = part(PORT_RATE / u64::from(sites), random);
        let shape = if load == "caps" { Some(contract(cap).map_err(|error| error.to_string())?) } else { None };
        nodes.push(node(Some(0), 1, shape));
    }
    let mut leaves = Vec::new();
    for subscriber in 0..subscribers {
        let bits = match load {
            "wait" => part(share, random),
            "blocked" if random.below(10) > 0 => share / 100,
            "blocked" => 100 * share,
            _ => 4 * share,
        };
        let shape = Some(contract(bits).map_err(|error| error.to_string())?);
        let site = 1 + (u64::from(subscriber) * u64::from(sites) / u64::from(subscribers)) as usize;
        let weight = 1 + random.below(4);
        let parameters = FlowParameters { weight: Some(weight), ..FlowParameters::default() };
        if queues == 1 {
            leaves.push(LeafSpec { parent: site, parameters, shape });
            continue;
        }
        nodes.push(node(Some(site), weight, shape));
        let queue = LeafSpec { parent: nodes.len() - 1, parameters: FlowParameters::default(), shape: None };
        leaves.extend(std::iter::repeat_n(queue, queues as usize));
    }
    let built = if is_general {
        Hierarchy::build(LONGEST, &nodes, &leaves).map(|tree| AnyScheduler::Hierarchy(Box::new(tree)))
    } else {
        AnyScheduler::tree(LONGEST, (nodes.len(), |node| nodes[node]), (leaves.len(), |leaf| leaves[leaf]))
    };
    built.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_subscribers_are_measured_too() {
        for name in names() {
            for subscribers in [1, 2, 33] {
                set_up(&name, subscribers, 1).unwrap();
            }
        }
    }

    #[test]
    fn packets_wait_where_contracts_bind() {
        for name in names() {
            let facts = set_up(&name, 1024, 1).unwrap().facts;
            let waits: u32 = facts.rsplit_once("waits=").unwrap().1.parse().unwrap();
            assert_eq!(waits > 0, name.ends_with("wait") || name.ends_with("caps"), "{name}: {facts}");
        }
    }
}
