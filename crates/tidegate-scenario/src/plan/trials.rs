//! Sets of values for the free keys: what became of those that were tried, and what is found in the end.

use crate::diagnostic::Problems;
use crate::free::Free;
use crate::proof::Proof;
use crate::proven::{Claim, claims};
use crate::scenario::Draft;
use std::collections::HashMap;

/// What a plan makes small.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Minimise {
    /// The sum of the values, which all count in one unit.
    #[default]
    Sum,
    /// One factor common to all values of the file.
    Factor,
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

impl Plan {
    /// The sum of the values, if they have one.
    pub fn sum(&self) -> Option<u64> {
        let first = &self.values.first()?.free;
        self.values.iter().all(|planned| first.adds_to(&planned.free)).then(|| self.values.iter().map(|planned| planned.value).sum())
    }
}

impl Free {
    /// True if both count in one unit.
    pub(super) fn adds_to(&self, other: &Free) -> bool {
        std::mem::discriminant(&self.quantity) == std::mem::discriminant(&other.quantity)
    }
}

/// What became of values that were tried.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// Every promise is proven.
    Kept,
    /// These are not.
    Broken(Vec<Claim>),
    /// The file is not valid with them.
    Invalid(String),
}

impl Outcome {
    pub const fn is_kept(&self) -> bool {
        matches!(self, Outcome::Kept)
    }

    /// How far the values are from keeping all promises: those without numbers first, then by how much others are exceeded.
    pub fn distance(&self) -> (usize, f64) {
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
    pub fn reason(&self) -> String {
        match self {
            Outcome::Kept => "nothing".to_owned(),
            Outcome::Broken(claims) => claims.first().map_or_else(String::new, |claim| format!("{}, {}", claim.name, claim.promise)),
            Outcome::Invalid(problem) => problem.clone(),
        }
    }
}

/// Values that are tried, each set once.
pub(super) struct Trials<'a> {
    pub draft: Draft,
    pub overrides: &'a [String],
    pub free: Vec<Free>,
    pub known: HashMap<Vec<u64>, Outcome>,
}

impl Trials<'_> {
    /// Every promise under these values.
    pub fn claims(&mut self, values: &[u64]) -> Result<Vec<Claim>, Problems> {
        let set = self.free.iter().zip(values).map(|(free, &value)| free.set(value));
        let overrides: Vec<String> = self.overrides.iter().cloned().chain(set).collect();
        let scenario = self.draft.load(&overrides)?;
        let variant = &scenario.variants[0];
        Ok(Proof::of(variant).map(|proof| claims(variant, &proof)).unwrap_or_default())
    }

    pub fn outcome(&mut self, values: &[u64]) -> Outcome {
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

    pub fn is_kept(&mut self, values: &[u64]) -> bool {
        self.outcome(values).is_kept()
    }
}
