//! What was measured of a design, and the file in `rtl/results` where it is kept.

use super::grade::Grade;
use crate::cargo::root;
use crate::failure::Failure;
use serde_json::{Value, json};
use std::path::Path;

/// The folder of results.
pub const RESULTS: &str = "rtl/results";

/// What a design takes of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct CriticalPath {
    pub from: String,
    pub to: String,
    pub nanoseconds: f64,
    /// The part in wires.
    pub routing: f64,
    /// Tables, multipliers and carry chains on it.
    pub levels: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub seed: u64,
    pub megahertz: f64,
    pub critical: CriticalPath,
    /// Routing towards the target clock did not end in time, and was repeated without one.
    pub has_no_goal: bool,
}

/// All that is known of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub name: String,
    pub area: Area,
    /// In speed grade 6.
    pub placements: Vec<Placement>,
    /// In speed grade 8; none if it was not measured.
    pub fastest: Vec<Placement>,
    /// The options of nextpnr that this design alone was given.
    pub place: Option<String>,
    /// The target clock of the router in MHz, in speed grade 6.
    pub goal: Option<u64>,
    /// Placements that failed.
    pub in_vain: Vec<InVain>,
}

/// A placement that failed, or did not end in time.
#[derive(Clone, Debug, PartialEq)]
pub struct InVain {
    pub grade: String,
    pub seed: u64,
    pub reason: String,
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
    let file = root().join(RESULTS).join(format!("{name}.json"));
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
    let value = serde_json::from_str(&text).map_err(|error| Failure::Check(format!("{}: {error}", file.display())))?;
    read(&value, name).map(Some)
}

pub fn area_as_json(area: &Area) -> Value {
    json!({
        "lut4": area.lut4,
        "carry": area.carry,
        "memory": area.memory,
        "flip_flops": area.flip_flops,
        "multipliers": area.multipliers,
        "block_rams": area.block_rams,
    })
}

pub fn placement_as_json(placement: &Placement) -> Value {
    let critical = &placement.critical;
    let mut value = json!({"seed": placement.seed, "megahertz": placement.megahertz, "critical": {
        "from": critical.from,
        "to": critical.to,
        "nanoseconds": critical.nanoseconds,
        "routing": critical.routing,
        "levels": critical.levels,
    }});
    if placement.has_no_goal {
        value["has_no_goal"] = json!(true);
    }
    value
}

/// From what is kept.
///
/// # Errors
/// [`Failure::Check`] if it is not understood.
pub fn read(value: &Value, name: &str) -> Result<Outcome, Failure> {
    outcome(value)
        .ok_or_else(|| Failure::Check(format!("{RESULTS}/{name}.json is not understood; delete it and run `cargo xtask rtl-reports`")))
}

fn outcome(value: &Value) -> Option<Outcome> {
    let number = |name: &str| value["area"][name].as_u64();
    let area = Area {
        lut4: number("lut4")?,
        carry: number("carry")?,
        memory: number("memory")?,
        flip_flops: number("flip_flops")?,
        multipliers: number("multipliers")?,
        block_rams: number("block_rams")?,
    };
    let placement = |placement: &Value| {
        let critical = &placement["critical"];
        Some(Placement {
            seed: placement["seed"].as_u64()?,
            megahertz: placement["megahertz"].as_f64()?,
            critical: CriticalPath {
                from: critical["from"].as_str()?.to_owned(),
                to: critical["to"].as_str()?.to_owned(),
                nanoseconds: critical["nanoseconds"].as_f64()?,
                routing: critical["routing"].as_f64()?,
                levels: critical["levels"].as_u64()?,
            },
            has_no_goal: placement["has_no_goal"].as_bool().unwrap_or(false),
        })
    };
    let placements = value[Grade::Six.field()].as_array()?.iter().map(placement).collect::<Option<Vec<_>>>()?;
    let fastest = value[Grade::Eight.field()].as_array().into_iter().flatten().map(placement).collect::<Option<Vec<_>>>()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let tried =
        |tried: &Value| Some(InVain { grade: text(&tried["grade"])?, seed: tried["seed"].as_u64()?, reason: text(&tried["reason"])? });
    Some(Outcome {
        name: text(&value["name"])?,
        area,
        placements,
        fastest,
        place: text(&value["origin"]["place"]),
        goal: value["origin"]["goal"].as_u64(),
        in_vain: value["in_vain"].as_array().into_iter().flatten().map(tried).collect::<Option<_>>()?,
    })
}

