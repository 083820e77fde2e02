//! What is proven of cells: how long after the time that its shaper plans a cell has left, at most.
//!
//! Planned times of a connection are at least its peak interval apart, late or not. So the cells that are due have its contract's curve, and the link
//! sends one in every slot while any is due. A slot counts as a microsecond.

use super::playback::{Latest, Log, Source};
use crate::proven::{Proven, row};
use tidegate_bounds::aggregate::{Aggregate, delay};
use tidegate_bounds::curve::{Arrival, Service};
use tidegate_bounds::quantity::NoBound;
use tidegate_bounds::service::cell_scheduler;
use tidegate_bounds::source::constant;
use tidegate_cells::{Conflict, SLOT};
use tidegate_core::units::Duration;
use tidegate_report::{FlowBound, PacketResult};

/// Picoseconds of a slot.
const PICOSECONDS: u64 = 1_000_000;
/// Bits of a cell.
const CELL: u64 = 424;
/// A cell per slot, in bit/s.
const LINK: u64 = CELL * 1_000_000;

/// The note of figures with such bounds.
pub const NOTE: &str = "A bound runs from the time that the shaper plans for a cell to the end of its slot; a slot counts as 1 us. Runs of the planner are \
                        compared with those of the heap, and have no bounds here.";

/// The order of cells that are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The earliest planned time.
    Planned,
    /// The lowest class, and within it the earliest planned time.
    Class,
    /// Any other.
    Any,
}

impl Order {
    /// Of a policy without minimum shares, which let another class go first.
    pub fn of(conflict: Conflict) -> Order {
        match conflict {
            Conflict::Lazy => Order::Planned,
            Conflict::Priority => Order::Class,
            Conflict::NextFree | Conflict::Tolerance => Order::Any,
        }
    }
}

/// What is proven of connections that share a link.
pub fn of(sources: &[Source], order: Order) -> Vec<Proven> {
    (0..sources.len()).map(|number| of_connection(sources, order, number).map(|delay| (delay, "TFA++"))).collect()
}

/// The bound of one connection, by those that may go before it.
fn of_connection(sources: &[Source], order: Order, number: usize) -> Result<i128, NoBound> {
    let curves = |of: &dyn Fn(usize, &Source) -> bool| {
        let chosen = sources.iter().enumerate().filter(|&(other, source)| of(other, source));
        chosen.map(|(_, source)| contract(source)).collect::<Result<Vec<Arrival>, NoBound>>()
    };
    let own_class = sources[number].contract.class;
    match order {
        Order::Planned => cell_scheduler(&curves(&|_, _| true)?, LINK, CELL),
        Order::Class | Order::Any => {
            let goes_before = |source: &Source| order == Order::Any || source.contract.class <= own_class;
            let others = Aggregate::of(&curves(&|other, source| other != number && goes_before(source))?)?;
            let others = if others.is_empty() { Vec::new() } else { others.as_arrival()?.buckets().to_vec() };
            // A slot may have begun when the cell is due.
            let link = Service::rate_latency(LINK, PICOSECONDS.into());
            delay(&contract(&sources[number])?, &link.beside(&others, 0)?)
        }
    }
}

/// The cells of a connection that are due.
fn contract(source: &Source) -> Result<Arrival, NoBound> {
    constant(CELL, Duration::from_picoseconds(source.contract.peak_interval.0 * PICOSECONDS / SLOT), 1)
}

/// The rows of a run: its connections beside their latest cells.
pub fn rows(run: &str, proven: &[Proven], log: &Log) -> Vec<FlowBound> {
    let packet = |Latest { number, slot, late }: Latest| {
        let left_ps = (slot + 1) * PICOSECONDS;
        let delay_ps = ((late.0 + SLOT) * PICOSECONDS).div_ceil(SLOT);
        PacketResult { replication: 1, number, came_ps: left_ps - delay_ps, left_ps, delay_ps }
    };
    let row = |((number, proven), latest): ((usize, &Proven), &Option<Latest>)| {
        let row = row(format!("VC {number}"), proven, latest.map(packet));
        FlowBound { run: run.to_owned(), ..row }
    };
    // Without a cell a connection only takes a number.
    proven.iter().enumerate().zip(&log.latest).filter(|(_, latest)| latest.is_some()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schiller::playback::play;
    use proptest::prelude::*;
    use tidegate_cells::{CellContract, RateScaling, Ticks};

    proptest! {
        /// Contracts that fit, all from the same slot or near it, under every policy.
        #[test]
        fn no_cell_is_later_than_its_bound(given in prop::collection::vec((2u64..40, 0u64..4, 0u8..3, 0u64..8), 1..12), half in any::<bool>()) {
            let source = |&(interval, tolerance, class, start): &(u64, u64, u8, u64)| {
                let interval = Ticks(interval * SLOT + if half { SLOT / 2 } else { 0 });
                let contract = CellContract { delay_variation_tolerance: Ticks::slots(tolerance), class, ..CellContract::constant(interval) };
                Source { contract, start, cells: 200 }
            };
            let sources: Vec<Source> = given.iter().map(source).collect();
            for conflict in Conflict::ALL {
                let proven = of(&sources, Order::of(conflict));
                let log = play(&sources, conflict, RateScaling::strict(), 2_000);
                for row in rows("", &proven, &log) {
                    prop_assert!(row.bound.held != Some(false), "{conflict:?}: {row:?}");
                }
            }
        }
    }

    #[test]
    fn the_full_link_reaches_its_bound_but_for_one_slot() {
        let sources = [Source { contract: CellContract::constant(Ticks::slots(5)), start: 0, cells: 10 }; 5];
        let log = play(&sources, Conflict::Lazy, RateScaling::strict(), 100);
        let rows = rows("", &of(&sources, Order::Planned), &log);
        let last = &rows[4].bound;
        // Five cells and a slot that may have begun; all start with a slot here.
        assert_eq!((last.delay_ps, last.longest.unwrap().delay_ps), (Some(6 * PICOSECONDS), 5 * PICOSECONDS));
    }
}
