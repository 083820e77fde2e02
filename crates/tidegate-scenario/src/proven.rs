//! Compares every promise of a file with what is proven: a promise is kept whatever happens, or something specific is short.
//!
//! | promise | is proven if |
//! |---|---|
//! | delay, at any percentile | the bound on the delay is not above it |
//! | loss | no packet is lost: backlogs fit the buffers, and nothing on the way discards or loses packets |
//! | rate | the guaranteed rate suffices, or what is sent is enough and none of it is lost |

use crate::guarantee::{Guarantee, LeastRate};
use crate::policy::Class;
use crate::promise::{Promise, about};
use crate::proof::arrivals::{lengths, told_apart};
use crate::proof::{Proof, ProvenFlow, ProvenQueue, of_policer};
use crate::scenario::Variant;
use crate::simulation::{FlowGroup, Simulation};
use crate::source::wire_rate;
use crate::units::{print_duration, print_rate, print_time};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use tidegate_core::classifier::Header;
use tidegate_core::registry::SchedulerKind;
use tidegate_core::units::{Overhead, Rate};
use tidegate_sim::source::OnOff;
use tidegate_sim::{FlowSpec, Holding, LinkId, Source};

mod room;

/// What a promise is given to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// The flows of a table, by its index.
    Flows(usize),
    /// A class at the port of a link.
    Class(LinkId, usize),
}

/// One value of a promise, beside what is proven of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// What it is given to.
    pub holder: Holder,
    /// The same in words: "flow `call`" or "class `voice` of link `access`".
    pub name: String,
    /// The promise: "delay p99 at most 20 ms".
    pub promise: String,
    /// What is proven, in words; or what is short.
    pub finding: Result<String, Shortfall>,
}

/// Why a promise is not proven.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shortfall {
    /// The link of the port where it is short, if there is one such port.
    pub port: Option<String>,
    /// What is short: "delay", "rate", "buffer"; or "proof" if nothing is proven at all.
    pub constraint: &'static str,
    /// What there is.
    pub has: Option<String>,
    /// What it would need.
    pub needs: Option<String>,
    /// The reason in words, where numbers alone do not say it.
    pub reason: Option<String>,
    /// How far it is from being proven: the needed value by the present one, less 1. Infinite without numbers.
    pub excess: f64,
}

impl Shortfall {
    fn because(port: Option<String>, reason: impl Into<String>) -> Shortfall {
        Shortfall { port, constraint: "proof", reason: Some(reason.into()), excess: f64::INFINITY, ..Shortfall::default() }
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        json!({ "port": self.port, "constraint": self.constraint, "has": self.has, "needs": self.needs, "reason": self.reason })
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = &self.port {
            write!(f, "link `{port}`: ")?;
        }
        match (&self.has, &self.needs, &self.reason) {
            (Some(has), Some(needs), reason) => {
                write!(f, "{}: has {has}, would need {needs}", self.constraint)?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ", because {reason}"))
            }
            (_, _, Some(reason)) => f.write_str(reason),
            _ => f.write_str(self.constraint),
        }
    }
}

impl Claim {
    /// True if the promise is proven.
    pub fn is_proven(&self) -> bool {
        self.finding.is_ok()
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        let (proven, short) = (self.finding.as_ref().ok(), self.finding.as_ref().err().map(Shortfall::json));
        json!({ "holder": self.name, "promise": self.promise, "proven": proven, "short": short })
    }
}