/// Notes why a placement failed; without a reason, removes the note.
pub fn note(kept: &mut Value, grade: Grade, seed: u64, reason: Option<&str>) {
    let mut all = kept["in_vain"].as_array().cloned().unwrap_or_default();
    all.retain(|tried| tried["grade"] != grade.number() || tried["seed"] != seed);
    all.extend(reason.map(|reason| json!({"grade": grade.number(), "seed": seed, "reason": reason})));
    if all.is_empty() {
        kept.as_object_mut().map(|fields| fields.remove("in_vain"));
    } else {
        kept["in_vain"] = Value::Array(all);
    }
}

/// Writes the file of a design's results.
///
/// # Errors
/// [`Failure::Environment`] if it cannot be written.
pub fn keep(file: &Path, value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("a value can be written") + "\n";
    let write = || {
        std::fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
        // Renamed, so that a run that is interrupted leaves the old results or the new ones.
        let half = file.with_extension("json.new");
        std::fs::write(&half, text)?;
        std::fs::rename(&half, file)
    };
    write().map_err(|error| Failure::Environment(format!("cannot write {}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::designs;

    #[test]
    fn results_are_read_as_they_were_written() {
        let critical = CriticalPath { from: "a".to_owned(), to: "b".to_owned(), nanoseconds: 9.5, routing: 4.25, levels: 7 };
        let placement = Placement { seed: 2, megahertz: 105.26, critical, has_no_goal: false };
        let area = Area { lut4: 9, carry: 2, memory: 6, flip_flops: 5, multipliers: 4, block_rams: 1 };
        let origin = json!({"place": "--placer p"});
        let mut value = json!({"name": "x", "origin": origin, "area": area_as_json(&area), "placements": [placement_as_json(&placement)]});
        let read_back = |value: &Value| outcome(&serde_json::from_str(&value.to_string()).unwrap()).unwrap();
        let place = Some("--placer p".to_owned());
        let mut expected = Outcome {
            name: "x".to_owned(),
            area,
            placements: vec![placement.clone()],
            fastest: Vec::new(),
            place,
            goal: None,
            in_vain: Vec::new(),
        };
        assert_eq!(read_back(&value), expected);
        let faster = Placement { megahertz: 130.5, has_no_goal: true, ..placement };
        value[Grade::Eight.field()] = json!([placement_as_json(&faster)]);
        expected.fastest = vec![faster];
        assert_eq!(read_back(&value), expected);
        assert_eq!(outcome(&json!({"name": "x"})), None);
        for (seed, reason) in [(1, "too slow"), (2, "too large"), (1, "too large")] {
            note(&mut value, Grade::Eight, seed, Some(reason));
        }
        let tried = |seed| InVain { grade: "8".to_owned(), seed, reason: "too large".to_owned() };
        assert_eq!(read_back(&value).in_vain, [tried(2), tried(1)]);
        note(&mut value, Grade::Six, 2, None);
        note(&mut value, Grade::Eight, 2, None);
        assert_eq!(read_back(&value).in_vain, [tried(1)]);
        note(&mut value, Grade::Eight, 1, None);
        assert_eq!(read_back(&value), expected);
    }

    #[test]
    fn kept_results_are_understood() {
        for design in designs::all() {
            assert!(kept(&design.name).is_ok(), "{}", design.name);
        }
    }
}
