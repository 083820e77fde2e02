//! What was measured of a design, and the file in `rtl/results` where it is kept.

use super::grade::Grade;
use crate::cargo::root;
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder of results.
pub const RESULTS: &str = "rtl/results";

/// What a design takes of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Four-input tables in all: those that compute, two per carry cell, six per 16 x 4 memory.
    pub lut4: u64,
    /// Of them, in carry chains.
    pub carry: u64,
    /// Of them, memory.
    pub memory: u64,
    pub flip_flops: u64,
    /// Multipliers of 18 x 18 bits.
    pub multipliers: u64,
    /// Block RAMs of 18 kbit.
    pub block_rams: u64,
}

/// The slowest path of a placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    pub from: String,
    pub to: String,
    pub nanoseconds: f64,
    /// The part in wires.
    pub routing: f64,
    /// Tables, multipliers and carry chains on it.
    pub levels: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    pub seed: u64,
    pub megahertz: f64,
    pub critical: CriticalPath,
    /// Routing towards the target clock did not end in time, and was repeated without one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_no_goal: bool,
}

/// All that is known of a design, as its file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub name: String,
    /// Sources, flow and tools that it was made from.
    pub origin: Value,
    pub area: Area,
    /// In speed grade 6.
    pub placements: Vec<Placement>,
    /// In speed grade 8; none if it was not measured.
    #[serde(default, rename = "placements_grade_8", skip_serializing_if = "Vec::is_empty")]
    pub fastest: Vec<Placement>,
    /// Placements that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_vain: Vec<InVain>,
}

/// A placement that failed, or did not end in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InVain {
    pub grade: String,
    pub seed: u64,
    pub reason: String,
}

impl Outcome {
    /// The options of nextpnr that this design alone was given.
    pub fn place(&self) -> Option<&str> {
        self.origin["place"].as_str()
    }

    /// The target clock of the router in MHz, in speed grade 6.
    pub fn goal(&self) -> Option<u64> {
        self.origin["goal"].as_u64()
    }

    pub fn of(&self, grade: Grade) -> &[Placement] {
        match grade {
            Grade::Six => &self.placements,
            Grade::Eight => &self.fastest,
        }
    }

    /// Adds a placement, or why there is none.
    pub fn add(&mut self, grade: Grade, seed: u64, placement: Result<Placement, String>) {
        self.in_vain.retain(|tried| tried.grade != grade.number() || tried.seed != seed);
        match placement {
            Ok(placement) => {
                let all = if grade == Grade::Six { &mut self.placements } else { &mut self.fastest };
                all.push(placement);
                all.sort_by_key(|placement| placement.seed);
            }
            Err(reason) => self.in_vain.push(InVain { grade: grade.number().to_owned(), seed, reason }),
        }
    }
}

impl CriticalPath {
    pub fn shown(&self) -> String {
        format!("{:.1} ns ({:.1} of them wires, {} levels) from {} to {}", self.nanoseconds, self.routing, self.levels, self.from, self.to)
    }
}

/// The kept results of a design, whatever they were made from; none if there are none.
///
/// # Errors
/// [`Failure::Check`] if the file is not understood.
pub fn kept(name: &str) -> Result<Option<Outcome>, Failure> {
    let Ok(text) = std::fs::read_to_string(file(name)) else { return Ok(None) };
    let problem = |error| format!("{RESULTS}/{name}.json is not understood: {error}; delete it and run `cargo xtask rtl-reports`");
    serde_json::from_str(&text).map(Some).map_err(|error| Failure::Check(problem(error)))
}

/// Writes the file of a design's results.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be written.
pub fn keep(outcome: &Outcome) -> Result<(), Failure> {
    let file = file(&outcome.name);
    // As a value, fields are in the order of their names.
    let text = format!("{:#}\n", serde_json::to_value(outcome).expect("results have only string keys"));
    let write = || {
        std::fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
        // Renamed, so that a run that is interrupted leaves the old results or the new ones.
        let half = file.with_extension("json.new");
        std::fs::write(&half, text)?;
        std::fs::rename(&half, &file)
    };
    write().map_err(Failure::cannot("write", &file))
}

fn file(name: &str) -> PathBuf {
    root().join(RESULTS).join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::designs;
    use serde_json::json;

    #[test]
    fn results_are_read_as_they_were_written() {
        let critical = CriticalPath { from: "a".to_owned(), to: "b".to_owned(), nanoseconds: 9.5, routing: 4.25, levels: 7 };
        let placement = Placement { seed: 2, megahertz: 105.26, critical, has_no_goal: false };
        let area = Area { lut4: 9, carry: 2, memory: 6, flip_flops: 5, multipliers: 4, block_rams: 1 };
        let (origin, none) = (json!({"place": "--placer p"}), Vec::new());
        let mut outcome =
            Outcome { name: "x".to_owned(), origin, area, placements: vec![placement.clone()], fastest: none, in_vain: Vec::new() };
        let read_back = |outcome: &Outcome| serde_json::from_value(serde_json::to_value(outcome).unwrap()).unwrap();
        let first = outcome.clone();
        assert_eq!((outcome.place(), outcome.goal(), &outcome), (Some("--placer p"), None, &read_back(&outcome)));
        let faster = Placement { megahertz: 130.5, has_no_goal: true, ..placement };
        outcome.add(Grade::Eight, 2, Ok(faster.clone()));
        assert_eq!((outcome.of(Grade::Eight), &outcome), ([faster.clone()].as_slice(), &read_back(&outcome)));
        assert!(serde_json::from_value::<Outcome>(json!({"name": "x"})).is_err());
        for (seed, reason) in [(1, "too slow"), (2, "too large"), (1, "too large")] {
            outcome.add(Grade::Eight, seed, Err(reason.to_owned()));
        }
        let tried = |seed| InVain { grade: "8".to_owned(), seed, reason: "too large".to_owned() };
        assert_eq!((outcome.in_vain.as_slice(), &outcome), ([tried(2), tried(1)].as_slice(), &read_back(&outcome)));
        outcome.add(Grade::Six, 1, Ok(faster.clone()));
        outcome.add(Grade::Eight, 2, Ok(faster.clone()));
        assert_eq!(outcome.in_vain, [tried(1)]);
        outcome.add(Grade::Eight, 1, Ok(faster));
        assert_eq!(outcome.placements.iter().map(|placement| placement.seed).collect::<Vec<_>>(), [2, 2]);
        assert!(outcome.in_vain.is_empty() && first.fastest.is_empty());
    }

    #[test]
    fn kept_results_are_understood() {
        for design in designs::all() {
            let Some(outcome) = kept(&design.name).ok().unwrap() else { continue };
            let text = std::fs::read_to_string(file(&design.name)).unwrap();
            assert_eq!(format!("{:#}\n", serde_json::to_value(outcome).unwrap()), text, "{}", design.name);
        }
    }
}
