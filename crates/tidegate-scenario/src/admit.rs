//! Answers whether a flow can be added to a file so that its promise is proven, and every promise that was proven before still is.
//!
//! The flow joins those of the file, and the same proof as for any file decides. A refusal says what is short at which port. Each offer is a
//! change of the flow alone, and was admitted when it was tried.

use crate::added_flow::{as_contract, declaring};
use crate::capture::Captures;
use crate::diagnostic::{Problems, alternatives};
use crate::proof::Proof;
use crate::proven::{Claim, claims};
use crate::scenario::{Draft, Scenario};
use crate::text::{aligned, read_text};
use crate::units::{plural, print_size, print_time};
use desk::{Desk, picoseconds};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

mod desk;
mod offers;

pub use desk::{Admission, Hop};
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
    ask(Draft::beside(path)?, (flow.display().to_string(), text), overrides, variant)
}

/// Where the file is that a flow asks to join.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A file at this path.
    Path(PathBuf),
    /// A text that names no other files.
    Text {
        /// Its name in messages.
        name: String,
        /// The text.
        text: String,
    },
}

/// As [`admit`], for the text of a flow, which errors call `name`.
///
/// # Errors
/// As [`admit`].
pub fn admit_text(origin: &Origin, name: &str, flow: &str, overrides: &[String], variant: Option<&str>) -> Result<Answer, Problems> {
    let draft = match origin {
        Origin::Path(path) => Draft::beside(path)?,
        Origin::Text { name, text } => {
            Draft { name: name.clone(), text: text.as_str().into(), captures: Captures::default(), flow: None, only: None }
        }
    };
    ask(draft, (name.to_owned(), flow.to_owned()), overrides, variant)
}

fn ask(mut draft: Draft, asking: (String, String), overrides: &[String], variant: Option<&str>) -> Result<Answer, Problems> {
    let declaring = declaring(&asking.1);
    let overrides = declaring.as_ref().map_or_else(|| overrides.to_vec(), |name| as_contract(overrides, name));
    draft.flow = Some(asking);
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
            if proven.may_lose {
                text += "  of packets that leave: nothing but the size of a buffer bounds what waits, and others may be lost\n";
            }
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
    let _ = writeln!(text, "\nproven without it: {} of the file; still proven with it: {kept}", plural(answer.others.len(), "promise"));
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
        json!({ "delay_ps": picoseconds(proven.delay), "method": proven.method, "jitter_ps": picoseconds(proven.jitter), "may_lose": proven.may_lose, "hops": hops })
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
