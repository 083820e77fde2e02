//! Cost of an activation of the guard of the bus, with every flow backlogged and half of them short of room.
//!
//! | name | what |
//! |---|---|
//! | `activate` | the guard of `tidegate-core` |
//! | `every-corner` | one water-filling as its definition reads: the total at every corner of every flow, O(n^2); an activation needs two |
//! | `round-robin` | no guard: one frame of each flow in turn, until a period is full |

use crate::flows::Random;
use crate::{Benchmark, Rounds};
use tidegate_core::guard::{Activity, Claim, Guard, GuardSettings, GuardedFlow, Vacancies};

/// Activations in one round, times the flows; few in the tests.
const ROUND: u64 = if cfg!(any(test, debug_assertions)) { 1 << 12 } else { 1 << 21 };

const NAMES: [&str; 3] = ["activate", "every-corner", "round-robin"];

/// The most flows of the quadratic one.
const QUADRATIC_FLOWS: u32 = 4096;

/// Every operation.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// A bus with this many flows, of weights 1 to 8 and frames of 64 to 1,563 bytes.
///
/// # Errors
/// An unknown name, or more flows than the operation is made for.
pub fn set_up(name: &str, flows: u32) -> Result<Benchmark, String> {
    let mut random = Random::new();
    let guarded: Vec<GuardedFlow> =
        (0..flows).map(|_| GuardedFlow { weight: 1 + random.below(8), frame: 64 + random.below(1500) }).collect();
    let capacity = 1000 * u64::from(flows);
    let activations = (ROUND / u64::from(flows)).max(1);
    let round: Rounds = match name {
        "activate" => {
            let guard = Guard::new(&GuardSettings::new(capacity), &guarded).map_err(|error| error.to_string())?;
            let mut bus =
                GuardedBus { guard, activity: Vec::with_capacity(guarded.len()), vacancies: vec![0; guarded.len()], guarded, random };
            Box::new(move || (0..activations).map(|_| bus.activate()).sum())
        }
        "every-corner" if flows > QUADRATIC_FLOWS => return Err(format!("every-corner takes up to {QUADRATIC_FLOWS} flows")),
        "every-corner" => {
            let mut claims: Vec<Claim> = guarded.iter().map(|flow| Claim { weight: flow.weight, most: 0, credit: 0 }).collect();
            let count = if cfg!(any(test, debug_assertions)) { 1 } else { (activations / u64::from(flows)).max(1) };
            Box::new(move || {
                for _ in 0..count {
                    for claim in &mut claims {
                        (claim.most, claim.credit) = (i64::from(random.below(4000)), i64::from(random.below(2000)) - 1000);
                    }
                    std::hint::black_box(level(&claims, capacity as f64));
                }
                count
            })
        }
        "round-robin" => Box::new(move || {
            for _ in 0..activations {
                let mut left = std::hint::black_box(capacity);
                let mut turn = guarded.iter().cycle();
                while let Some(flow) = turn.next().filter(|flow| u64::from(flow.frame) <= left) {
                    left -= u64::from(flow.frame);
                }
                std::hint::black_box(left);
            }
            activations
        }),
        _ => return Err(format!("no operation of the guard is called \"{name}\"; there are {}", NAMES.join(", "))),
    };
    Ok(Benchmark { operation: format!("guard-{name}"), flows, facts: String::new(), round })
}

struct GuardedBus {
    guard: Guard,
    guarded: Vec<GuardedFlow>,
    activity: Vec<Activity>,
    vacancies: Vec<u32>,
    random: Random,
}

impl GuardedBus {
    /// A period in which channels use their vacancies and more arrives than fits.
    fn activate(&mut self) -> u64 {
        self.activity.clear();
        for (index, flow) in self.guarded.iter().enumerate() {
            let waiting = self.guard.waiting(index).unwrap_or(0);
            // A mean of twice the share, and nothing more where eight periods of it wait.
            let accepted = if waiting > 16_000 { 0 } else { u64::from(self.random.below(4000)) };
            let moved = (waiting + accepted).min(u64::from(self.vacancies[index]) * u64::from(flow.frame));
            let room = if self.random.below(2) == 0 { 256 } else { self.random.below(4) };
            self.activity.push(Activity { accepted, moved, room });
        }
        if let Ok(Vacancies::Limited(vacancies)) = self.guard.activate(&self.activity) {
            self.vacancies.copy_from_slice(vacancies);
        }
        1
    }
}

/// The level at the first corner where the total reaches the capacity.
fn level(claims: &[Claim], capacity: f64) -> f64 {
    let total = |level: f64| -> f64 {
        claims.iter().map(|claim| (f64::from(claim.weight) * level - claim.credit as f64).clamp(0.0, claim.most as f64)).sum()
    };
    let corners = claims.iter().flat_map(|claim| [claim.credit, claim.credit + claim.most].map(|at| at as f64 / f64::from(claim.weight)));
    corners.filter(|&corner| total(corner) >= capacity).fold(f64::INFINITY, f64::min)
}
