//! Plans a file: values of free keys with which every promise is proven, and none of which can be lowered alone.
//!
//! Each set of values that is tried is the file under those values, and the proof of that file decides. Bisection looks for the least value
//! of a key. What it assumes is checked at the end: each value less one step has to break something.

use crate::admit::chosen;
use crate::diagnostic::Problems;
use crate::proven::{Claim, Shortfall};
use crate::scenario::Draft;
use crate::text::aligned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use trials::Trials;

mod search;
mod trials;

pub use crate::free::{Free, Quantity};
pub use trials::{Failure, Minimise, Plan, Planned};

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
        free.push(draft.value(key, request.overrides).and_then(|value| Free::new(key, value)).map_err(Problems::of_file)?);
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
