//! The planner against the heaps, slot by slot.

use crate::conflict::Conflict;
use crate::connection::Connection;
use crate::contract::{CellContract, Mode};
use crate::heap::HeapScheduler;
use crate::planner::Planner;
use crate::scheduler::{CellScheduler, CellSetup};
use crate::tests::harness::{Host, NO_ENGINE};
use crate::tests::laws::{MOST, Step, contracts, minimum_shares, starts, steps, transfers};
use crate::time::Ticks;
use crate::transfer::TransferSetup;
use alloc::vec::Vec;
use proptest::prelude::*;
use tidegate_core::sharing::{NoSharing, RateScaling, Sharing};

/// A scheduler, its host, and the connections in the order in which they joined: the two sides reuse numbers at different times.
struct Side<C> {
    scheduler: C,
    host: Host,
    joined: Vec<Connection>,
}

impl<C: CellScheduler> Side<C> {
    fn new(scheduler: C, transfer: Option<TransferSetup>) -> Side<C> {
        Side { scheduler, host: Host::new(transfer.unwrap_or(NO_ENGINE)), joined: Vec::new() }
    }

    /// A step, by places in `joined`.
    fn take(&mut self, step: Step, present: &[usize], now: u64) {
        let at = |which: usize| present.get(which).map(|&place| self.joined[place]);
        match step {
            Step::Slot | Step::Busy(_) => {}
            Step::Post(which, cells) => {
                at(which).into_iter().for_each(|there| self.scheduler.post(there, cells, now, &mut self.host).unwrap());
            }
            Step::Remove(which) => at(which).into_iter().for_each(|there| self.scheduler.remove(there, now, &mut self.host).unwrap()),
            Step::Add(contract) => self.joined.push(self.scheduler.add(&contract).unwrap()),
            Step::Change(which, contract) => {
                at(which).into_iter().for_each(|there| self.scheduler.change(there, &contract, now).unwrap());
            }
        }
    }

    /// The connection that sends in this slot, as a place in `joined`.
    fn send(&mut self, now: u64) -> Option<usize> {
        let sent = self.host.run(&mut self.scheduler, now)?;
        self.joined.iter().rposition(|&connection| connection == sent)
    }
}

/// The size of both schedulers.
const SETUP: CellSetup = CellSetup { connections: 512, pdus: 8192, transfer: None };

/// Both sides take the steps of the script, `apart` slots from each other, and send the same cell in every slot.
fn compare<S: Sharing + Clone>(
    sharing: S,
    window: u32,
    transfer: Option<TransferSetup>,
    apart: u64,
    start: u64,
    script: &[Step],
) -> Result<(), TestCaseError> {
    let setup = CellSetup { transfer, ..SETUP };
    let mut heap = Side::new(HeapScheduler::new(&setup, Conflict::Priority, sharing.clone()), transfer);
    let mut planner = Side::new(Planner::<S>::with_window(&setup, window, sharing), transfer);
    let mut present: Vec<usize> = Vec::new();
    let mut classes = Vec::new();
    let mut now = start;
    for step in script.iter().copied().chain((0..2000 / apart).map(|_| Step::Slot)) {
        let step = match step {
            Step::Add(_) if present.len() == MOST => continue,
            // A change of class while a cell is due takes effect immediately on one side, and after the cell on the other.
            Step::Change(which, contract) if which < present.len() => {
                Step::Change(which, CellContract { class: classes[present[which]], ..contract })
            }
            other => other,
        };
        match step {
            Step::Add(contract) => classes.push(contract.class),
            Step::Busy(slots) => now += slots,
            _ => {}
        }
        heap.take(step, &present, now);
        planner.take(step, &present, now);
        match step {
            Step::Add(_) => present.push(heap.joined.len() - 1),
            Step::Remove(which) if which < present.len() => {
                present.remove(which);
            }
            _ => {}
        }
        for _ in 0..apart {
            let expected = heap.send(now);
            prop_assert_eq!(planner.send(now), expected, "slot {}", now - start);
            now += 1;
        }
    }
    let (heap, planner) = (heap.scheduler.counts(), planner.scheduler.counts());
    prop_assert_eq!((heap.sent, heap.beyond_tolerance, heap.transfers), (planner.sent, planner.beyond_tolerance, planner.transfers));
    Ok(())
}

/// With buffers for all cells: the order of the queue for the last buffer depends on when a cell counts as sent.
fn ample(transfer: Option<TransferSetup>) -> Option<TransferSetup> {
    transfer.map(|setup| TransferSetup { buffer: 1 << 20, ..setup })
}

/// Contracts of one class, without steps that take slots away.
fn steps_of_one_class() -> impl Strategy<Value = Step> {
    let of_one = |contract: CellContract| CellContract { class: 3, ..contract };
    steps().prop_map(move |step| match step {
        Step::Add(contract) => Step::Add(of_one(contract)),
        Step::Change(which, contract) => Step::Change(which, of_one(contract)),
        Step::Busy(_) => Step::Slot,
        other => other,
    })
}

/// Slower connections, so that the load is often below 1.
fn slowed(script: Vec<Step>, by: u64) -> Vec<Step> {
    let slow = |contract: CellContract| CellContract { peak_interval: Ticks(contract.peak_interval.0 * by), ..contract };
    script
        .into_iter()
        .map(|step| match step {
            Step::Add(contract) if contract.mode == Mode::Constant => Step::Add(slow(contract)),
            other => other,
        })
        .collect()
}

proptest! {
    #[test]
    fn slot_by_slot_the_planner_is_the_heaps_while_rates_are_scaled(
        transfer in transfers(), minimum in minimum_shares(), start in starts(), by in 1u64..8,
        script in prop::collection::vec(steps(), 1..300),
    ) {
        compare(RateScaling::new(minimum).unwrap(), 1, ample(transfer), 1, start, &slowed(script, by))?;
    }

    #[test]
    fn window_by_window_one_class_is_the_heaps_schedule(
        start in starts(), by in 1u64..8, script in prop::collection::vec(steps_of_one_class(), 1..100),
    ) {
        let script = slowed(script, by);
        compare(RateScaling::strict(), 64, None, 64, start, &script)?;
    }

    #[test]
    fn window_by_window_classes_that_share_nothing_are_the_heaps_schedule(
        start in starts(), by in 1u64..8, script in prop::collection::vec(steps(), 1..100),
    ) {
        let script: Vec<_> = slowed(script, by).into_iter().filter(|step| !matches!(step, Step::Busy(_))).collect();
        compare(NoSharing, 64, None, 64, start, &script)?;
    }

    #[test]
    fn contracts_of_the_scripts_are_good(contract in contracts()) {
        prop_assert_eq!(contract.check(), Ok(()));
    }
}
