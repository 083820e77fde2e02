//! Answers whether a flow can be added to a file so that its promise is proven, and every promise that was proven before still is.
//!
//! The flow joins those of the file, and the same proof as for any file decides. A refusal says what is short at which port. Each offer is a
//! change of the flow alone, and was admitted when it was tried.

use crate::added_flow::{as_contract, declaring};
use crate::diagnostic::{Problems, alternatives};
use crate::proof::Proof;
use crate::proven::{Claim, Holder, claims};
use crate::scenario::{Draft, Scenario, Variant};
use crate::text::{aligned, read_text};
use crate::units::{plural, print_size, print_time};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use tidegate_sim::LinkId;

mod offers;

pub use offers::Offer;

/// The answer to a flow that asks to be admitted.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The file's name as it was given.
    pub source: String,
    /// The variant that it joins.
    pub variant: String,
    /// The flow's name.
    pub flow: String,
    /// What is proven of it; the reason if it has no bound.
    pub proven: Result<Admission, String>,
    /// The promises of the flow itself.
    pub own: Vec<Claim>,
    /// The promises of the file that were proven without the flow, as they are with it.
    pub others: Vec<Claim>,
    /// The promises of the file that were not proven without the flow either.
    pub unproven: Vec<Claim>,
    /// What would be admitted instead.
    pub offers: Vec<Offer>,
    /// Warnings about the file.
    pub warnings: Option<Problems>,
}

/// What is proven of the flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// The bound on its delay, in picoseconds.
    pub delay: u128,
    /// The method that gives it.
    pub method: &'static str,
    /// The most by which delays of its packets differ, in picoseconds.
    pub jitter: u128,
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

impl Answer {
    /// True if the flow is admitted.
    pub fn is_admitted(&self) -> bool {
        self.proven.is_ok() && self.broken().next().is_none()
    }

    /// The promises that would not be proven with the flow in place.
    fn broken(&self) -> impl Iterator<Item = &Claim> {
        self.own.iter().chain(&self.others).filter(|claim| !claim.is_proven())
    }
}

/// Asks for admission of the flow in the file `flow` to the file at `path`, both under `overrides`. Without a `variant` it joins the first.
///
/// # Errors
/// Everything that is wrong with the file, the flow or an override.
pub fn admit(path: &Path, flow: &Path, overrides: &[String], variant: Option<&str>) -> Result<Answer, Problems> {
    let text = read_text(flow).map_err(Problems::of_file)?;
    let declaring = declaring(&text);
    let overrides = declaring.as_ref().map_or_else(|| overrides.to_vec(), |name| as_contract(overrides, name));
    let mut draft = Draft::beside(path)?;
    draft.flow = Some((flow.display().to_string(), text));
    let with_flow = draft.load(&overrides)?;
    let name = chosen(&with_flow, variant)?;
    draft.only = Some(name.clone());
    // Without the flow, nothing can be set of it.
    let joined =
        with_flow.variants.iter().find(|variant| variant.name == name).and_then(|variant| variant.simulation.as_ref()?.groups.last());
    let of_flow = joined.map_or_else(String::new, |group| format!("flow.{}.", group.name));
    let of_file: Vec<String> = overrides.iter().filter(|change| !change.trim_start().starts_with(&of_flow)).cloned().collect();
    let asking = draft.flow.take();
    let file = draft.load(&of_file)?;
    draft.flow = asking;
    let before = Proof::of(&file.variants[0]).map(|proof| claims(&file.variants[0], &proof)).unwrap_or_default();
    let mut desk = Desk { draft, overrides, declares: declaring.is_some(), before };
    let trial = desk.try_with(&[])?;
    let (own, others) = desk.judged(&trial);
    let unproven = desk.before.iter().filter(|claim| !claim.is_proven()).cloned().collect();
    let (proven, flow) = (trial.proven(), trial.name().to_owned());
    let mut answer = Answer {
        source: file.source,
        variant: name,
        flow,
        proven,
        own,
        others,
        unproven,
        offers: Vec::new(),
        warnings: trial.warnings.clone(),
    };
    if !answer.is_admitted() {
        answer.offers = offers::offers(&mut desk, &trial);
    }
    Ok(answer)
}

/// The name of the variant to use.
pub(crate) fn chosen(file: &Scenario, variant: Option<&str>) -> Result<String, Problems> {
    let first = &file.variants[0];
    if first.simulation.is_none() {
        let problem =
            format!("{} has no flows to prove anything of: it is a policy file; add [simulation], [[link]] and [[flow]]", file.source);
        return Err(Problems::of_file(problem));
    }
    let Some(name) = variant else { return Ok(first.name.clone()) };
    if file.variants.iter().any(|known| known.name == name) {
        return Ok(name.to_owned());
    }
    let known = alternatives(file.variants.iter().map(|known| known.name.as_str())).replace(" or ", " and ");
    Err(Problems::of_file(format!("{} has no variant `{name}`; it has {known}", file.source)))
}

/// Where requests are tried.
struct Desk {
    draft: Draft,
    overrides: Vec<String>,
    /// True if the flow declares its traffic in place of a source.
    declares: bool,
    /// The promises of the file without the flow.
    before: Vec<Claim>,
}

/// The file with a flow in place.
struct Trial {
    variant: Variant,
    proof: Proof,
    warnings: Option<Problems>,
}

