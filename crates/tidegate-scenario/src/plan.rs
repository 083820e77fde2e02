//! Plans a file: values of free keys with which every promise is proven, and none of which can be lowered alone.
//!
//! Each set of values that is tried is the file under those values, and the proof of that file decides. Bisection looks for the least value
//! of a key; what it assumes about the order of values is checked at the end, where each value less one step has to break something.

use crate::admit::chosen;
use crate::diagnostic::Problems;
use crate::proof::Proof;
use crate::proven::{Claim, Shortfall, claims};
use crate::scenario::Draft;
use crate::text::aligned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

mod search;

pub use crate::free::{Free, Quantity};

/// What a plan makes small.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Minimise {
    /// The sum of the values, which all count in one unit.
    #[default]
    Sum,
    /// One factor common to all values of the file.
    Factor,
}

/// What is asked of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The file.
    pub path: &'a Path,
    /// Changes of the file, of the form `key=value`.
    pub overrides: &'a [String],
    /// The free keys, as `--set` names them.
    pub free: &'a [String],
    /// What is to be small.
    pub minimise: Minimise,
    /// The variant, if it is not the first.
    pub variant: Option<&'a str>,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The file's name as it was given.
    pub source: String,
    /// The variant.
    pub variant: String,
    /// What was to be small.
    pub minimise: Minimise,
    /// The plan, or why there is none.
    pub plan: Result<Plan, Failure>,
    /// Warnings about the file.
    pub warnings: Option<Problems>,
}

/// Values with which every promise is proven.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One for each free key.
    pub values: Vec<Planned>,
    /// The common factor in thousandths, if that was to be small.
    pub factor: Option<u64>,
    /// Every promise of the file.
    pub claims: Vec<Claim>,
}

/// The planned value of a key.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The key.
    pub free: Free,
    /// Its value.
    pub value: u64,
    /// One step less breaks something.
    pub step: u64,
    /// What that breaks.
    pub limit: String,
    /// With a common factor: the least value of this key while the others keep theirs.
    pub alone: Option<u64>,
}

/// Why there is no plan.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The values that came closest.
    pub closest: Vec<(Free, u64)>,
    /// The promises that are not proven with them.
    pub broken: Vec<Claim>,
    /// What more of the values would break: why the file is not valid then.
    pub obstacle: Option<String>,
}

/// Plans the file.
///
/// # Errors
/// Everything that is wrong with the file, an override or a free key.
pub fn plan(request: &Request<'_>) -> Result<Answer, Problems> {
    let mut draft = Draft::beside(request.path)?;
    let file = draft.load(request.overrides)?;
    let name = chosen(&file, request.variant)?;
    draft.only = Some(name.clone());
    let mut free: Vec<Free> = Vec::new();
    for key in request.free {
        if free.iter().any(|known| known.key == *key) {
            return Err(Problems::of_file(format!("`{key}` is named twice")));
        }
        free.push(Free::new(key, draft.value(key, request.overrides)).map_err(Problems::of_file)?);
    }
    let Some(first) = free.first().cloned() else { return Err(Problems::of_file("no key is free".to_owned())) };
    if let (Minimise::Sum, Some(other)) = (request.minimise, free.iter().find(|other| !first.adds_to(other))) {
        let problem =
            format!("`{}` and `{}` count in different units and have no sum: ask for the least common factor", first.key, other.key);
        return Err(Problems::of_file(problem));
    }
    let mut trials = Trials { draft, overrides: request.overrides, free, known: HashMap::new() };
    let of_file: Vec<u64> = trials.free.iter().map(|free| free.of_file).collect();
    if trials.claims(&of_file)?.is_empty() {
        return Err(Problems::of_file(format!("{} promises nothing: there is nothing to plan for", file.source)));
    }
    let found = search::search(&mut trials, of_file, request.minimise);
    Ok(Answer { source: file.source, variant: name, minimise: request.minimise, plan: found, warnings: file.warnings })
}

/// What became of values that were tried.
#[derive(Clone, Debug)]
enum Outcome {
    /// Every promise is proven.
    Kept,
    /// These are not.
    Broken(Vec<Claim>),
    /// The file is not valid with them.
    Invalid(String),
}

impl Outcome {
    const fn is_kept(&self) -> bool {
        matches!(self, Outcome::Kept)
    }

    /// How far the values are from keeping all promises: those without numbers first, then by how much others are exceeded.
    fn distance(&self) -> (usize, f64) {
        match self {
            Outcome::Kept => (0, 0.0),
            Outcome::Invalid(_) => (usize::MAX, f64::INFINITY),
            Outcome::Broken(claims) => {
                let excesses: Vec<f64> = claims.iter().filter_map(|claim| claim.finding.as_ref().err()).map(|short| short.excess).collect();
                let finite = excesses.iter().filter(|excess| excess.is_finite());
                (excesses.iter().filter(|excess| excess.is_infinite()).count(), finite.sum())
            }
        }
    }

    /// What is broken first, in words.
    fn reason(&self) -> String {
        match self {
            Outcome::Kept => "nothing".to_owned(),
            Outcome::Broken(claims) => claims.first().map_or_else(String::new, |claim| format!("{}, {}", claim.name, claim.promise)),
            Outcome::Invalid(problem) => problem.clone(),
        }
    }
}

/// Values that are tried, each set once.
struct Trials<'a> {
    draft: Draft,
    overrides: &'a [String],
    free: Vec<Free>,
    known: HashMap<Vec<u64>, Outcome>,
}

