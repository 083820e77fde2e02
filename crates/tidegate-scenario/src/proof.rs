//! What is proven of a variant before it runs: for each flow along its path, and for each queue at its port.
//!
//! Curves come from the same file that worlds run: sources and contracts as arrivals, scheduling trees as services. The algebra is that of
//! `tidegate-bounds`.
//!
//! | part | holds |
//! |---|---|
//! | `arrivals` | curves of sources and policers |
//! | `limits` | what a full buffer bounds |
//! | `queues` | the queues in use, numbered |
//! | `transitions` | policies of a port that follow each other |
//! | `paths` | the queues that packets pass |
//! | `bundles` | packets with the same queues, and where they have a curve |
//! | `stages` | the order in which ports are solved |
//! | `port` | what queues are guaranteed |
//! | `network` | all of it as a network, and its solution |

use crate::policy::Policy;
use crate::scenario::Variant;
use crate::simulation::Simulation;
use bundles::{Bundle, Reason};
use limits::Held;
use network::Solved;
use paths::Strand;
use queues::Queues;
use std::collections::{HashMap, HashSet};
use tidegate_bounds::curve::Arrival;
use tidegate_bounds::end_to_end::{Bound, EndToEnd, Method};
use tidegate_bounds::quantity::{NoBound, PICOBITS, Picoseconds, up};
use tidegate_sim::{LinkId, Workload};

pub(crate) mod arrivals;
mod bundles;
mod limits;
mod network;
mod paths;
mod port;
mod queues;
mod stages;
mod transitions;

pub(crate) use arrivals::of_policer;
pub(crate) use port::{Members, Traffic, kept_rate};
pub(crate) use queues::{SEVERAL_PATHS, sharing};

/// What is proven of one variant.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Of each flow of the network, in its order: the bound, or the reason why there is none.
    pub flows: Vec<Result<ProvenFlow, String>>,
    /// Of each queue that flows pass, link by link. Queues that one first-in first-out scheduler serves are one, under the first of them.
    pub queues: Vec<ProvenQueue>,
    /// False if flows take more than [`MOST_PATHS`] paths: bounds are by TFA++ and SFA then, which cost least, but for flows asked for in detail.
    pub is_by_all_methods: bool,
}

/// Why nothing is proven beside a workload.
pub(crate) fn unbounded(workload: &Workload) -> String {
    format!("connections of workload `{}` arrive at random, any number at once", workload.name)
}

/// The most distinct paths for which all methods are used unasked.
pub const MOST_PATHS: usize = 200;

/// What is proven of a flow.
#[derive(Clone, Debug)]
pub struct ProvenFlow {
    /// Its least bound and the method, jitter, backlog at each hop, and the burst with which it leaves.
    pub bound: Bound,
    /// Its queues along the path, as indices of [`Proof::queues`].
    pub queues: Vec<usize>,
    /// The places in the path where nothing but the buffer bounds the delay: of packets that leave, with losses possible.
    pub limited: Vec<usize>,
}

/// What is proven of a queue of a class at a port.
#[derive(Clone, Debug)]
pub struct ProvenQueue {
    /// The port's link.
    pub link: LinkId,
    /// The class, by its index in the policy.
    pub class: usize,
    /// The queue among those of the class.
    pub queue: u32,
    /// The bound on the delay of its packets here, from the last bit in to the last bit out.
    pub delay: Result<Picoseconds, String>,
    /// The most bits that wait in it, the packet in transmission included.
    pub backlog: Result<u64, String>,
    /// True if both are those of a full buffer: they hold for packets that leave, with losses possible.
    pub is_limited: bool,
}

impl Proof {
    /// Proves what can be proven of a variant; `None` for a policy file, which has no flows.
    pub fn of(variant: &Variant) -> Option<Proof> {
        Proof::in_detail(variant, &|_| false, &|_, _| {})
    }

    /// The same by all methods for these flows, however many paths there are; `progress` is told how many paths of how many are done.
    pub fn in_detail(variant: &Variant, by_all: &dyn Fn(usize) -> bool, progress: &dyn Fn(usize, usize)) -> Option<Proof> {
        let simulation: &Simulation = variant.simulation.as_ref()?;
        let policies: Vec<&Policy> =
            (0..simulation.network.links.len()).map(|link| simulation.policy(LinkId(link), &variant.policies)).collect();
        if let Some(workload) = simulation.network.workloads.first() {
            let reason = unbounded(workload);
            let flows = simulation.network.flows.iter().map(|_| Err(reason.clone())).collect();
            return Some(Proof { flows, queues: Vec::new(), is_by_all_methods: true });
        }
        let mut queues = Queues::new(&simulation.network, policies, &variant.changes);
        let strands = match paths::strands(&mut queues) {
            Ok(strands) => strands,
            Err(reason) => {
                let flows = simulation.network.flows.iter().map(|_| Err(reason.clone())).collect();
                return Some(Proof { flows, queues: Vec::new(), is_by_all_methods: true });
            }
        };
        let solved = network::solve(&queues, bundles::bundles(&strands));
        Some(Assembly { queues: &queues, strands: &strands, solved: &solved }.proof(by_all, progress))
    }
}