/// Every promise of a variant, first those to flows and then those to classes, in the order of the file. Empty for a policy file.
pub fn claims(variant: &Variant, proof: &Proof) -> Vec<Claim> {
    let Some(simulation) = &variant.simulation else { return Vec::new() };
    let judge = Judge { variant, simulation, proof, rooms: RefCell::default() };
    let mut claims = Vec::new();
    for (index, group) in simulation.groups.iter().enumerate() {
        let Some(promise) = &group.promise else { continue };
        let name =
            if group.count > 1 { format!("flow `{}` (each of {})", group.name, group.count) } else { format!("flow `{}`", group.name) };
        let flows = || group.first..group.first + group.count;
        let worst =
            |of: &dyn Fn(usize) -> Result<String, Shortfall>| flows().map(of).find(Result::is_err).unwrap_or_else(|| of(group.first));
        let findings = [
            promise.delay.map(|promised| judge.flows_delay(flows(), promised.picoseconds())),
            promise.loss.map(|_| worst(&|flow| judge.flow_loss(flow))),
            promise.rate.map(|promised| worst(&|flow| judge.flow_rate(group, flow, promised))),
        ];
        add(&mut claims, Holder::Flows(index), &name, promise, findings);
    }
    for (index, (link, &policy)) in simulation.network.links.iter().zip(&simulation.policy_of_link).enumerate() {
        for (number, class) in variant.policies[policy].classes.iter().enumerate() {
            let Some(promise) = &class.promise else { continue };
            let place = Place { link: LinkId(index), class: number };
            let findings = [
                promise.delay.map(|promised| judge.class_delay(place, promised.picoseconds())),
                promise.loss.map(|_| judge.room(place)),
                promise.rate.map(|promised| judge.class_rate(place, class, promised)),
            ];
            let name = format!("class `{}` of link `{}`", class.name, link.name);
            add(&mut claims, Holder::Class(place.link, number), &name, promise, findings);
        }
    }
    claims
}

fn add(claims: &mut Vec<Claim>, holder: Holder, name: &str, promise: &Promise, findings: [Option<Result<String, Shortfall>>; 3]) {
    let values = promise.texts().into_iter().zip(findings.into_iter().flatten());
    claims.extend(values.map(|(promise, finding)| Claim { holder, name: name.to_owned(), promise, finding }));
}

/// A class at a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    link: LinkId,
    class: usize,
}

struct Judge<'a> {
    variant: &'a Variant,
    simulation: &'a Simulation,
    proof: &'a Proof,
    /// Whether packets of a class find room: the same for all its flows.
    rooms: RefCell<HashMap<Place, Result<String, Shortfall>>>,
}

