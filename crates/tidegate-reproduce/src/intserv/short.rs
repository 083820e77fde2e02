//! Short forms of figures: few seeds and the cases with gates, for runs with seeded faults.

use super::figures::{figure, light_load_gates, one_link, printed_gates, rule_gates, run_all, tolerant_gates};
use super::gates::draws;
use super::lot::{Case, Load};
use super::node::Options;
use crate::figure::Figure;
use crate::proven::named;

/// Seeds of the parking lot.
const SEEDS: u32 = 2;

fn short(id: &'static str) -> Figure {
    figure(id, "a short form", "its full form says", &[], &[])
}

/// Four draws of each rule in place of 24.
pub fn rules(progress: &dyn Fn(f64)) -> Figure {
    Figure { gates: rule_gates(&draws(true), progress), ..short("rules") }
}

/// Light load as printed.
pub fn light_load(progress: &dyn Fn(f64)) -> Figure {
    let [printed] = run_all([Case { seeds: SEEDS, ..Case::new(Load::LIGHT, Options::literal()) }], progress);
    Figure { gates: light_load_gates(&printed), bounds: printed.bounds, ..short("light-load") }
}

/// The flow that does not conform: as printed, and with a tolerance of 1 ms.
pub fn non_conforming(progress: &dyn Fn(f64)) -> Figure {
    let case = |node| Case { seeds: SEEDS, ..Case::new(Load::H1_NC, node) };
    let [printed, tolerant] = run_all([case(Options::literal()), case(Options::tolerant(1000))], progress);
    let gates = printed_gates(&printed).into_iter().chain(tolerant_gates(&tolerant)).collect();
    let bounds = named("as printed", &printed.bounds).chain(named("tolerance 1 ms", &tolerant.bounds)).collect();
    Figure { gates, bounds, ..short("non-conforming") }
}

/// E10 alone.
pub fn flow_modes(progress: &dyn Fn(f64)) -> Figure {
    let mut figure = short("flow-modes");
    one_link(&mut figure, SEEDS, progress);
    figure
}
