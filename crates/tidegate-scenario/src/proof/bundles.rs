//! Bundles of packets that pass the same queues, and the parts of their paths over which they have a curve.
//!
//! Strands with the same queues and classes are one bundle: first in first out, the bound of all of it is that of each. A bundle without a curve, or behind a
//! queue without a bound, starts anew where something limits it: at a policer that discards, or behind a line.

use super::arrivals::{self, Lengths, Overheads};
use super::paths::Strand;
use super::queues::Queues;
use std::collections::HashMap;
use tidegate_bounds::aggregate::Aggregate;
use tidegate_bounds::curve::{Arrival, TokenBucket};
use tidegate_bounds::quantity::NoBound;
use tidegate_core::units::Overhead;
use tidegate_sim::LinkId;

/// Strands that pass the same queues in the same classes.
pub(super) struct Bundle {
    /// The links, and the queue at each.
    pub links: Vec<LinkId>,
    pub queues: Vec<usize>,
    /// The class at each link.
    pub classes: Vec<usize>,
    /// Its strands.
    pub strands: Vec<usize>,
    /// The lengths of its frames.
    pub lengths: Lengths,
    /// The overheads on its way.
    pub wire: Overheads,
    /// The sum of the curves that are known, and of the windows in which the other sources keep their packets; `None` if one has no window.
    pub beside: Option<(Aggregate, u64)>,
    /// The sum of its strands' curves, or why there is none, and which flow that is about.
    pub arrival: Result<Arrival, (NoBound, usize)>,
}

/// A part of the path of bundles that the network knows as a flow.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The first bundle in it.
    pub bundle: usize,
    /// The hops of the bundle, and behind the last.
    pub hops: (usize, usize),
    /// The curve at its first queue.
    pub arrival: Arrival,
    /// The line that gives the curve, if one does.
    pub line: Option<LinkId>,
}

/// Why a queue has no bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reason {
    /// The reason.
    pub cause: NoBound,
    /// The queue that it is about.
    pub queue: usize,
    /// The flow without a curve, if it is for that.
    pub flow: Option<usize>,
}

/// The bundles of strands.
pub(super) fn bundles(strands: &[Strand]) -> Vec<Bundle> {
    let mut number_of: HashMap<(&[usize], &[usize]), usize> = HashMap::new();
    let mut bundles: Vec<Bundle> = Vec::new();
    let mut sums: Vec<Aggregate> = Vec::new();
    for (number, strand) in strands.iter().enumerate() {
        let bundle = *number_of.entry((&strand.queues, &strand.classes)).or_insert_with(|| {
            bundles.push(Bundle {
                links: strand.links.clone(),
                queues: strand.queues.clone(),
                classes: strand.classes.clone(),
                strands: Vec::new(),
                lengths: strand.lengths,
                wire: strand.wire.clone(),
                beside: Some((Aggregate::default(), 0)),
                arrival: Ok(Arrival::token_bucket(0, 0)),
            });
            sums.push(Aggregate::default());
            bundles.len() - 1
        });
        let of = &mut bundles[bundle];
        of.strands.push(number);
        of.lengths = (of.lengths.0.min(strand.lengths.0), of.lengths.1.max(strand.lengths.1));
        of.beside = of.beside.take().and_then(|(mut sum, windows)| match &strand.arrival {
            Ok(curve) => sum.add(curve).ok().map(|()| (sum, windows)),
            Err(_) => strand.window.map(|window| (sum, windows.saturating_add(window))),
        });
        let added = strand.arrival.clone().and_then(|curve| sums[bundle].add(&curve));
        if let (Ok(_), Err(reason)) = (&of.arrival, added) {
            of.arrival = Err((reason, strand.flow));
        }
    }
    for (bundle, sum) in bundles.iter_mut().zip(sums) {
        if bundle.arrival.is_ok() {
            bundle.arrival = sum.as_arrival().map_err(|reason| (reason, strands[bundle.strands[0]].flow));
        }
    }
    bundles
}

/// The segments, and where each bundle is in them.
pub(super) struct Cut {
    /// The segments.
    pub segments: Vec<Segment>,
    /// Of each bundle the segment at each hop, with the segment's own hop there.
    pub at: Vec<Vec<Option<(usize, usize)>>>,
}