impl Judge<'_> {
    fn link_name(&self, link: LinkId) -> Option<String> {
        Some(self.simulation.network.links[link.0].name.clone())
    }

    fn class(&self, place: Place) -> &Class {
        &self.variant.policies[self.simulation.policy_of_link[place.link.0]].classes[place.class]
    }

    /// The queues of a class. What one first-in first-out scheduler serves is proven as one queue, under the first of its classes: all of the port's
    /// count then.
    fn queues(&self, place: Place) -> Vec<&ProvenQueue> {
        let of_port = || self.proof.queues.iter().filter(|queue| queue.link == place.link);
        let own: Vec<&ProvenQueue> = of_port().filter(|queue| queue.class == place.class).collect();
        if own.is_empty() && self.merges(place.link) && self.is_used(place) { of_port().collect() } else { own }
    }

    /// True if a first-in first-out scheduler serves several classes of the port.
    fn merges(&self, link: LinkId) -> bool {
        let policy = &self.variant.policies[self.simulation.policy_of_link[link.0]];
        policy.scheduler == SchedulerKind::Fifo || policy.groups.iter().any(|group| group.scheduler == SchedulerKind::Fifo)
    }

    /// The flows that pass the port in this class.
    fn flows_of(&self, place: Place) -> impl Iterator<Item = &FlowSpec> {
        let flows = self.simulation.network.flows.iter().filter(move |flow| flow.path.contains(&place.link));
        flows.filter(move |flow| self.classes_of(flow, place.link).contains(&place.class))
    }

    /// True if a port sets code points, so that packets may pass later ports in other classes than their headers say.
    fn rewrites(&self) -> bool {
        self.simulation.network.links.iter().any(|link| !link.port.remarks.is_empty())
    }

    /// False if no flow can be in the class.
    fn is_used(&self, place: Place) -> bool {
        self.flows_of(place).next().is_some() || self.merges(place.link) && self.rewrites()
    }

    /// The classes of a flow at a port of its path, by the length of its packets.
    fn classes_of(&self, flow: &FlowSpec, link: LinkId) -> Vec<usize> {
        let port = &self.simulation.network.links[link.0].port;
        let of = |length| port.classifier.class_of(port.classifier.classify(&Header { length, ..flow.header }));
        told_apart([&port.classifier], lengths(&flow.source, port.longest_frame)).into_iter().map(of).collect()
    }

    /// The class of a flow's longest packets at a port of its path.
    fn place(&self, flow: &FlowSpec, link: LinkId) -> Place {
        let classifier = &self.simulation.network.links[link.0].port.classifier;
        Place { link, class: classifier.class_of(classifier.classify(&flow.header)) }
    }

    /// The reason why a flow has no bound, and the first port of its path where it has none.
    fn unproven(&self, flow: usize, reason: &str) -> Shortfall {
        let flow = &self.simulation.network.flows[flow];
        let fails = |link: &&LinkId| self.queues(self.place(flow, **link)).iter().any(|queue| queue.delay.is_err());
        Shortfall::because(flow.path.iter().find(fails).and_then(|link| self.link_name(*link)), reason)
    }

    fn flow(&self, flow: usize) -> Result<&ProvenFlow, Shortfall> {
        self.proof.flows[flow].as_ref().map_err(|reason| self.unproven(flow, reason))
    }

    fn flows_delay(&self, flows: std::ops::Range<usize>, promised: u64) -> Result<String, Shortfall> {
        let mut worst: Option<&ProvenFlow> = None;
        for flow in flows {
            let proven = self.flow(flow)?;
            worst = worst.filter(|worst| worst.bound.delay >= proven.bound.delay).or(Some(proven));
        }
        let Some(worst) = worst else { return Ok("no flow".to_owned()) };
        let slowest = worst.queues.iter().map(|&queue| &self.proof.queues[queue]).max_by_key(|queue| queue.delay.as_ref().ok());
        let found = within(worst.bound.delay, promised, slowest.and_then(|queue| self.link_name(queue.link)));
        let full = worst.limited.first().and_then(|&hop| worst.queues.get(hop)).map(|&queue| &self.proof.queues[queue]);
        match (found, full) {
            (Ok(bound), _) => Ok(format!("{bound}, {}", worst.bound.method.name())),
            (Err(short), Some(full)) => Err(Shortfall { reason: Some(self.full(Place { link: full.link, class: full.class })), ..short }),
            (short, None) => short,
        }
    }

    /// The reason why nothing but the size of its buffer bounds what waits in a class.
    fn full(&self, place: Place) -> String {
        let unlimited = |flow: &FlowSpec| match &flow.source {
            _ if flow.shaping.is_some() => None,
            Source::Poisson(_) => Some("poisson"),
            Source::OnOff(OnOff { on: Holding::Exponential { .. } | Holding::Pareto { .. }, .. }) => Some("on-off"),
            Source::Greedy(_) => Some("greedy"),
            Source::Tcp(_) => Some("tcp"),
            _ => None,
        };
        let found = self.flows_of(place).find_map(|flow| Some((flow, unlimited(flow)?)));
        let of = |(flow, kind): (&FlowSpec, &str)| match kind {
            "on-off" => format!(
                "nothing but its peak limits source `{kind}` of flow `{}`, and only the size of the buffer bounds what waits",
                flow.name
            ),
            _ => format!("source `{kind}` of flow `{}` is not limited, and only the size of the buffer bounds what waits", flow.name),
        };
        found.map_or_else(|| self.overload(place), of)
    }

    /// What comes to a class in the long run beside what it is guaranteed, as far as both are known.
    fn overload(&self, place: Place) -> String {
        let overhead = self.simulation.network.links[place.link.0].overhead();
        let rate = |flow: &FlowSpec| match &flow.shaping {
            Some(contract) => Some(contract.rate.bits_per_second() as f64),
            None => wire_rate(&flow.source, overhead),
        };
        let comes = self.flows_of(place).map(rate).try_fold(0.0, |sum, rate| Some(sum + rate?));
        let served = self.guarantee(place).and_then(Guarantee::rate);
        match (comes, served) {
            (Some(comes), Some(served)) if comes > served.bits_per_second() => {
                let class = &self.class(place).name;
                format!("up to {} come to class `{class}` in the long run, and {served} are guaranteed to it", about(comes))
            }
            _ => "more may come than is served, and only the size of the buffer bounds what waits".to_owned(),
        }
    }

    /// The guarantee of a class at a port.
    fn guarantee(&self, place: Place) -> Option<&Guarantee> {
        let members = self.simulation.bounds_of_link[place.link.0].iter().flat_map(|node| &node.members);
        let name = &self.class(place).name;
        members.filter(|member| member.name == *name).map(|member| &member.guarantee).next()
    }

    fn class_delay(&self, place: Place, promised: u64) -> Result<String, Shortfall> {
        let queues = self.queues(place);
        if queues.is_empty() && !self.is_used(place) {
            return Ok("no flow of the file is in it".to_owned());
        }
        if queues.is_empty() {
            return Err(Shortfall::because(self.link_name(place.link), "no bound is computed for its queues"));
        }
        let mut worst = 0;
        for queue in queues {
            worst = worst.max(*queue.delay.as_ref().map_err(|reason| Shortfall::because(self.link_name(place.link), reason.as_str()))?);
        }
        within(worst, promised, self.link_name(place.link))
    }

    /// Succeeds if no packet of the flow is lost.
    fn flow_loss(&self, flow: usize) -> Result<String, Shortfall> {
        let proven = self.flow(flow)?;
        let flow = &self.simulation.network.flows[flow];
        for (hop, &link) in flow.path.iter().enumerate() {
            if self.simulation.network.links[link.0].impairment.loss.is_some() {
                return Err(Shortfall::because(self.link_name(link), "the link loses packets at random"));
            }
            if hop > 0 && self.merges(link) && self.rewrites() {
                return Err(Shortfall::because(self.link_name(link), "code points are set on the way, and its class here is not known"));
            }
            self.room(self.place(flow, link))?;
            if let Some(queue) = proven.queues.get(hop).map(|&queue| &self.proof.queues[queue]) {
                self.room(Place { link, class: queue.class })?;
            }
        }
        Ok("no packet is lost".to_owned())
    }

    fn flow_rate(&self, group: &FlowGroup, flow: usize, promised: Rate) -> Result<String, Shortfall> {
        let spec = &self.simulation.network.flows[flow];
        match (&spec.source, spec.path.as_slice()) {
            (Source::Tcp(_), _) => {
                Err(Shortfall::because(None, "what a `tcp` source sends depends on the network, and no rate of it is proven"))
            }
            (Source::Greedy(_), &[link]) => {
                let place = self.place(spec, link);
                if group.count > 1 || self.flows_of(place).count() > 1 || self.rewrites() {
                    let problem = "other flows may share its class, and its own part of the class's rate is not proven";
                    return Err(Shortfall::because(self.link_name(link), problem));
                }
                self.guaranteed(place, promised)
            }
            (Source::Greedy(_), _) => Err(Shortfall::because(None, "the rate of a `greedy` source is proven over one link only")),
            _ => {
                self.flow_loss(flow)?;
                self.sends(spec.source.mean_bits_per_second(), promised, None)
            }
        }
    }

    fn class_rate(&self, place: Place, class: &Class, promised: Rate) -> Result<String, Shortfall> {
        let guaranteed = self.guaranteed(place, promised);
        if guaranteed.is_ok() || class.police.as_ref().is_some_and(|police| of_policer(police).is_some()) {
            return guaranteed;
        }
        // Without a guarantee: what its flows send, if all of it goes out.
        let sent = self.flows_of(place).map(|flow| flow.source.mean_bits_per_second()).try_fold(0.0, |sum, mean| Some(sum + mean?));
        let fits = self.is_used(place) && self.room(place).is_ok();
        let sent = sent.filter(|_| fits).and_then(|sent| self.sends(Some(sent), promised, self.link_name(place.link)).ok());
        sent.map_or(guaranteed, Ok)
    }

    /// Succeeds if this mean rate of frames is enough.
    fn sends(&self, mean: Option<f64>, promised: Rate, port: Option<String>) -> Result<String, Shortfall> {
        let Some(mean) = mean else { return Err(Shortfall::because(port, "the mean rate of its source is not known")) };
        if mean >= promised.bits_per_second() as f64 {
            return Ok(format!("{} are sent, and none of them is lost", about(mean)));
        }
        let excess = promised.bits_per_second() as f64 / mean.max(1.0) - 1.0;
        let (has, needs) = (Some(about(mean)), Some(print_rate(promised)));
        Err(Shortfall { port, constraint: "sent rate", has, needs, reason: None, excess })
    }

    /// Succeeds if the guaranteed rate of the class carries this rate of frames, whatever their length.
    fn guaranteed(&self, place: Place, promised: Rate) -> Result<String, Shortfall> {
        let port = self.link_name(place.link);
        if !self.variant.changes.is_empty() {
            return Err(Shortfall::because(port, "the file changes policies while it runs, and rates are proven for one policy only"));
        }
        let Some(guarantee) = self.guarantee(place) else {
            return Err(Shortfall::because(port, "no rate is guaranteed to the class"));
        };
        let Some(rate) = guarantee.rate() else { return Err(Shortfall::because(port, guarantee.to_string())) };
        let overhead = self.simulation.network.links[place.link.0].overhead();
        let (frames, wire) = self.heaviest(place, overhead);
        let carried = (u128::from(rate.floor()) * u128::from(frames) / u128::from(wire.max(1))) as u64;
        if carried >= promised.bits_per_second() {
            return Ok(format!("{} guaranteed while packets wait", LeastRate::whole(carried)));
        }
        let needed = (u128::from(promised.bits_per_second()) * u128::from(wire)).div_ceil(u128::from(frames.max(1)));
        let needs = u64::try_from(needed).ok().and_then(|bits| Rate::new(bits).ok()).map(print_rate);
        let excess = needed as f64 / rate.bits_per_second().max(1.0) - 1.0;
        Err(Shortfall { port, constraint: "guaranteed rate", has: Some(rate.to_string()), needs, reason: None, excess })
    }

    /// The length of frame on which the link's overhead weighs most among those that flows of the class send, and what it takes on the wire.
    fn heaviest(&self, place: Place, overhead: Overhead) -> (u32, u32) {
        let flows = self.simulation.network.flows.iter().filter(|flow| flow.path.contains(&place.link));
        let own = flows.filter(|flow| self.rewrites() || self.place(flow, place.link).class == place.class);
        let lengths = own.flat_map(|flow| flow.source.lengths()).map(|(length, _)| length.floor().max(1.0) as u32);
        let weights = lengths.map(|length| (length, overhead.wire_length(length)));
        let heavier = |a: &(u32, u32), b: &(u32, u32)| (u64::from(a.1) * u64::from(b.0)).cmp(&(u64::from(b.1) * u64::from(a.0)));
        weights.max_by(heavier).unwrap_or((1, overhead.wire_length(1)))
    }
}

/// Succeeds if a bound in picoseconds keeps a promise.
fn within(bound: i128, promised: u64, port: Option<String>) -> Result<String, Shortfall> {
    let printed = print_time(bound.unsigned_abs());
    if bound <= i128::from(promised) {
        return Ok(printed);
    }
    let has = Some(print_duration(tidegate_core::units::Duration::from_picoseconds(promised)));
    let excess = bound as f64 / (promised as f64).max(1.0) - 1.0;
    Err(Shortfall { port, constraint: "delay", has, needs: Some(printed), reason: None, excess })
}

#[cfg(test)]
mod tests;
