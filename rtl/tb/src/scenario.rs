//! The scenarios of engines with queues outside.

use crate::setup::{Run, Scenario};

mod orders;
mod published;
mod stop;
mod traffic;

const fn usual(name: &'static str, quarters: u64, about: &'static str, run: Run) -> Scenario {
    Scenario { name, about, quarters, is_usual: true, run }
}

/// All of them, in the order in which they run. Those with a number of decisions of their own are given none.
pub const OUTSIDE: &[Scenario] = &[
    usual("random", 3, "contracts, arrivals, time, back-pressure and pauses by chance", traffic::random),
    usual("adversarial", 1, "all miss at once, bursts, drops and a host that is slow", traffic::adversarial),
    usual("shares", 0, "published fair shares across the clock's wrap: S5, D2", published::shares),
    usual("mixtures", 0, "published mixtures of shares, deadlines and static priority: D5, D6", published::mixtures),
    usual("timeline", 0, "every SCHEDULE and PRIORITY_UPDATE cycle from LOAD on: S4", published::timeline),
    usual("orders", 0, "what the network delivers, and serial comparison: S1, S2, S3, S6", orders::run),
];
