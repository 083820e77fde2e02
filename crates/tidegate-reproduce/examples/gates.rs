//! Runs figures of the published experiments and prints the gates and the bounds that fail: `cargo run -p tidegate-reproduce --example gates -- gfr/decisions`.
//!
//! `cargo xtask reproduce-mutants` runs it with seeded faults in the core. With `--short` before the ids, figures of few seeds stand for those
//! that have such a form. `tidegate reproduce` shows the figures themselves.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut failed = 0;
    let is_short = std::env::args().nth(1).is_some_and(|first| first == "--short");
    for id in std::env::args().skip(1 + usize::from(is_short)) {
        let plans =
            if is_short { tidegate_reproduce::find_short(&id) } else { tidegate_reproduce::find(&id).map(|(_, plans)| plans.to_vec()) };
        let Some(plans) = plans else {
            eprintln!("error: there is no figure {id}; `tidegate reproduce --help` lists them");
            return ExitCode::from(2);
        };
        for figure in tidegate_reproduce::run(&plans, &|_| {}) {
            for gate in figure.gates.iter().filter(|gate| !gate.passed()) {
                println!("failed: {}: {} (measured {:?}, from {:?} to {:?})", figure.id, gate.name, gate.measured, gate.low, gate.high);
                failed += 1;
            }
            for row in figure.bounds.iter().filter(|row| row.bound.held == Some(false)) {
                println!("failed: {}: bound of {}, {} (bound and measured {:?})", figure.id, row.flow, row.run, row.bound);
                failed += 1;
            }
        }
    }
    ExitCode::from(u8::from(failed > 0))
}