impl Proof {
    /// The bound on the delay of the packets of each class at a port, by link and class: the largest of its queues, if all in use have one.
    ///
    /// Ports that change, and those that send cells, are left out: their classes are not measured alike.
    pub fn delays_of_classes(&self, variant: &Variant) -> HashMap<(LinkId, usize), Picoseconds> {
        let Some(simulation) = &variant.simulation else { return HashMap::new() };
        let changing: HashSet<LinkId> = variant.changes.iter().flat_map(|change| &change.ports).map(|(link, _)| *link).collect();
        let mut all: HashMap<(LinkId, usize), Option<Picoseconds>> = HashMap::new();
        for ProvenQueue { link, class, queue, delay, .. } in &self.queues {
            let of_link = &simulation.network.links[link.0];
            if changing.contains(link) || of_link.cells || of_link.adapter.is_some() {
                continue;
            }
            for class in sharing(simulation.policy(*link, &variant.policies), *class, *queue) {
                let known = all.entry((*link, class)).or_insert(Some(0));
                *known = known.zip(delay.as_ref().ok()).map(|(known, delay)| known.max(*delay));
            }
        }
        all.into_iter().filter_map(|(class, delay)| Some((class, delay?))).collect()
    }
}

/// All parts together.
struct Assembly<'a> {
    queues: &'a Queues<'a>,
    strands: &'a [Strand],
    solved: &'a Solved,
}

