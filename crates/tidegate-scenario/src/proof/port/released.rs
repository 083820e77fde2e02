//! Rate-controlled service of a port of one node: the delay of each class in its own shaper, and behind the contracts of its priority.
//!
//! Contracts bound what is released only while the link keeps up with all of them. A shaper is charged when a packet starts: a wait beyond the
//! tolerance costs a pause's burst as much.

use super::members::{Below, Members, passes, pauses};
use tidegate_bounds::curve::{Arrival, Service, TokenBucket};
use tidegate_bounds::quantity::{NoBound, Picobits, Picoseconds, bits, plus, times};
use tidegate_bounds::service::{Child, Node, row, shaping_delay};
use tidegate_core::shaper::ShapingContract;

/// The delay of the child `index` of the root, which is `leaf`.
///
/// # Errors
/// Why there is none.
pub(super) fn delay(members: &Members<'_>, node: &Node, index: usize, leaf: usize) -> Result<Picoseconds, NoBound> {
    let because = |reason| Err(NoBound::Because(reason));
    let below = &members.below[0];
    let own = &node.children[index];
    let contract = |member: Below| members.shape(member);
    let asked = below.iter().zip(&node.children).map(|(&member, child)| contract(member).map_or(child.rate, most_asked));
    if asked.fold(0u64, u64::saturating_add) > node.rate {
        return because("the contracts may ask for more than the link, which they share in proportion then");
    }
    if node.children.iter().any(|child| child.priority > own.priority && child.rate > 0) {
        return because("guarantees of lower priorities go first");
    }
    let is_shaped = |wanted: bool| below.iter().zip(&node.children).filter(move |(member, _)| contract(**member).is_some() == wanted);
    if is_shaped(false).any(|(_, open)| is_shaped(true).any(|(_, shaped)| shaped.priority > open.priority)) {
        return because("a class without a contract goes before one with a contract, and may take the whole link");
    }
    let link = Service::link(members.traffic.rate);
    let wait_of = |node: &Node| row(node, &link, index).delay.unwrap_or(Err(NoBound::OutOfRange));
    let Some(shape) = members.leaf(leaf).shape else { return wait_of(node) };
    if pauses(&shape) {
        return because("its dual bucket pauses after a burst until it is full");
    }
    // What is released keeps its own contract, so that it waits in no shaper again.
    let mut released = node.clone();
    released.children[index] = Child { arrival: own.contract.clone().ok_or(NoBound::OutOfRange), ..own.clone() };
    let wait = wait_of(&released)?;
    let held = shaping_delay(&own.arrival.clone()?, &least(&shape, wait)?)?;
    plus(wait, held)
}

/// The most that a contract asks for.
fn most_asked(contract: ShapingContract) -> u64 {
    contract.peak.unwrap_or(contract.rate).bits_per_second()
}

/// What a contract surely grants to packets that wait this long after their release.
fn least(contract: &ShapingContract, wait: Picoseconds) -> Result<Arrival, NoBound> {
    let longest = bits(8 * u64::from(contract.longest_packet));
    let late = (wait - Picoseconds::from(contract.tolerance.picoseconds())).max(0);
    let mut buckets = Vec::new();
    for TokenBucket { burst, rate } in passes(&ShapingContract { tolerance: Default::default(), ..*contract })?.buckets() {
        let burst: Picobits = burst - times((*rate).into(), late)?;
        if burst < longest {
            let reason = "its burst is too small to wait for those that were released before it";
            return Err(NoBound::Because(reason));
        }
        buckets.push(TokenBucket { burst, rate: *rate });
    }
    Ok(Arrival::new(buckets))
}