impl Trials<'_> {
    /// Every promise under these values.
    fn claims(&mut self, values: &[u64]) -> Result<Vec<Claim>, Problems> {
        let set = self.free.iter().zip(values).map(|(free, &value)| free.set(value));
        let overrides: Vec<String> = self.overrides.iter().cloned().chain(set).collect();
        let scenario = self.draft.load(&overrides)?;
        let variant = &scenario.variants[0];
        Ok(Proof::of(variant).map(|proof| claims(variant, &proof)).unwrap_or_default())
    }

    fn outcome(&mut self, values: &[u64]) -> Outcome {
        if let Some(known) = self.known.get(values) {
            return known.clone();
        }
        let impossible = self.free.iter().zip(values).find(|(free, value)| !free.can_be(**value));
        let outcome = if let Some((free, &value)) = impossible {
            Outcome::Invalid(format!("{} cannot be {}", free.key, free.print(value)))
        } else {
            match self.claims(values) {
                Ok(claims) if claims.iter().all(Claim::is_proven) => Outcome::Kept,
                Ok(claims) => Outcome::Broken(claims.into_iter().filter(|claim| !claim.is_proven()).collect()),
                Err(problems) => Outcome::Invalid(problems.diagnostics.first().map(|first| first.problem.clone()).unwrap_or_default()),
            }
        };
        self.known.insert(values.to_vec(), outcome.clone());
        outcome
    }

    fn is_kept(&mut self, values: &[u64]) -> bool {
        self.outcome(values).is_kept()
    }
}

/// The answer as text.
pub fn text(answer: &Answer) -> String {
    let mut text = String::new();
    match &answer.plan {
        Ok(plan) => {
            let _ = writeln!(text, "{}: every promise is proven with", answer.source);
            let mut rows = Vec::new();
            for planned in &plan.values {
                let Planned { free, value, step, .. } = planned;
                let written = match free.quantity {
                    Quantity::Number(_) => free.print(*value),
                    _ => format!("\"{}\"", free.print(*value)),
                };
                let mut row = vec![format!("{} = {written}", free.key), format!("{} in the file", free.print(free.of_file))];
                match planned.alone {
                    Some(alone) if alone < *value => row.push(format!("alone down to {}", free.print(alone))),
                    _ => row.push(format!("{} less breaks {}", free.print(*step), planned.limit)),
                }
                rows.push(row);
            }
            text += &aligned(&rows, 2);
            match (plan.factor, plan.sum()) {
                (Some(factor), _) => {
                    let _ = writeln!(text, "  factor {}.{:03}, and 0.001 less breaks a promise", factor / 1000, factor % 1000);
                }
                (None, Some(sum)) => {
                    let of_file: u64 = plan.values.iter().map(|planned| planned.free.of_file).sum();
                    let free = &plan.values[0].free;
                    let _ = writeln!(text, "  sum {}, in the file {}", free.print(sum), free.print(of_file));
                }
                _ => {}
            }
            let options: Vec<String> = plan.values.iter().map(|planned| format!("--set '{}'", planned.free.set(planned.value))).collect();
            let _ = writeln!(text, "\n{}\n\npromises", options.join(" "));
            let row = |claim: &Claim| vec![claim.name.clone(), claim.promise.clone(), claim.finding.clone().unwrap_or_default()];
            text += &aligned(&plan.claims.iter().map(row).collect::<Vec<_>>(), 2);
        }
        Err(failure) => {
            let _ = writeln!(text, "{}: no values were found with which every promise is proven\n\nclosest", answer.source);
            let rows = failure.closest.iter().map(|(free, value)| vec![free.key.clone(), free.print(*value)]);
            text += &aligned(&rows.collect::<Vec<_>>(), 2);
            text += "\nnot proven with them\n";
            for claim in &failure.broken {
                let short = claim.finding.as_ref().err().map(Shortfall::to_string).unwrap_or_default();
                let _ = writeln!(text, "  {}, {}: {short}", claim.name, claim.promise);
            }
            if let Some(obstacle) = &failure.obstacle {
                let _ = writeln!(text, "\nmore is not possible: {obstacle}");
            }
        }
    }
    text
}

impl Plan {
    /// The sum of the values, if they have one.
    pub fn sum(&self) -> Option<u64> {
        let first = &self.values.first()?.free;
        self.values.iter().all(|planned| first.adds_to(&planned.free)).then(|| self.values.iter().map(|planned| planned.value).sum())
    }
}

impl Free {
    /// True if both count in one unit.
    fn adds_to(&self, other: &Free) -> bool {
        std::mem::discriminant(&self.quantity) == std::mem::discriminant(&other.quantity)
    }
}

/// The answer as JSON. Values are in bit/s, picoseconds, bytes or packets, and as they are written.
pub fn json(answer: &Answer) -> Value {
    let minimise = if answer.minimise == Minimise::Sum { "sum" } else { "factor" };
    let mut json =
        json!({ "schema": 1, "source": answer.source, "variant": answer.variant, "minimise": minimise, "planned": answer.plan.is_ok() });
    let written =
        |free: &Free, value: u64| json!({ "key": free.key, "value": value, "written": free.print(value), "of_file": free.of_file });
    match &answer.plan {
        Ok(plan) => {
            let value = |planned: &Planned| {
                let mut value = written(&planned.free, planned.value);
                value["step"] = planned.step.into();
                value["less_breaks"] = planned.limit.clone().into();
                value["alone"] = planned.alone.into();
                value
            };
            json["values"] = plan.values.iter().map(value).collect();
            json["sum"] = plan.sum().into();
            json["factor_thousandths"] = plan.factor.into();
            json["promises"] = plan.claims.iter().map(Claim::json).collect();
        }
        Err(failure) => {
            json["closest"] = failure.closest.iter().map(|(free, value)| written(free, *value)).collect();
            json["not_proven"] = failure.broken.iter().map(Claim::json).collect();
            json["obstacle"] = failure.obstacle.clone().into();
        }
    }
    json
}