impl Desk {
    /// The file with the flow in place, under further overrides.
    fn try_with(&mut self, changes: &[String]) -> Result<Trial, Problems> {
        let overrides: Vec<String> = self.overrides.iter().chain(changes).cloned().collect();
        let mut scenario = self.draft.load(&overrides)?;
        let variant = scenario.variants.swap_remove(0);
        let proof = Proof::of(&variant).ok_or_else(|| Problems::of_file("the file has no flows".to_owned()))?;
        Ok(Trial { variant, proof, warnings: scenario.warnings })
    }

    /// The promises of the flow, and those of the file that were proven without it.
    fn judged(&self, trial: &Trial) -> (Vec<Claim>, Vec<Claim>) {
        let group = Holder::Flows(trial.group());
        let (own, others): (Vec<Claim>, Vec<Claim>) =
            claims(&trial.variant, &trial.proof).into_iter().partition(|claim| claim.holder == group);
        let was_proven = |claim: &Claim| {
            self.before.iter().any(|before| before.is_proven() && (&before.name, &before.promise) == (&claim.name, &claim.promise))
        };
        (own, others.into_iter().filter(was_proven).collect())
    }

    /// The bound of the flow under further overrides, if it is admitted then.
    fn admitted_with(&mut self, changes: &[String]) -> Option<Admission> {
        let trial = self.try_with(changes).ok()?;
        let (own, others) = self.judged(&trial);
        own.iter().chain(&others).all(Claim::is_proven).then(|| trial.proven().ok()).flatten()
    }
}

impl Trial {
    /// The index of the flow's table: it is behind those of the file.
    fn group(&self) -> usize {
        self.variant.simulation.as_ref().map_or(0, |simulation| simulation.groups.len().saturating_sub(1))
    }

    fn name(&self) -> &str {
        self.variant.simulation.as_ref().and_then(|simulation| simulation.groups.last()).map_or("", |group| &group.name)
    }

    /// What is proven of the flow; of several equal ones, of the one with the largest bound.
    fn proven(&self) -> Result<Admission, String> {
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
        Ok(Admission { delay, method: flow.bound.method.name(), jitter, hops: hops.collect() })
    }
}

/// The answer as text.
pub fn text(answer: &Answer) -> String {
    let verdict = if answer.is_admitted() { "admitted" } else { "refused" };
    let mut text = format!("{}: flow `{}` is {verdict}\n", answer.source, answer.flow);
    match &answer.proven {
        Err(reason) => drop(writeln!(text, "\nno bound: {reason}")),
        Ok(proven) => {
            let (delay, jitter) = (print_time(proven.delay), print_time(proven.jitter));
            let _ = writeln!(text, "\nbound {delay} by {}, jitter at most {jitter}", proven.method);
            let mut rows = vec![["link", "class", "delay at most", "buffer at most"].map(str::to_owned).to_vec()];
            rows.extend(proven.hops.iter().map(|hop| {
                let delay = hop.delay.as_ref().map_or_else(|_| "-".to_owned(), |&delay| print_time(delay));
                vec![hop.link.clone(), hop.class.clone(), delay, print_size(hop.backlog.div_ceil(8))]
            }));
            text += &aligned(&rows, 2);
        }
    }
    if !answer.is_admitted() {
        text += "\nnot proven with it:\n";
        for claim in answer.broken() {
            let short = claim.finding.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {}, {}: {short}", claim.name, claim.promise);
        }
        if answer.offers.is_empty() {
            text += "\nnothing else that was tried is admitted\n";
        } else {
            text += "\nadmitted instead, each alone and tried:\n";
            let row = |offer: &Offer| vec![offer.what.to_owned(), offer.text(), format!("bound {}", print_time(offer.bound))];
            text += &aligned(&answer.offers.iter().map(row).collect::<Vec<_>>(), 2);
        }
    }
    let kept = answer.others.iter().filter(|claim| claim.is_proven()).count();
    let _ = writeln!(text, "\n{} of the file that were proven without it: {kept} still are", plural(answer.others.len(), "promise"));
    if !answer.unproven.is_empty() {
        let _ = writeln!(text, "not proven without it either:");
        for claim in &answer.unproven {
            let short = claim.finding.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {}, {}: {short}", claim.name, claim.promise);
        }
    }
    text
}

/// The answer as JSON. Times are in picoseconds, buffers in bits.
pub fn json(answer: &Answer) -> Value {
    let bound = answer.proven.as_ref().ok().map(|proven| {
        let hops = proven.hops.iter().map(|hop| {
            let delay = hop.delay.as_ref().ok().and_then(|&delay| u64::try_from(delay).ok());
            json!({ "link": hop.link, "class": hop.class, "delay_ps": delay, "backlog_bits": hop.backlog })
        });
        let hops: Vec<Value> = hops.collect();
        json!({ "delay_ps": picoseconds(proven.delay), "method": proven.method, "jitter_ps": picoseconds(proven.jitter), "hops": hops })
    });
    let all = |claims: &[Claim]| claims.iter().map(Claim::json).collect::<Vec<Value>>();
    json!({
        "schema": 1,
        "source": answer.source,
        "variant": answer.variant,
        "flow": answer.flow,
        "admitted": answer.is_admitted(),
        "bound": bound,
        "reason_if_none": answer.proven.as_ref().err(),
        "promises": all(&answer.own),
        "proven_before": all(&answer.others),
        "not_proven_before": all(&answer.unproven),
        "offers": answer.offers.iter().map(Offer::json).collect::<Vec<Value>>(),
    })
}

/// A time for JSON: at most 106 days, as for every bound.
fn picoseconds(time: u128) -> Option<u64> {
    u64::try_from(time).ok()
}
