//! The file with the asking flow in place, tried under one set of changes after another.

use crate::diagnostic::Problems;
use crate::proof::Proof;
use crate::proven::{Claim, Holder, claims};
use crate::scenario::{Draft, Variant};
use tidegate_sim::LinkId;

/// What is proven of the flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// The bound on its delay, in picoseconds.
    pub delay: u128,
    /// The method that gives it.
    pub method: &'static str,
    /// The most by which delays of its packets differ, in picoseconds.
    pub jitter: u128,
    /// True if nothing but the size of a buffer on the way bounds it: the bound is one of packets that leave, and others may be lost.
    pub may_lose: bool,
    /// Link by link.
    pub hops: Vec<Hop>,
}

/// What is proven of the flow at one link of its path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The link.
    pub link: String,
    /// Its class at the port.
    pub class: String,
    /// The bound on the delay of its queue there, in picoseconds, or why there is none.
    pub delay: Result<u128, String>,
    /// The most bits of the flow that wait there.
    pub backlog: u64,
}

/// Where requests are tried.
pub(super) struct Desk {
    pub draft: Draft,
    pub overrides: Vec<String>,
    /// True if the flow declares its traffic in place of a source.
    pub declares: bool,
    /// The promises of the file without the flow.
    pub before: Vec<Claim>,
}

/// The file with a flow in place.
pub(super) struct Trial {
    pub variant: Variant,
    pub proof: Proof,
    pub warnings: Option<Problems>,
}

impl Desk {
    /// The file with the flow in place, under further overrides.
    pub fn try_with(&mut self, changes: &[String]) -> Result<Trial, Problems> {
        let overrides: Vec<String> = self.overrides.iter().chain(changes).cloned().collect();
        let mut scenario = self.draft.load(&overrides)?;
        let variant = scenario.variants.swap_remove(0);
        let proof = Proof::of(&variant).ok_or_else(|| Problems::of_file("the file has no flows".to_owned()))?;
        Ok(Trial { variant, proof, warnings: scenario.warnings })
    }

    /// The promises of the flow, and those of the file that were proven without it.
    pub fn judged(&self, trial: &Trial) -> (Vec<Claim>, Vec<Claim>) {
        let group = Holder::Flows(trial.group());
        let (own, others): (Vec<Claim>, Vec<Claim>) =
            claims(&trial.variant, &trial.proof).into_iter().partition(|claim| claim.holder == group);
        let was_proven = |claim: &Claim| {
            self.before.iter().any(|before| before.is_proven() && (&before.name, &before.promise) == (&claim.name, &claim.promise))
        };
        (own, others.into_iter().filter(was_proven).collect())
    }

    /// The bound of the flow under further overrides, if it is admitted then.
    pub fn admitted_with(&mut self, changes: &[String]) -> Option<Admission> {
        let trial = self.try_with(changes).ok()?;
        let (own, others) = self.judged(&trial);
        own.iter().chain(&others).all(Claim::is_proven).then(|| trial.proven().ok()).flatten()
    }
}

impl Trial {
    /// The index of the flow's table: it is behind those of the file.
    pub fn group(&self) -> usize {
        self.variant.simulation.as_ref().map_or(0, |simulation| simulation.groups.len().saturating_sub(1))
    }

    pub fn name(&self) -> &str {
        self.variant.simulation.as_ref().and_then(|simulation| simulation.groups.last()).map_or("", |group| &group.name)
    }

    /// What is proven of the flow; of several equal ones, of the one with the largest bound.
    pub fn proven(&self) -> Result<Admission, String> {
        let Some((simulation, group)) =
            self.variant.simulation.as_ref().and_then(|simulation| Some((simulation, simulation.groups.last()?)))
        else {
            return Err("the file has no flows".to_owned());
        };
        let flows: Vec<_> = self.proof.flows[group.first..group.first + group.count].iter().collect();
        if let Some(Err(reason)) = flows.iter().find(|flow| flow.is_err()) {
            return Err(reason.clone());
        }
        let Some(flow) = flows.into_iter().flatten().max_by_key(|flow| flow.bound.delay) else { return Err("no flow".to_owned()) };
        let header = &simulation.network.flows[group.first].header;
        let hops = flow.queues.iter().zip(&flow.bound.backlogs).map(|(&queue, &backlog)| {
            let queue = &self.proof.queues[queue];
            let LinkId(link) = queue.link;
            let classifier = &simulation.network.links[link].port.classifier;
            let class = classifier.class_of(classifier.classify(header));
            Hop {
                link: simulation.network.links[link].name.clone(),
                class: self.variant.policies[simulation.policy_of_link[link]].classes[class].name.clone(),
                delay: queue.delay.as_ref().map(|delay| delay.unsigned_abs()).map_err(Clone::clone),
                backlog,
            }
        });
        let (delay, jitter) = (flow.bound.delay.unsigned_abs(), flow.bound.jitter.unsigned_abs());
        Ok(Admission { delay, method: flow.bound.method.name(), jitter, may_lose: !flow.limited.is_empty(), hops: hops.collect() })
    }
}

/// A time for JSON: at most 106 days, as for every bound.
pub(super) fn picoseconds(time: u128) -> Option<u64> {
    u64::try_from(time).ok()
}
