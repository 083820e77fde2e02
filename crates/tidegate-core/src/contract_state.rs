//! The state of contracts, as numbers that leave a process and come into another one.
//!
//! A contract that has all that it may grant *rests*: it goes on exactly as one that has granted nothing for long, so its numbers need not go along.

use crate::units::Time;

/// Visits the state of contracts number by number: it reads each, or replaces it.
pub trait ContractState {
    /// The next contract, and whether it rests. True if its numbers are to be visited; otherwise it rests from now on.
    fn contract(&mut self, rests: bool) -> bool;
    /// The instant at which contracts rest or do not: nothing is granted before it.
    fn resting_at(&self) -> Time;
    /// An instant, past or to come.
    fn instant(&mut self, time: &mut Time);
    /// An instant that is not to come.
    fn past(&mut self, time: &mut Time) {
        self.instant(time);
    }
    /// A number, which is at most `most`.
    fn number(&mut self, number: &mut u64, most: u64);
}
