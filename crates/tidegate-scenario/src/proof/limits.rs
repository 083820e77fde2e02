//! What bounds a queue to which something comes that nothing limits.
//!
//! * A packet that leaves has waited for at most what a full buffer holds. It holds for any source, with losses possible.
//! * A class with a budget is for calls alone, which are admitted while no packet can wait for longer than that, whatever they send of what they declare.
//! * A source with a window keeps no more than that in its first queue. Beside such sources, those with a curve wait for a time that follows from both.

use super::arrivals::Lengths;
use super::bundles::Bundle;
use super::queues::{Queue, Queues};
use crate::policy::{Class, Policy};
use crate::units::Limit;
use tidegate_bounds::aggregate::Aggregate;
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::quantity::{NoBound, PICOBITS, Picoseconds, times, up};
use tidegate_bounds::service::{Row, behind_limit, beside_windows};
use tidegate_bounds::source::rescaled;
use tidegate_core::units::Overhead;

/// What a queue holds at most, and how long the last packet of that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// In bits on the wire, the packet in transmission included.
    pub bits: u64,
    /// The bound on the delay.
    pub delay: Picoseconds,
    /// True if the buffer bounds it, so that losses are possible.
    pub by_buffer: bool,
}

/// The least of both bounds.
pub(super) fn least(queues: &Queues<'_>, bundles: &[Bundle], number: usize, lengths: Lengths, row: &Row) -> Option<Held> {
    let by_buffer = held(queues, number, lengths, row).ok();
    let by_window = beside_greedy(bundles, number, lengths, row);
    let all = [by_budget(queues, number, lengths), by_window, by_buffer];
    all.into_iter().flatten().min_by_key(|held| held.delay)
}

/// The classes whose packets are in a queue.
fn classes(queues: &Queues<'_>, number: usize) -> Vec<usize> {
    let Queue { link, class, queue } = queues.all[number];
    let shares = |other: &usize| queues.find(link, *other, if *other == class { queue } else { 0 }) == Some(number);
    (0..queues.policies[link.0].classes.len()).filter(shares).collect()
}

/// The bound of the budgets of a queue: what is in it has left within them.
fn by_budget(queues: &Queues<'_>, number: usize, lengths: Lengths) -> Option<Held> {
    let link = queues.all[number].link;
    let budget = |class: usize| queues.policies[link.0].classes[class].budget.map(|budget| Picoseconds::from(budget.picoseconds()));
    let budgets = classes(queues, number).into_iter().map(budget).collect::<Option<Vec<_>>>().filter(|_| queues.budgets_hold)?;
    let delay = budgets.into_iter().max()?;
    let longest = 8 * u64::from(queues.policies[link.0].overhead.wire_length(lengths.1));
    let left = up(times(queues.highest_rate(link).into(), delay).ok()?, PICOBITS);
    Some(Held { bits: u64::try_from(left).ok()?.saturating_add(longest), delay, by_buffer: false })
}

/// The bound beside sources with windows, if all packets come fresh to the queue.
fn beside_greedy(bundles: &[Bundle], number: usize, lengths: Lengths, row: &Row) -> Option<Held> {
    let (mut sum, mut windows) = (Aggregate::default(), 0u64);
    let mut longest = 0;
    for bundle in bundles.iter().filter(|bundle| bundle.queues.contains(&number)) {
        let (conforming, held) = bundle.beside.as_ref().filter(|_| bundle.queues[0] == number)?;
        sum.add_all(conforming).ok()?;
        windows = windows.saturating_add(*held);
        longest = longest.max(bundle.wire.bits(lengths.1));
    }
    let conforming = if sum.is_empty() { Arrival::token_bucket(0, 0) } else { sum.as_arrival().ok()? };
    let strict = row.strict.as_ref().ok()?;
    let delay = beside_windows(&conforming, windows, longest, strict).ok()?;
    let come = u64::try_from(up(conforming.at(delay).ok()?, PICOBITS)).ok()?;
    Some(Held { bits: come.saturating_add(windows).saturating_add(longest), delay, by_buffer: false })
}

/// What a queue with frames of these lengths holds at most.
///
/// # Errors
/// Why it has no strict service.
fn held(queues: &Queues<'_>, number: usize, lengths: Lengths, row: &Row) -> Result<Held, NoBound> {
    let (link, classes) = (queues.all[number].link, classes(queues, number));
    if queues.transitions(link).is_some_and(|transitions| classes.iter().any(|&class| class >= transitions.stay)) {
        return Err(NoBound::Because("a change of the policy may move packets into its queue"));
    }
    // What one policy has let in stays under the next.
    let (mut bits, mut longest) = (0, 0);
    for policy in queues.states(link) {
        let (held, packet) = held_under(policy, &classes, lengths)?;
        (bits, longest) = (held.max(bits), packet.max(longest));
    }
    // The packet in transmission has left the buffer.
    let bits = bits.saturating_add(longest);
    Ok(Held { bits, delay: behind_limit(&row.strict, bits)?, by_buffer: true })
}

/// What the queue of these classes holds at most under one policy, and its longest packet, in bits.
fn held_under(policy: &Policy, classes: &[usize], lengths: Lengths) -> Result<(u64, u64), NoBound> {
    let longest = 8 * u64::from(policy.overhead.wire_length(lengths.1));
    let in_bits = |limit: Limit| match limit {
        Limit::Packets(packets) => Ok(packets.saturating_mul(longest)),
        Limit::Bytes(bytes) => {
            let frames = Arrival::token_bucket(bytes.saturating_mul(8), 0);
            rescaled(&frames, lengths, Overhead::None, policy.overhead).map(|curve| curve.burst_bits())
        }
    };
    let mut least = u64::from(policy.packet_limit).saturating_mul(longest);
    // The buffers that these classes are in, each once.
    let mut buffers: Vec<Option<usize>> = classes.iter().map(|&class| policy.classes[class].partition).collect();
    buffers.sort_unstable();
    buffers.dedup();
    let mut sum = 0u64;
    for buffer in buffers {
        let limit = buffer.map_or(policy.buffer.limit, |partition| policy.partitions[partition].buffer.limit);
        sum = sum.saturating_add(in_bits(limit)?);
    }
    least = least.min(sum);
    let limits: Option<Vec<Limit>> = classes.iter().map(|&class| limit_of(policy, class)).collect();
    if let Some(limits) = limits {
        let each = limits.into_iter().map(in_bits).collect::<Result<Vec<_>, NoBound>>()?;
        least = least.min(each.into_iter().fold(0, u64::saturating_add));
    }
    Ok((least, longest))
}

/// The limit of what a class puts into a queue; of queues in one order, all together.
fn limit_of(policy: &Policy, class: usize) -> Option<Limit> {
    let Class { limit, queues, queue_scheduler, .. } = &policy.classes[class];
    let together = if *queue_scheduler == tidegate_core::registry::SchedulerKind::Fifo { u64::from(*queues) } else { 1 };
    Some(match (*limit)? {
        Limit::Packets(packets) => Limit::Packets(packets.saturating_mul(together)),
        Limit::Bytes(bytes) => Limit::Bytes(bytes.saturating_mul(together)),
    })
}