/// Cuts bundles at queues without a bound. A queue to which something comes that nothing limits has none.
pub(super) fn cut(queues: &Queues<'_>, bundles: &[Bundle], unproven: &mut [Option<Reason>]) -> Cut {
    loop {
        let mut is_new = false;
        let mut segments: Vec<Segment> = Vec::new();
        let mut at: Vec<Vec<Option<(usize, usize)>>> = bundles.iter().map(|bundle| vec![None; bundle.queues.len()]).collect();
        for (number, bundle) in bundles.iter().enumerate() {
            let mut is_open = false;
            for (hop, &queue) in bundle.queues.iter().enumerate() {
                let start = if is_open { None } else { starts(queues, bundle, hop) };
                if !is_open && start.is_none() && unproven[queue].is_none() {
                    unproven[queue] = Some(unlimited(bundle, hop, unproven));
                    is_new = true;
                }
                if unproven[queue].is_some() {
                    is_open = false;
                    continue;
                }
                if let Some((arrival, line)) = start {
                    segments.push(Segment { bundle: number, hops: (hop, hop), arrival, line });
                    is_open = true;
                }
                let last = segments.len() - 1;
                segments[last].hops.1 = hop + 1;
                at[number][hop] = Some((last, hop - segments[last].hops.0));
            }
        }
        if !is_new {
            let (segments, number_of) = merged(bundles, segments);
            at.iter_mut().flatten().flatten().for_each(|place| place.0 = number_of[place.0]);
            return Cut { segments, at };
        }
    }
}

/// The curve with which a bundle starts anew at a hop, and the line that gives it: of its sources, of a policer, or of a line.
fn starts(queues: &Queues<'_>, bundle: &Bundle, hop: usize) -> Option<(Arrival, Option<LinkId>)> {
    let fresh = if hop == 0 { bundle.arrival.clone().ok() } else { None };
    match (fresh, policed(queues, bundle, hop)) {
        (Some(fresh), Some(policed)) => Some((fresh.min(&policed), None)),
        (Some(curve), None) | (None, Some(curve)) => Some((curve, None)),
        (None, None) if hop > 0 => line(queues, bundle, hop - 1).map(|curve| (curve, Some(bundle.links[hop - 1]))),
        (None, None) => None,
    }
}

/// Why nothing is known of a bundle at a hop.
fn unlimited(bundle: &Bundle, hop: usize, unproven: &[Option<Reason>]) -> Reason {
    if hop > 0
        && let Some(reason) = &unproven[bundle.queues[hop - 1]]
    {
        return reason.clone();
    }
    let (cause, flow) = bundle.arrival.clone().err().unwrap_or((NoBound::OutOfRange, 0));
    Reason { cause, queue: bundle.queues[hop], flow: Some(flow) }
}

/// What the policer of a bundle's class passes at a hop, in the bundle's bits.
fn policed(queues: &Queues<'_>, bundle: &Bundle, hop: usize) -> Option<Arrival> {
    let link = bundle.links[hop];
    let class = bundle.classes[hop];
    let stays = queues.transitions(link).is_none_or(|transitions| transitions.keeps_policer(class));
    let policing = queues.policies[link.0].classes[class].police.as_deref().filter(|_| stays)?;
    let curve = arrivals::of_policer(policing)?.ok()?;
    bundle.wire.most(&curve, bundle.lengths, queues.network.links[link.0].overhead()).ok()
}

/// What the line of a hop carries of a bundle, in the bundle's bits; `None` where packets are collected from cells.
pub(super) fn line(queues: &Queues<'_>, bundle: &Bundle, hop: usize) -> Option<Arrival> {
    let LinkId(number) = bundle.links[hop];
    let link = &queues.network.links[number];
    let overhead = link.overhead();
    // A copy comes with its original, and late packets among others.
    if overhead == Overhead::Aal5 && (link.cells || link.adapter.is_some()) || link.impairment.disturbance.is_some() {
        return None;
    }
    let rate = queues.highest_rate(LinkId(number));
    let carried = queues.overheads(LinkId(number)).map(|overhead| {
        let longest = 8 * u64::from(overhead.wire_length(bundle.lengths.1));
        bundle.wire.most(&Arrival::token_bucket(longest, rate), bundle.lengths, overhead).ok()
    });
    let widest = |one: Arrival, other: Arrival| Arrival::new([wider(one.sustained(), other.sustained())]);
    carried.collect::<Option<Vec<Arrival>>>()?.into_iter().reduce(widest)
}

/// Segments behind one line that pass the same queues are one: the line limits all of them together. Returns the new number of each.
fn merged(bundles: &[Bundle], segments: Vec<Segment>) -> (Vec<Segment>, Vec<usize>) {
    let mut number_of_key: HashMap<(LinkId, &[usize]), usize> = HashMap::new();
    let (mut kept, mut number_of): (Vec<Segment>, Vec<usize>) = (Vec::new(), Vec::new());
    for segment in segments {
        let queues = &bundles[segment.bundle].queues[segment.hops.0..segment.hops.1];
        let known = segment.line.map(|line| *number_of_key.entry((line, queues)).or_insert(kept.len()));
        let number = known.unwrap_or(kept.len());
        number_of.push(number);
        match kept.get_mut(number) {
            Some(same) => {
                same.arrival = Arrival::new([wider(same.arrival.sustained(), segment.arrival.sustained())]);
            }
            None => kept.push(segment),
        }
    }
    (kept, number_of)
}

/// A bucket that is at least both.
pub(super) fn wider(one: TokenBucket, other: TokenBucket) -> TokenBucket {
    TokenBucket { burst: one.burst.max(other.burst), rate: one.rate.max(other.rate) }
}