impl Assembly<'_> {
    fn proof(&self, by_all: &dyn Fn(usize) -> bool, progress: &dyn Fn(usize, usize)) -> Proof {
        let Solved { network, total, bundles, unproven, held, .. } = self.solved;
        // Queues in the order of links.
        let mut order: Vec<usize> = (0..self.queues.all.len()).collect();
        order.sort_by_key(|&queue| (self.queues.all[queue].link.0, self.queues.all[queue].class, self.queues.all[queue].queue));
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &queue)| place_of[queue] = place);
        let of_queue = |&queue: &usize| {
            let queues::Queue { link, class, queue: within } = self.queues.all[queue];
            let (delay, backlog) = match (&unproven[queue], held[queue]) {
                (None, _) => (Ok(total.delays[queue]), Ok(total.backlogs[queue].saturating_add(network.servers[queue].longest))),
                (Some(_), Some(held)) => (Ok(held.delay), Ok(held.bits)),
                (Some(reason), None) => (Err(self.why(reason, None)), Err(self.why(reason, None))),
            };
            ProvenQueue {
                link,
                class,
                queue: within,
                delay,
                backlog,
                is_limited: unproven[queue].is_some() && held[queue].is_some_and(|held| held.by_buffer),
            }
        };
        let proven: Vec<ProvenQueue> = order.iter().map(of_queue).collect();
        let count = self.solved.segments.len();
        let are_few = count <= MOST_PATHS;
        let mut in_detail = vec![are_few; count];
        let bundles_and_places = bundles.iter().zip(&self.solved.at);
        let asked = bundles_and_places.filter(|(bundle, _)| bundle.strands.iter().any(|&strand| by_all(self.strands[strand].flow)));
        asked.flat_map(|(_, at)| at.iter().flatten()).for_each(|&(segment, _)| in_detail[segment] = true);
        // Of cycles, programs of the cut cycle improve the fixed point.
        let end_to_end = EndToEnd::new(network).map(|known| if are_few { known.clone().descend().unwrap_or(known) } else { known });
        // The bound of each segment, once.
        let of_segment = |segment: usize| {
            progress(segment, count);
            let end_to_end = end_to_end.as_ref().map_err(Clone::clone)?;
            if in_detail[segment] { end_to_end.flow(segment) } else { end_to_end.quick_flow(segment) }
        };
        let segments: Vec<Result<Bound, NoBound>> = (0..count).map(of_segment).collect();
        let of_bundle: Vec<Result<Bound, Failure>> = (0..bundles.len()).map(|bundle| self.bundle(bundle, &segments)).collect();
        let mut flows: Vec<Option<Result<ProvenFlow, String>>> = vec![None; self.queues.network.flows.len()];
        for (number, bundle) in bundles.iter().enumerate() {
            for &strand in bundle.strands.iter().filter(|&&strand| !self.strands[strand].is_back) {
                let flow = self.strands[strand].flow;
                let found = match &of_bundle[number] {
                    Ok(bound) => Ok(ProvenFlow {
                        bound: self.member(bundle, strand, bound),
                        queues: bundle.queues.iter().map(|&queue| place_of[queue]).collect(),
                        limited: (0..bundle.queues.len()).filter(|&hop| self.is_limited(number, hop)).collect(),
                    }),
                    Err(Failure::Queue(reason)) => Err(self.why(reason, Some(flow))),
                    Err(Failure::Method(reason)) => Err(reason.to_string()),
                };
                let known = &mut flows[flow];
                *known = Some(match (known.take(), found) {
                    (None, found) => found,
                    (Some(Err(reason)), _) | (Some(Ok(_)), Err(reason)) => Err(reason),
                    (Some(Ok(one)), Ok(other)) => Ok(if other.bound.delay > one.bound.delay { other } else { one }),
                });
            }
        }
        let flows = flows.into_iter().map(|flow| flow.unwrap_or_else(|| Err("it sends no packets".to_owned())));
        Proof { flows: flows.collect(), queues: proven, is_by_all_methods: in_detail.iter().all(|&is_asked| is_asked) }
    }

    /// The bound of a bundle: of its segments in a row.
    fn bundle(&self, number: usize, segments: &[Result<Bound, NoBound>]) -> Result<Bound, Failure> {
        let bundle = &self.solved.bundles[number];
        let mut whole: Option<Bound> = None;
        for (hop, at) in self.solved.at[number].iter().enumerate() {
            let queue = bundle.queues[hop];
            let next = match (*at, self.solved.held[queue]) {
                (Some((segment, 0)), _) => Some(segments[segment].clone().map_err(Failure::Method)?),
                (Some(_), _) => None,
                (None, Some(held)) => Some(self.behind_buffer(bundle, hop, held).map_err(Failure::Method)?),
                (None, None) => {
                    let reason = self.solved.unproven[queue].clone();
                    return Err(reason.map_or(Failure::Method(NoBound::OutOfRange), Failure::Queue));
                }
            };
            if let Some(next) = next {
                whole = Some(match whole {
                    None => next,
                    Some(before) => in_a_row(before, next).map_err(Failure::Method)?,
                });
            }
        }
        whole.ok_or(Failure::Method(NoBound::OutOfRange))
    }

    /// True if nothing but the buffer bounds a hop of a bundle.
    fn is_limited(&self, bundle: usize, hop: usize) -> bool {
        let queue = self.solved.bundles[bundle].queues[hop];
        self.solved.at[bundle][hop].is_none() && self.solved.held[queue].is_some_and(|held| held.by_buffer)
    }

    /// The bound of one hop with a full buffer, or beside windows.
    fn behind_buffer(&self, bundle: &Bundle, hop: usize, held: Held) -> Result<Bound, NoBound> {
        let link = &self.queues.network.links[bundle.links[hop].0];
        let delay = held.delay + Picoseconds::from(link.propagation.picoseconds());
        let none = NoBound::Because("what leaves is limited by nothing");
        let output = bundles::line(self.queues, bundle, hop).ok_or(none)?;
        let all = [0; 4].map(|_| Ok(delay));
        Ok(Bound { delay, method: Method::TotalFlow, all, jitter: held.delay, backlogs: vec![held.bits], output })
    }

    /// The bound of one member of a bundle.
    fn member(&self, bundle: &Bundle, strand: usize, bound: &Bound) -> Bound {
        let Ok(own) = &self.strands[strand].arrival else { return bound.clone() };
        if bundle.strands.len() == 1 {
            return bound.clone();
        }
        // It leaves as it came, within the jitter; of what waits, it has at most what it brings within the delays up to there.
        let output = own.delayed(bound.jitter).map_or_else(|_| bound.output.clone(), |output: Arrival| output.min(&bound.output));
        let mut jitter = 0;
        let mut backlogs = Vec::with_capacity(bundle.queues.len());
        for (&queue, &together) in bundle.queues.iter().zip(&bound.backlogs) {
            let delay = self.solved.total.delays[queue];
            let waiting = own.delayed(jitter).and_then(|curve| curve.at(delay)).map(|waiting| up(waiting, PICOBITS));
            backlogs.push(waiting.ok().and_then(|waiting| u64::try_from(waiting).ok()).map_or(together, |own| own.min(together)));
            jitter += delay;
        }
        Bound { output, backlogs, ..bound.clone() }
    }

    /// A reason in words, for a flow.
    fn why(&self, reason: &Reason, flow: Option<usize>) -> String {
        let Reason { cause, queue, flow: about } = reason;
        match about {
            Some(about) if Some(*about) == flow => cause.to_string(),
            Some(about) => {
                let name = &self.queues.network.flows[*about].name;
                format!("{}, which `{name}` passes: {cause}", self.queues.name(*queue))
            }
            None => format!("{}: {cause}", self.queues.name(*queue)),
        }
    }
}

/// Why a bundle has no bound.
enum Failure {
    Queue(Reason),
    Method(NoBound),
}

/// The bound of two parts of a path in a row.
fn in_a_row(before: Bound, next: Bound) -> Result<Bound, NoBound> {
    let sum = |method: usize| Ok(before.all[method].clone()? + next.all[method].clone()?);
    let all = [0, 1, 2, 3].map(sum);
    let delay = before.delay + next.delay;
    let mut backlogs = before.backlogs;
    backlogs.extend(next.backlogs);
    // Of two methods the costlier is named.
    let rank = |method: Method| Method::ALL.iter().position(|&other| other == method);
    let method = if rank(before.method) > rank(next.method) { before.method } else { next.method };
    Ok(Bound { delay, method, all, jitter: before.jitter + next.jitter, backlogs, output: next.output })
}
